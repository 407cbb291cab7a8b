#!/usr/bin/env python3
"""Tests tfrecord count: as wc, from indexes and headers where that is possible."""
import gzip
import json
import os
import unittest

from tfrecord_test_case import TfrecordTest, named_example


class Count(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.write("a", *(named_example({"label": [i], "text": ["x" * 5000]})
                          for i in range(12)))
        self.write("b", named_example({"label": [1]}))
        self.write("empty")
        (self.folder / "z.gz").write_bytes(gzip.compress((self.folder / "a").read_bytes()))

    def test_as_wc(self):
        self.assertEqual(self.run_it("count", "a"), "12  a\n")
        self.assertEqual(self.run_it("count", "a", "b", "empty", "z.gz"),
                         "12  a\n 1  b\n 0  empty\n12  z.gz\n25  total\n")
        result = self.start("count", "-", input=(self.folder / "b").read_bytes())
        self.assertEqual(result.stdout, b"1  -\n")

    def test_json_and_csv(self):
        expected = [{"path": "a", "records": 12}, {"path": "b", "records": 1},
                    {"files": 2, "records": 13}]
        self.assertEqual(self.json("count", "--json", "a", "b"), expected)
        self.assertEqual(self.json("count", "--format", "json", "a", "b"), expected)
        self.assertEqual(self.json("count", "--json", "a"), expected[:1])
        os.rename(self.folder / "b", self.folder / 'b,"2"')
        self.assertEqual(self.run_it("count", "--format", "csv", "a", 'b,"2"'),
                         'records,path\n12,a\n1,"b,""2"""\n')
        self.expect_failure("--json and --format csv contradict each other", "count", "--json",
                            "--format", "csv", "a")

    def test_where(self):
        self.assertEqual(self.run_it("count", "--where", "label >= 3", "a", "z.gz"),
                         " 9  a\n 9  z.gz\n18  total\n")
        self.assertEqual(self.run_it("count", "--where", "label == 77", "a"), "0  a\n")
        self.assertEqual(self.run_it("count", "--limit", "5", "a", "b"),
                         "5  a\n0  b\n5  total\n")
        self.expect_failure("names lable", "count", "--where", "lable == 3", "a")

    def test_reads_no_data(self):
        """Damaged data is not noticed, a damaged header is; an index that fits is enough."""
        data = bytearray((self.folder / "a").read_bytes())
        data[500] ^= 1
        (self.folder / "damaged").write_bytes(data)
        self.assertEqual(self.run_it("count", "damaged"), "12  damaged\n")
        (self.folder / "damaged.gz").write_bytes(gzip.compress(data))
        self.assertEqual(self.run_it("count", "damaged.gz"), "12  damaged.gz\n")
        self.expect_failure("data CRC mismatch", "count", "damaged.gz", "--where", "label >= 0")
        self.run_it("index", "a")
        self.assertEqual(self.run_it("count", "a"), "12  a\n")
        second = len(data) // 12
        data[second] ^= 1
        (self.folder / "damaged").write_bytes(data)
        self.expect_failure("length CRC mismatch", "count", "damaged")

    def test_what_is_damaged_can_be_skipped(self):
        """--skip-corrupt: the intact records of count, schema and stats, and what was left out."""
        for name, place in (("c", 500), ("d", 9)):
            data = bytearray((self.folder / "a").read_bytes())
            data[place] ^= 1
            (self.folder / name).write_bytes(data)
        (self.folder / "d.gz").write_bytes(gzip.compress(data))
        size = len(data) // 12
        for threads in (1, 3):
            options = ("--skip-corrupt", "--threads", threads, "c", "b", "d", "d.gz", "a")
            for command, records in ((["count"], [11, 1, 11, 11, 12, 46]),
                                     (["count", "--where", "label >= 3"], [9, 0, 9, 9, 9, 36])):
                result = self.start(*command, *options)
                self.assertEqual((result.returncode, [int(line.split()[0]) for line in
                                                      result.stdout.splitlines()]), (0, records))
                self.assertRegex(result.stderr.decode().splitlines()[-1],
                                 f"^tfrecord count: skipped 3 damaged regions of {3 * size:,} "
                                 r"bytes \(.* KiB\) in 3 files$")
            for command in ("schema", "stats"):
                result = self.start(command, "--json", *options)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(b"d.gz: skipped [0, ", result.stderr)
                found = json.loads(result.stdout)
                self.assertEqual(found["records"], 46)
                self.assertEqual(found["features"]["label"]["share"], 1)
                if command == "schema":
                    self.assertEqual([found["regions_skipped"], found["bytes_skipped"]],
                                     [3, 3 * size])
        for command in ("count", "schema", "stats"):
            self.expect_failure("contradict each other", command, "--skip-corrupt", "--no-crc",
                                "c")
            result = self.start(command, "--skip-corrupt", "c", "missing")
            self.assertEqual(result.returncode, 2)
            self.assertIn(b"missing: ", result.stderr)

    def test_goes_on_after_what_cannot_be_read(self):
        result = self.start("count", "a", "missing", "b")
        self.assertEqual((result.returncode, result.stdout), (2, b"12  a\n 1  b\n13  total\n"))
        lines = self.json("count", "--json", "missing", "b", status=2)
        self.assertEqual([line.get("records") for line in lines], [None, 1, 1])
        self.assertIn("No such file", lines[0]["error"])


if __name__ == "__main__":
    unittest.main()
