#!/usr/bin/env python3
"""Tests tfrecord convert with damaged files, full disks, interruptions and little memory."""
import bz2
import gzip
import json
import lzma
import os
import random
import resource
import signal
import struct
import subprocess
import unittest
import zlib

from started import Started, wait_until_it_waits
from tfrecord_convert_case import PAYLOADS, ConvertTest, payloads_of
from damaged_files import CASES, DAMAGED
from tfrecord_test_case import PROGRAM, record


class Damage(ConvertTest):
    def damaged(self, at, bit=1):
        content = bytearray(self.plain)
        content[at] ^= bit
        (self.folder / "d").write_bytes(content)

    def test_the_old_output_stays(self):
        self.write("s", b"old")
        self.damaged(20)
        self.expect_failure("corrupted record at 0", "convert", "d", "-o", "s")
        self.assertEqual(payloads_of(self.read("s")), [b"old"])

    def skipped(self, *arguments):
        """Returns what `convert --skip-corrupt --json` skipped, and its warnings."""
        result = self.start("convert", *arguments, "-o", "s", "--skip-corrupt", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        said = json.loads(result.stdout)
        return said["regions_skipped"], said["bytes_skipped"], result.stderr.decode().splitlines()

    def test_skip_corrupt(self):
        first, second = (16 + len(payload) for payload in PAYLOADS[:2])
        end = first + second
        self.write("b", b"next")
        data = "data CRC mismatch"
        length = "length CRC mismatch"
        for at, reason in ((first + 20, data), (end - 1, data), (first, length), (first + 8, length)):
            self.damaged(at)
            damaged = (self.folder / "d").read_bytes()
            (self.folder / "d.gz").write_bytes(gzip.compress(damaged))
            for name in ("d", "d.gz"):
                with self.subTest(at=at, name=name):
                    regions, lost, warnings = self.skipped(name, "b")
                    self.assertEqual(payloads_of(self.read("s")),
                                     PAYLOADS[:1] + PAYLOADS[2:] + [b"next"])
                    self.assertEqual((regions, lost), (1, second))
                    self.assertEqual(warnings, [
                        f"tfrecord convert: {name}: skipped [{first}, {end}), {second} bytes: "
                        f"{reason}: corrupted record ({DAMAGED})",
                        f"tfrecord convert: skipped 1 damaged region of {second} bytes"])
        self.skipped("d", "b", "--where", "label in [0, 1, 2]")
        self.assertEqual(payloads_of(self.read("s")),
                         [payload for i, payload in enumerate(PAYLOADS[:300])
                          if i % 10 < 3 and i != 1])

    def test_skip_corrupt_of_broken_streams(self):
        """Says how much of the file is lost, whatever the compression."""
        for name, compress, at in (("d.gz", gzip.compress, 10), ("d.zlib", zlib.compress, 2),
                                   ("d.bz2", bz2.compress, 999), ("d.xz", lzma.compress, 999)):
            content = bytearray(compress(self.plain))
            size = len(content)
            content[at:at + 9] = b"\x07" * 9  # to deflate, a block of an unknown type
            (self.folder / name).write_bytes(content)
            with self.subTest(name):
                result = self.start("convert", name, "-o", "s", "--skip-corrupt", "--json")
                self.assertEqual(result.returncode, 0, result.stderr)
                said = json.loads(result.stdout)
                lost = said["compressed_bytes_skipped"]
                self.assertGreater(lost, 0)
                self.assertLess(said["files"][0]["records"], len(PAYLOADS))
                self.assertIn(f"; the rest of the file, {lost} of its {size} compressed bytes, is "
                              "lost".encode(), result.stderr)
                self.assertIn(f", and {lost:,} compressed bytes\n", result.stderr.decode())
                report, = self.json("verify", "--json", name, status=1)
                self.assertEqual(report["compressed_bytes_lost"], lost)
                self.assertIn(f"\n  {lost:,} compressed bytes could not be inflated",
                              self.start("verify", name).stdout.decode())
                summary = self.json("export", name, "-o", "out.jsonl", "--skip-corrupt", "--json")
                self.assertEqual(summary[0]["compressed_bytes_skipped"], lost)
                line, = self.json("convert", name, "--to-dir", "out", "--skip-corrupt",
                                  "--compression", "none", "--json")
                self.assertEqual(line["compressed_bytes_skipped"], lost)
                manifest = (self.folder / "out/manifest.jsonl").read_text()
                self.assertIn(f'"compressed_bytes_skipped":{lost}', manifest)

    def test_what_was_decoded_before_the_damage_is_kept(self):
        letters = bytes(b"abcdefgh"[i % 8] for i in range(256))
        numbers = random.Random(1)
        records = [record(numbers.randbytes(500).translate(letters)) for _ in range(4000)]
        plain = b"".join(records)
        for name, content, decoder in (
                ("d.xz", lzma.compress(plain, preset=0), lzma.LZMADecompressor()),
                ("d.bz2", bz2.compress(plain), bz2.BZ2Decompressor())):
            content = content[:len(content) // 2]
            (self.folder / name).write_bytes(content)
            decoded = len(decoder.decompress(content))
            least = (decoded - (64 << 10)) // len(records[0])  # liblzma's last block is lost
            for command in (["convert", name, "-o", "s", "--skip-corrupt"],
                            ["salvage", name, "-o", "s"]):
                with self.subTest(name, command=command):
                    self.start(*command)
                    kept = (self.folder / "s").read_bytes()
                    self.assertEqual(kept, plain[:len(kept)])
                    self.assertGreaterEqual(len(kept) // len(records[0]), least)

    def test_skip_corrupt_where_records_are_read_twice_or_shuffled(self):
        self.damaged(16 + len(PAYLOADS[0]))
        kept = PAYLOADS[:1] + PAYLOADS[2:]
        lost = 16 + len(PAYLOADS[1])
        for options in (["--shards", 2], ["--shuffle", "--shards", 2], ["--sample-count", 500],
                        ["--shuffle"]):
            with self.subTest(options):
                for name in self.names():
                    if name.startswith("s"):
                        (self.folder / name).unlink()
                regions, lost_bytes, warnings = self.skipped("d", *options)
                # Reported once, however often the input was read.
                self.assertEqual((regions, lost_bytes, len(warnings)), (1, lost, 2))
                written = b"".join(self.read(name) for name in self.names()
                                   if name.startswith("s"))
                found = payloads_of(written)
                self.assertEqual(sorted(found), sorted(kept))
                self.assertEqual(found == kept, "--shuffle" not in options)

    def test_skip_corrupt_of_standard_input(self):
        for name, (content, records, regions) in CASES.items():
            with self.subTest(name):
                result = self.start("convert", "-", "-o", "s", "--skip-corrupt", "--json",
                                    input=content)
                self.assertEqual(result.returncode, 0, result.stderr)
                said = json.loads(result.stdout)
                self.assertEqual(len(payloads_of(self.read("s"))), records)
                self.assertEqual(said["files"][0]["records"], records)
                self.assertEqual(said["regions_skipped"], len(regions))
                self.assertEqual(said["bytes_skipped"],
                                 sum(end - begin for begin, end, _ in regions))

    def test_skip_corrupt_needs_crcs(self):
        self.expect_failure("contradict each other", "convert", "a", "-o", "s", "--skip-corrupt",
                            "--no-crc", status=2)

    def test_no_crc(self):
        self.damaged(20)
        self.convert("d", "-o", "s", "--no-crc")
        self.assertEqual(payloads_of(self.read("s"))[1:], PAYLOADS[1:])

    def test_missing_inputs_and_odd_ones(self):
        self.expect_failure("no file matches", "convert", "x*", "-o", "s")
        self.expect_failure("No such file", "convert", "missing", "-o", "s")
        self.expect_failure("no record files", "convert", ".", "-o", "s")
        self.expect_failure("truncated", "convert", "-", "-o", "s", input=self.plain[:-2])
        self.assertEqual(self.names(), ["a"])


@unittest.skipIf(os.environ.get("RECORDPIPE_SANITIZE"), "sanitizers take memory of their own")
class Memory(ConvertTest):
    """64 MiB plus the largest record, for any conversion."""
    SIZE = 60_000_000
    LIMIT = (64 << 20) + SIZE

    def make(self, name, rows, end):
        """Makes `rows` records of SIZE zeros; the last record ends with `end`."""
        header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({rows}, 1, {self.SIZE}), }}"
        header += " " * (-(11 + len(header)) % 64) + "\n"
        with open(self.folder / "x.npy", "wb") as file:
            file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode())
            file.truncate(file.tell() + rows * self.SIZE - len(end))
            file.seek(0, os.SEEK_END)
            file.write(end)
        self.run_it("create", "x.npy", "-o", name)
        (self.folder / "x.npy").unlink()

    # Two records are enough: keeping both would take more than LIMIT.

    def test_every_way_to_convert(self):
        self.make("big", 2, b"")
        for options in ([], ["--rename", "x=y"], ["--drop", "x"], ["--where", "len(x) == 1"],
                        ["--rename", "x=y", "--shuffle"], ["--skip-corrupt"],
                        ["--select", "x", "--compression", "gzip", "--level", "1"]):
            with self.subTest(options):
                self.assertLess(self.peak("convert", "big", "-o", "out", *options), self.LIMIT)
        self.assertLess(self.peak("convert", "out", "-o", "b", "--skip-corrupt", "--rename", "x=y"),
                        self.LIMIT)

    def test_diff(self):
        self.make("big", 2, b"")
        self.make("other", 2, b"!")
        self.assertLess(self.peak("diff", "big", "other", status=1), self.LIMIT + self.SIZE)

    def test_export(self):
        self.make("one", 1, b"")
        for options in (["x.jsonl"], ["x.jsonl", "--select", "x"], ["x.csv"], ["x.npz"]):
            with self.subTest(options):
                self.assertLess(self.peak("export", "one", "-o", *options), self.LIMIT)


