#!/usr/bin/env python3
"""Tests tfrecord convert with selected, shuffled and edited records."""
import resource
import unittest

from tfrecord_convert_case import PAYLOADS, ConvertTest, payloads_of, record
from tfrecord_test_case import named_example


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
        self.convert("a", "-o", "s", "--sample", "0")
        self.assertEqual(self.read("s"), b"")
        self.convert("a", "-o", "s", "--sample", "1")
        self.assertEqual(self.read("s"), self.plain)

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
        self.convert("a", "-o", "s", "--sample-count", 1000)
        self.assertEqual(self.read("s"), self.plain)
        self.convert("-", "-o", "s", "--sample-count", 7, "--shuffle", input=self.plain)
        self.assertEqual(len(set(payloads_of(self.read("s"))) & set(PAYLOADS)), 7)

    def test_where(self):
        for threads in (1, 2, 3):
            self.convert("a", "-o", "s", "--where", "label == 3 and x < 100", "--threads", threads)
            self.assertEqual(payloads_of(self.read("s")), PAYLOADS[3:200:10])
        self.assertEqual(self.summary("convert", "a", "-o", "s", "--where", "label == 77"),
                         "wrote 0 records, 0 bytes, to s; --where matches none of 303 records\n")
        self.convert("a", "-o", "s", "--where", "label == 3", "--shards", 2)
        self.assertEqual(payloads_of(self.read("s-00001-of-00002")), PAYLOADS[153:300:10])

    def test_limit(self):
        self.convert("a", "-o", "s", "--limit", 5)
        self.assertEqual(payloads_of(self.read("s")), PAYLOADS[:5])
        self.convert("a", "-o", "s", "--limit", 2, "--where", "label == 3")
        self.assertEqual(payloads_of(self.read("s")), PAYLOADS[3:23:10])

    def test_usage(self):
        for words, arguments in (
                ("two ways to sample", ["--sample", "0.5", "--sample-count", "3"]),
                ("two ways to split", ["--shards", "2", "--max-bytes", "3"]),
                ("OLD=NEW", ["--rename", "a"]),
                ("without a compression", ["--level", "1"]),
                ("column", ["--where", "label =="])):
            self.expect_failure(words, "convert", "a", "-o", "s", *arguments, status=2)
        self.expect_failure("can't be split", "convert", "a", "-o", "-", "--shards", 2, status=2)
        for arguments in (["--sample", "2"], ["--level", "x"], ["--shards", "0"],
                          ["--compression", "lz4"]):
            self.assertEqual(self.start("convert", "a", "-o", "s", *arguments).returncode, 2)
        self.expect_failure("level 10 is not between 0 and 9", "convert", "a", "-o", "s.gz",
                            "--level", 10, status=2)
        self.assertEqual(self.names(), ["a"])


class Edit(ConvertTest):
    def setUp(self):
        super().setUp()
        self.write("e", named_example({"b": ["x"], "a": [1, 2], "c": [0.5]}), b"",
                   named_example({"a": [3]}))

    def edited(self, *arguments):
        self.convert("e", "-o", "s", *arguments)
        return payloads_of(self.read("s"))

    def test_what_has_no_features_is_not_emptied(self):
        event = b"\x09" + bytes(6) + b"\xf8\x3f\x10\x07"
        for other in (event, b"\x28\x01"):
            self.write("mixed", named_example({"label": [1]}), other)
            for option in ("--drop", "--select"):
                self.expect_failure("neither an Example nor a SequenceExample", "convert", "mixed",
                                    "-o", "out", option, "label")
            self.assertFalse((self.folder / "out").exists())

    def test_features(self):
        self.assertEqual(self.edited("--select", "a"),
                         [named_example({"a": [1, 2]}), b"", named_example({"a": [3]})])
        self.assertEqual(self.edited("--drop", "a,b"),
                         [named_example({"c": [0.5]}), b"", b"\n\0"])
        self.assertEqual(self.edited("--rename", "a=z"),
                         [named_example({"b": ["x"], "c": [0.5], "z": [1, 2]}), b"",
                          named_example({"z": [3]})])
        self.assertEqual(self.edited("--select", "a", "--select", "b", "--rename", "a=b,b=a"),
                         [named_example({"a": ["x"], "b": [1, 2]}), b"",
                          named_example({"b": [3]})])

    def test_values_keep_their_bytes(self):
        unpacked = bytes.fromhex("0a0d0a0b0a0361676512041a02080d")
        self.write("e", unpacked)
        self.assertEqual(self.edited("--select", "age"), [unpacked])

    def test_sequence_examples(self):
        # Context {"a": 1, "b": 2}, feature lists {"a": [[3]], "c": [[4]]}.
        def field(number, content):
            return bytes([number << 3 | 2, len(content)]) + content

        def entry(name, value):
            return field(1, field(1, name.encode()) + field(2, value))

        def one(value):
            return field(3, field(1, bytes([value])))

        def steps(value):
            return field(1, one(value))
        self.write("e", field(2, entry("c", steps(4)) + entry("a", steps(3))) +
                   field(1, entry("b", one(2)) + entry("a", one(1))))
        self.assertEqual(self.edited("--rename", "c=0"),
                         [field(1, entry("a", one(1)) + entry("b", one(2))) +
                          field(2, entry("0", steps(4)) + entry("a", steps(3)))])
        self.assertEqual(self.edited("--drop", "a"),
                         [field(1, entry("b", one(2))) + field(2, entry("c", steps(4)))])

    def test_what_cannot_be_edited(self):
        self.expect_failure("no record has a feature named \"d\"".replace('"', ""), "convert", "e",
                            "-o", "s", "--select", "a,d")
        self.expect_failure("two features named \"b\"", "convert", "e", "-o", "s", "--rename",
                            "a=b")
        self.write("e", named_example({"a": [1]}), b"\xff\xff")
        self.expect_failure("e: not a tf.train.Example", "convert", "e", "-o", "s", "--drop", "a")
        self.assertEqual(self.names(), ["a", "e"])


if __name__ == "__main__":
    unittest.main()
