#!/usr/bin/env python3
"""Tests tfrecord convert with selected, shuffled and edited records."""
import os
import resource
import unittest

from tfrecord_convert_case import PAYLOADS, ConvertTest, payloads_of, record


class Shuffle(ConvertTest):
    def shuffled(self, *arguments):
        self.convert("a", "-o", "s", "--shuffle", *arguments)
        return payloads_of(self.read("s"))

    def test_a_function_of_the_seed(self):
        one = self.shuffled("--seed", 1)
        self.assertEqual(sorted(one), sorted(PAYLOADS))
        self.assertNotEqual(one, PAYLOADS)
        self.assertEqual(one, self.shuffled("--seed", 1, "--threads", 3))
        self.assertNotEqual(one, self.shuffled("--seed", 2))

    def test_more_than_memory(self):
        big = [bytes([i]) * 250000 for i in range(3)] * 20
        (self.folder / "big").write_bytes(b"".join(map(record, big)))
        self.convert("big", "-o", "s", "--shuffle", "--tmp-dir", ".")
        self.assertEqual(self.names(), ["a", "big", "s"])
        self.assertEqual(sorted(payloads_of(self.read("s"))), sorted(big))
        # With its 256 temporary files, it needs more open files than the soft limit allows.
        self.convert("big", "-o", "t", "--shuffle", "--tmp-dir", ".", preexec_fn=lambda:
                     resource.setrlimit(resource.RLIMIT_NOFILE, (40, 1024)))
        self.assertEqual(self.read("t"), self.read("s"))
        (self.folder / "t").unlink()
        self.expect_failure("make a temporary file in", "convert", "big", "-o", "t", "--shuffle",
                            "--tmp-dir", "nowhere")
        self.assertEqual(self.names(), ["a", "big", "s"])


class Select(ConvertTest):
    def test_sample(self):
        self.convert("a", "-o", "s", "--sample", "0.5", "--seed", 3)
        sample = payloads_of(self.read("s"))
        self.assertTrue(110 < len(sample) < 190, len(sample))
        places = [PAYLOADS.index(payload) for payload in sample]
        self.assertEqual(places, sorted(set(places)))

    def test_sample_count(self):
        drawn = set()
        for seed in range(20):
            self.convert("a", "-o", "s", "--sample-count", 30, "--seed", seed)
            sample = payloads_of(self.read("s"))
            places = [PAYLOADS.index(payload) for payload in sample]
            self.assertEqual(len(places), 30)
            self.assertEqual(places, sorted(set(places)))
            drawn |= set(places)
        self.assertGreater(len(drawn), 230)  # 266 are expected
        self.convert("-", "-o", "s", "--sample-count", 7, "--shuffle", input=self.plain)
        self.assertEqual(len(set(payloads_of(self.read("s"))) & set(PAYLOADS)), 7)

    def test_where(self):
        for threads in (1, 2, 3):
            self.convert("a", "-o", "s", "--where", "label == 3 and x < 100", "--threads", threads)
            self.assertEqual(payloads_of(self.read("s")), PAYLOADS[3:200:10])
        self.assertEqual(self.summary("convert", "a", "-o", "s", "--where", "label == 77"),
                         "tfrecord convert: 2 records are of no known kind, and --where finds no "
                         "features in them\n"
                         "wrote 0 records, 0 bytes, to s; --where matches none of 303 records\n")
        # Read twice, and noted once.
        times = (5 << 20) // len(self.plain) + 1
        (self.folder / "m").write_bytes(self.plain * times)
        notes = self.notes("convert", "m", "-o", "s", "--shards", 2, "--where", "label >= 0")
        self.assertEqual(notes, f"tfrecord convert: {2 * times:,} records are of no known kind, and "
                                "--where finds no features in them\n")
        for name in self.names():
            if name != "a":
                (self.folder / name).unlink()

    def test_usage(self):
        for words, arguments in (
                ("OLD=NEW", ["--rename", "a"]),
                ("--rename label=caf\\xe9: the new name is not UTF-8",
                 ["--rename", os.fsdecode(b"label=caf\xe9")]),
                ("column", ["--where", "label =="])):
            self.expect_failure(words, "convert", "a", "-o", "s", *arguments, status=2)
        self.expect_failure("can't be split", "convert", "a", "-o", "-", "--shards", 2, status=2)
        self.assertEqual(self.start("convert", "a", "-o", "s", "--level", "x").returncode, 2)
        self.assertEqual(self.names(), ["a"])


if __name__ == "__main__":
    unittest.main()