class Faults(ConvertTest):
    def test_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([PROGRAM, "convert", "a", "-o", "-"], cwd=self.folder,
                                    stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"No space left", result.stderr)
        self.expect_failure("/dev/full", "convert", "a", "-o", "/dev/full")

    def test_a_limit_on_file_sizes(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        for options in ([], ["--shards", 2], ["--shuffle"]):
            self.expect_failure("File too large", "convert", "a", "-o", "s", *options,
                                preexec_fn=limit)
            self.assertEqual(self.names(), ["a"])

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_a_folder_that_may_not_be_written(self):
        (self.folder / "locked").mkdir(mode=0o500)
        self.expect_failure("Permission denied", "convert", "a", "-o", "locked/s")

    def test_interrupted_midway(self):
        for number, options in ((signal.SIGINT, []), (signal.SIGTERM, ["--shuffle"]),
                                (signal.SIGINT, ["--max-bytes", 10000])):
            with Started([PROGRAM, "convert", "-", "-o", "s", *map(str, options)],
                         cwd=self.folder, stdin=subprocess.PIPE,
                         stderr=subprocess.PIPE, bufsize=0) as process:
                for _ in range(40):
                    process.stdin.write(self.plain)
                wait_until_it_waits(process)  # for more: all that was written has been read
                process.send_signal(number)
                try:
                    for _ in range(400):
                        process.stdin.write(self.plain)
                except BrokenPipeError:
                    pass  # the program has already ended
                errors = process.stderr.read().decode()
            self.assertEqual(process.returncode, 128 + number, errors)
            self.assertEqual(self.names(), ["a"])


if __name__ == "__main__":
    unittest.main()
