"""Tests tfrecord salvage: the records recovered from damaged files, and the reported losses."""
import gzip
import os
import subprocess
import unittest
import zlib

from tfrecord_test_case import PROGRAM, TfrecordTest, record
from tfrecord_damage import CASES, DAMAGED, FIRST, SECOND, THIRD, THREE, flipped

PLACES = ((0, 21), (21, 67), (67, 88))


class Salvage(TfrecordTest):
    def salvage(self, content, *arguments, status):
        """Returns the output, empty if there is none."""
        out = self.folder / "out"
        (self.folder / "a").write_bytes(content)
        out.unlink(missing_ok=True)
        result = self.start("salvage", "a", "-o", "out", *arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(out.exists(), status < 2)
        return out.read_bytes() if status < 2 else b""

    def test_cases(self):
        for name, (content, records, regions) in CASES.items():
            with self.subTest(name):
                out = self.salvage(content, status=0 if not regions else 1 if records else 2)
                (self.folder / "b").write_bytes(out)
                found, = self.json("verify", "--json", "b")
                self.assertEqual(found["records"], records)

    def test_bits_flipped(self):
        for bit in range(0, 8 * len(THREE), 31):
            rest = b"".join(THREE[begin:end] for begin, end in PLACES
                            if not begin <= bit // 8 < end)
            self.assertEqual(self.salvage(flipped(THREE, bit), status=1), rest)

    def test_cuts(self):
        for size in range(0, len(THREE), 7):
            whole = b"".join(THREE[begin:end] for begin, end in PLACES if end <= size)
            status = 0 if len(whole) == size else 1 if whole else 2
            self.assertEqual(self.salvage(THREE[:size], status=status), whole)

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

    def test_json(self):
        (self.folder / "a").write_bytes(flipped(THREE, 8 * 40))
        (self.folder / "b").write_bytes(THREE)
        found = self.json("salvage", "--json", "a", "b", "-o", "out", status=1)
        self.assertEqual(found, [
            {"path": "a", "records": 2, "intact": False, "regions": [
                {"begin": 21, "end": 67, "reason": "data CRC mismatch: corrupted record",
                 "records_before": 1}
            ], "bytes": 88, "bytes_lost": 46, "compression": "none"},
            {"path": "b", "records": 3, "intact": True, "regions": [], "bytes": 88, "bytes_lost": 0,
             "compression": "none"}])
        self.assertEqual((self.folder / "out").read_bytes(),
                         record(FIRST) + record(THIRD) + THREE)

    def test_compression(self):
        for name, decompress in (("gzip", gzip.decompress), ("zlib", zlib.decompress),
                                 ("none", bytes)):
            out = self.salvage(gzip.compress(flipped(THREE, 8)), "--compression", name, status=1)
            self.assertEqual(decompress(out), record(SECOND) + record(THIRD))
        (self.folder / "a").write_bytes(THREE)
        self.run_it("salvage", "a", "-o", "out.gz")
        self.assertEqual(gzip.decompress((self.folder / "out.gz").read_bytes()), THREE)
        self.salvage(THREE, "--compression", "zstd", status=0)
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

    def test_a_damaged_file_is_kept(self):
        (self.folder / "a").write_bytes(b"x" + THREE)
        self.expect_failure("is one of the files", "salvage", "a", "-o", "a", status=2)
        self.assertEqual((self.folder / "a").read_bytes(), b"x" + THREE)

    def test_nothing_is_written_where_nothing_is_intact(self):
        (self.folder / "a").write_bytes(b"no records at all")
        self.expect_failure("no intact record", "salvage", "a", "-o", "out")
        self.assertEqual(os.listdir(self.folder), ["a"])

    def test_no_output_where_an_input_cannot_be_read(self):
        (self.folder / "a").write_bytes(THREE)
        self.expect_failure("No such file", "salvage", "a", "missing", "-o", "out")
        self.assertEqual(os.listdir(self.folder), ["a"])

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
