"""Tests tfrecord salvage: the records recovered from damaged files, and the reported losses."""
import os
import subprocess
import unittest

from tfrecord_test_case import PROGRAM, TfrecordTest, record
from damaged_files import DAMAGED, THREE, flipped


class Salvage(TfrecordTest):
    def test_what_it_says(self):
        (self.folder / "a").write_bytes(flipped(THREE, 8 * 40))
        result = self.start("salvage", "a", "-o", "out")
        self.assertEqual((result.returncode, result.stdout), (1, b""))
        self.assertEqual(result.stderr.decode(), f"""\
a: damaged
  1 intact record
  [21, 67), 46 bytes: data CRC mismatch: corrupted record ({DAMAGED})
  1 intact record
  in all: 2 intact records, 1 damaged region of 46 bytes
wrote 2 records to out
""")

    def test_compression(self):
        (self.folder / "a").write_bytes(THREE)
        self.run_it("salvage", "a", "-o", "out", "--compression", "zstd")
        self.assertEqual(self.run_it("verify", "out"), "out: intact, 3 records, 88 bytes, zstd\n")

    def test_what_lies_behind_a_damaged_part_of_a_compressed_file(self):
        # convert writes one gzip member or zstd frame per MiB.
        records = [record(os.urandom(200_000)) for _ in range(40)]
        (self.folder / "plain").write_bytes(b"".join(records))
        for ending in ("gz", "zst"):
            self.run_it("convert", "plain", "-o", "whole." + ending)
            damaged = bytearray((self.folder / ("whole." + ending)).read_bytes())
            half = len(damaged) // 2
            damaged[half:half + 100] = bytes(100)
            (self.folder / "a").write_bytes(damaged)
            self.run_it("salvage", "a", "-o", "out", status=1)
            left = [r for r in records if r in (self.folder / "out").read_bytes()]
            self.assertGreater(len(left), 30)
            self.assertEqual(left[-15:], records[-15:])
            self.assertEqual((self.folder / "out").read_bytes(), b"".join(left))
            found, = self.json("verify", "--json", "a", status=1)
            self.assertEqual(found["records"], len(left))
            self.assertRegex(found["regions"][0]["reason"], " at [0-9]+ of the file$")
            self.run_it("convert", "a", "-o", "skipped", "--skip-corrupt")
            self.assertEqual((self.folder / "skipped").read_bytes(),
                             (self.folder / "out").read_bytes())

    def test_pipes(self):
        result = self.start("salvage", "-", "-o", "-", input=b"x" + THREE)
        self.assertEqual((result.returncode, result.stdout), (1, THREE))

    def test_no_room(self):
        (self.folder / "a").write_bytes(b"x" + THREE)
        result = subprocess.run(f"'{PROGRAM}' salvage a -o - > /dev/full", shell=True,
                                cwd=self.folder, capture_output=True, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"tfrecord salvage: standard output: write failed", result.stderr)

    def test_usage(self):
        (self.folder / "a").write_bytes(THREE)
        self.assertEqual(self.start("salvage", "a").returncode, 2)
        self.assertEqual(self.start("salvage", "--json", "a", "-o", "-").returncode, 2)
        self.assertEqual(self.start("salvage", "a", "-o", "b", "--no-crc").returncode, 2)


if __name__ == "__main__":
    unittest.main()
