#!/usr/bin/env python3
"""Tests tfrecord bench: the output for a file. Only checks that the figures are numbers."""
import gzip
import time
import unittest

from tfrecord_test_case import TfrecordTest, named_example, record

STEPS = ["storage", "framing", "crc", "decoding"]


class Bench(TfrecordTest):
    @classmethod
    def setUpClass(cls):
        labels = [record(named_example({"image": [bytes(3072)], "label": [i]})) for i in range(10)]
        cls.content = b"".join(labels) * 20

    def setUp(self):
        super().setUp()
        self.path = self.folder / "a"
        self.path.write_bytes(self.content)

    def test_names_each_step_and_the_limit(self):
        found, = self.json("bench", "--json", "--seconds", "1", "a")
        size = self.path.stat().st_size
        self.assertEqual({name: found[name] for name in ("path", "bytes", "content_bytes",
                                                         "records", "whole", "compression")},
                         {"path": "a", "bytes": size, "content_bytes": size, "records": 200,
                          "whole": True, "compression": "none"})
        self.assertEqual(list(found["steps_bytes_per_second"]), STEPS)
        for rate in [*found["steps_bytes_per_second"].values(), *found["bytes_per_second"].values(),
                     found["copying_bytes_per_second"], found["cold_storage_bytes_per_second"]]:
            self.assertGreater(rate, 0)
        slowest = min(found["steps_bytes_per_second"].items(), key=lambda item: item[1])[0]
        self.assertEqual(found["limit"], slowest)
        self.assertIn(found["cold_limit"], STEPS)

    def test_compressed_files_are_inflated(self):
        plain = self.path.read_bytes()
        self.path.write_bytes(gzip.compress(plain, 1))
        found, = self.json("bench", "--json", "--seconds", "1", "a")
        self.assertEqual(found["compression"], "gzip")
        self.assertEqual(found["content_bytes"], len(plain))
        self.assertEqual(found["bytes"], self.path.stat().st_size)
        self.assertEqual(list(found["steps_bytes_per_second"]),
                         ["storage", "inflation", "framing", "crc", "decoding"])

    def test_for_people(self):
        text = self.run_it("bench", "--seconds", "1", "a")
        lines = text.splitlines()
        self.assertTrue(lines[0].startswith("a: "), text)
        self.assertTrue(lines[0].endswith(", compression none, 200 records"), text)
        self.assertEqual(lines[1].split(), "one thread, warm cache MB/s records/s of the time".split())
        self.assertIn("limit, warm cache: ", lines[-2])
        self.assertIn("limit, cold cache: ", lines[-1])
        self.assertLessEqual(max(map(len, lines)), 100)

    def test_takes_about_as_long_as_it_may(self):
        start = time.monotonic()
        self.run_it("bench", "--seconds", "0.05", "a", "a")
        self.assertLess(time.monotonic() - start, 20)

    def test_nothing_to_measure(self):
        self.write("empty")
        self.assertEqual(self.run_it("bench", "--seconds", "1", "empty"),
                         "empty: 0 bytes, compression none, 0 records\n  nothing to measure\n")
        self.assertEqual(self.json("bench", "--json", "--seconds", "1", "empty"), [
            {"path": "empty", "bytes": 0, "content_bytes": 0, "records": 0, "whole": True,
             "compression": "none"}])

    def test_records_of_other_kinds(self):
        self.write("other", b"", b"\xff\xfe", b"x" * 100_000)
        found, = self.json("bench", "--json", "--seconds", "1", "other")
        self.assertEqual(found["records"], 3)

    def test_failures(self):
        self.expect_failure("must be read twice", "bench", "-", status=2)
        self.expect_failure("none: ", "bench", "none")
        data = self.path.read_bytes()
        self.path.write_bytes(data[:-1])
        self.expect_failure("truncated record", "bench", "--seconds", "1", "a")
        self.path.write_bytes(data[:100] + b"!" + data[101:])
        self.expect_failure("corrupted record", "bench", "--seconds", "1", "a")


if __name__ == "__main__":
    unittest.main()
