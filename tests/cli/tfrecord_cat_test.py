#!/usr/bin/env python3
"""Tests tfrecord cat."""
import gzip
import os
import pty
import subprocess
import unittest
import zlib

from tfrecord_test_case import PROGRAM, TfrecordTest, named_example


class Cat(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.a = self.write("a", *(named_example({"id": [i]}) for i in range(3))).read_bytes()
        self.b = self.write("b", named_example({"id": [7]})).read_bytes()
        (self.folder / "a.gz").write_bytes(gzip.compress(self.a))
        (self.folder / "b.zlib").write_bytes(zlib.compress(self.b))

    def test_concatenates_and_decompresses(self):
        result = self.start("cat", "b", "a.gz", "b.zlib", "-", input=self.a)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(result.stdout, self.b + self.a + self.b + self.a)

    def test_to_a_file(self):
        self.assertEqual(self.summary("cat", "a.gz", "b", "-o", "out"),
                         f"wrote 4 records, {len(self.a + self.b)} bytes, to out\n")
        self.assertEqual((self.folder / "out").read_bytes(), self.a + self.b)
        self.run_it("cat", "a.gz", "b", "-o", "out.gz")
        self.assertEqual(gzip.decompress((self.folder / "out.gz").read_bytes()), self.a + self.b)
        self.assertEqual(self.json("cat", "a", "-o", "out", "--json"),
                         [{"files": [{"path": "out", "records": 3, "bytes": len(self.a)}]}])

    def test_every_crc_is_checked(self):
        (self.folder / "damaged").write_bytes(self.b[:-1] + b"?")
        result = self.start("cat", "a", "damaged")
        self.assertEqual(result.returncode, 2)
        self.assertTrue(self.a.startswith(result.stdout))
        self.expect_failure("data CRC mismatch", "cat", "a", "damaged", "-o", "out")
        self.assertFalse((self.folder / "out").exists())
        self.run_it("cat", "--no-crc", "damaged", "-o", "out")

    def test_replaces_no_input(self):
        self.expect_failure("is one of the files that are read", "cat", "a", "b", "-o", "a")

    def test_not_to_a_terminal(self):
        parent, child = pty.openpty()
        result = subprocess.run([PROGRAM, "cat", "a"], cwd=self.folder, stdout=child,
                                stderr=subprocess.PIPE, timeout=60, check=False)
        os.close(child)
        os.close(parent)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"records are not printed on a terminal", result.stderr)


if __name__ == "__main__":
    unittest.main()
