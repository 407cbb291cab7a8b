"""Tests tfrecord verify: the output for intact and damaged files, and how the program ends."""
import gzip
import json
import os
import resource
import shutil
import struct
import subprocess
import unittest

from started import Started
from tfrecord_test_case import DATA, PROGRAM, TfrecordTest, masked, record
from damaged_files import DAMAGED, THREE, flipped


class Text(TfrecordTest):
    def test_intact_files(self):
        self.write("a.tfrecords", b"first", b"z" * 30, b"third")
        self.write("b.tfrecords")
        (self.folder / "c.tfrecords.gz").write_bytes(gzip.compress(THREE))
        shutil.copy(DATA / "zstd/vectors.tfrecords.zst", self.folder / "d.tfrecords.zst")
        self.assertEqual(self.run_it("verify", "*.tfrecords", "c.tfrecords.gz", "d.tfrecords.zst"),
                         "a.tfrecords: intact, 3 records, 88 bytes\n"
                         "b.tfrecords: intact, 0 records, 0 bytes\n"
                         "c.tfrecords.gz: intact, 3 records, 88 bytes, gzip\n"
                         "d.tfrecords.zst: intact, 6 records, 135 bytes, zstd\n"
                         "4 files: 4 intact; 12 intact records\n")

    def test_the_total_of_several_files(self):
        (self.folder / "a").write_bytes(THREE)
        (self.folder / "b").write_bytes(flipped(THREE, 8 * 40) + THREE)
        compressed = bytearray(gzip.compress(THREE))
        compressed[10:19] = b"\x07" * 9  # a block of an unknown type
        (self.folder / "c.gz").write_bytes(compressed)
        result = self.start("verify", "a", "b", "c.gz", "missing")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stdout.decode().splitlines()[-1],
                         r"^4 files: 1 intact, 2 damaged, 1 unreadable; 8 intact records, "
                         r"46 bytes lost, and \d+ compressed bytes$")

    def test_damaged_files_only(self):
        (self.folder / "a").write_bytes(THREE)
        (self.folder / "b").write_bytes(flipped(THREE, 8 * 40))
        (self.folder / "c").write_bytes(THREE + b"\0")
        for files, status, printed in ((("a", "b", "c"), 1, "b\nc\n"), (("a",), 0, ""),
                                       (("b",), 1, "b\n"), (("c", "missing"), 2, "c\n")):
            for option, expected in (("--damaged", printed), ("-q", "")):
                result = self.start("verify", option, *files)
                self.assertEqual((result.returncode, result.stdout.decode()), (status, expected))
        for options in (["--damaged", "-q"], ["--damaged", "--json"], ["-q", "--manifest"]):
            self.expect_failure("--quiet", "verify", *options, "a")

    def test_damage(self):
        (self.folder / "a").write_bytes(flipped(THREE, 8 * 40) + THREE + b"\0")
        result = self.start("verify", "a")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, b"tfrecord verify: tfrecord salvage saves the intact records\n")
        self.assertEqual(result.stdout.decode(), f"""\
a: damaged
  1 intact record
  [21, 67), 46 bytes: data CRC mismatch: corrupted record ({DAMAGED})
  4 intact records
  [176, 177), 1 byte: zeros up to the end of the file (the file was probably not written to its end)
  0 intact records
  in all: 5 intact records, 2 damaged regions of 47 bytes
""")

    def test_large_numbers_are_readable(self):
        (self.folder / "a").write_bytes(record(b"") * 1200)
        self.assertEqual(self.run_it("verify", "a"),
                         "a: intact, 1,200 records, 19,200 bytes (18.8 KiB)\n")
        (self.folder / "a").write_bytes(record(b"") * 1200 + b"g" * 12000)
        lines = self.start("verify", "a").stdout.decode().splitlines()
        self.assertEqual(lines[1], "  1,200 intact records")
        self.assertTrue(lines[2].startswith("  [19200, 31200), 12,000 bytes (11.7 KiB): no record"),
                        lines[2])
        self.assertEqual(lines[4], "  in all: 1,200 intact records, 1 damaged region of 12,000 "
                                   "bytes (11.7 KiB)")

    # Small files are checked at the same time. The report of the fourth is too long to be kept.
    def test_many_files_are_reported_in_order(self):
        long = (record(b"x") + b"\0") * 20_000
        contents = {"file-a": THREE, "file-b": flipped(THREE, 8 * 40),
                    "file-c": gzip.compress(THREE), "file-d": long}
        contents |= {f"file{i:03}": THREE * (i % 5) for i in range(200)}
        for name, content in contents.items():
            (self.folder / name).write_bytes(content)
        names = [*contents, "missing", *reversed(contents)]
        for option in ((), ("--json",)):
            together = self.start("verify", "--threads", "3", *option, *names)
            alone = {}  # what is printed of a content; files of the same one differ in their names
            for name, content in contents.items():
                if content not in alone:
                    alone[content] = name, self.start("verify", *option, name).stdout
            text = {}
            for name, content in contents.items():
                printed, output = alone[content]
                text[name] = output.replace(printed.encode(), name.encode())
            self.assertGreater(len(text["file-d"]), 2**20)
            text["missing"] = self.start("verify", *option, "missing").stdout
            output = together.stdout
            if not option:
                output, total = output[:output.rindex(b"\n", 0, -1) + 1], output.splitlines()[-1]
                self.assertRegex(total, rb"^409 files: 404 intact, 4 damaged, 1 unreadable; ")
            self.assertEqual(output, b"".join(text[name] for name in names))
            self.assertEqual(together.returncode, 2)
            self.assertIn(b"missing", together.stderr)

    def test_goes_to_a_file(self):
        (self.folder / "a").write_bytes(THREE)
        self.assertEqual(self.run_it("verify", "a", "-o", "report"), "")
        self.assertEqual((self.folder / "report").read_text(),
                         "a: intact, 3 records, 88 bytes\n")

    def test_standard_input(self):
        result = self.start("verify", "-", input=gzip.compress(flipped(THREE, 8 * 40)))
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"-: damaged\n  1 intact record\n  [21, 67), 46 bytes", result.stdout)

    def test_what_another_file_is_in_truth(self):
        for content, words in ((b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
                               (b"<html><body>404</body></html>", "HTML page"),
                               (b"just some text, not records", "probably not a TFRecord file")):
            (self.folder / "a").write_bytes(content)
            result = self.start("verify", "a")
            self.assertEqual(result.returncode, 1)
            self.assertIn(words, result.stdout.decode())

    def test_a_name_with_a_newline_or_not_utf8_stays_one_line(self):
        for name in (b"a\nb", b"a\xff"):
            path = os.path.join(os.fsencode(self.folder), name)
            with open(path, "wb") as file:
                file.write(THREE)
            result = self.start("verify", os.fsdecode(name))
            self.assertEqual((result.returncode, result.stdout.count(b"\n")), (0, 1))
            self.assertEqual(json.loads(self.start("verify", "--json", os.fsdecode(name)).stdout)
                             ["records"], 3)


class Json(TfrecordTest):
    def test_a_file_that_cannot_be_read_keeps_no_other_from_its_turn(self):
        (self.folder / "b").write_bytes(THREE)
        os.symlink("loop", self.folder / "loop")
        os.symlink("nowhere", self.folder / "link")
        found = self.json("verify", "--json", "loop", "link", "b", status=2)
        self.assertEqual([(f["path"], f["records"], f["intact"], "error" in f) for f in found],
                         [("loop", 0, False, True), ("link", 0, False, True),
                          ("b", 3, True, False)])


class Streams(TfrecordTest):
    def test_threads(self):
        (self.folder / "a").write_bytes(THREE)
        for command in (["verify", "a"], ["index", "a"], ["salvage", "a", "-o", "out"],
                        ["convert", "a", "-o", "out"]):
            for threads in (0, 1, 1024):
                self.assertEqual(self.start(*command, "--threads", threads).returncode, 0, command)
            for threads in (1025, 100000, 2**64 - 1, -1):
                self.assertEqual(self.start(*command, "--threads", threads).returncode, 2, command)

    def test_dev_zero_ends(self):
        found, = self.json("verify", "--json", "--max-record-size", "1MiB", "/dev/zero", status=1)
        self.assertEqual([(r["begin"], r["end"]) for r in found["regions"]], [(0, 1 << 20)])

    def test_a_fifo_is_read_as_it_comes(self):
        os.mkfifo(self.folder / "pipe")
        with Started([PROGRAM, "verify", "pipe"], cwd=self.folder,
                     stdout=subprocess.PIPE) as process:
            with open(self.folder / "pipe", "wb") as pipe:
                pipe.write(THREE)
            self.assertEqual(process.stdout.read(), b"pipe: intact, 3 records, 88 bytes\n")
        self.assertEqual(process.returncode, 0)

    def test_a_bomb_takes_no_memory(self):
        (self.folder / "a.gz").write_bytes(gzip.compress(bytes(100 << 20), 9))
        self.run_it("verify", "a.gz", status=1, preexec_fn=limit_memory)

    def test_usage(self):
        self.assertEqual(self.start("verify").returncode, 2)
        self.assertEqual(self.start("verify", "--no-crc", "a").returncode, 2)
        self.assertEqual(self.start("verify", "-", "-", input=b"").returncode, 2)
        self.expect_failure("no file matches", "verify", "nothing-*")


def limit_memory():
    # A sanitizer's shadow memory would exceed any limit, so none is set there.
    if not os.environ.get("RECORDPIPE_SANITIZE"):
        resource.setrlimit(resource.RLIMIT_DATA, (512 << 20, 512 << 20))


class Memory(TfrecordTest):
    """A file of 150 MB takes less than 64 MiB of memory, including mapped pages."""

    @unittest.skipIf(os.environ.get("RECORDPIPE_SANITIZE"), "sanitizers take memory of their own")
    def test_small_records(self):
        block = record(b"x" * 3000) * 1000
        with open(self.folder / "a", "wb") as file:
            for _ in range(50):
                file.write(block)
        self.assertLess(self.peak("verify", "a"), 64 << 20)

    @unittest.skipIf(os.environ.get("RECORDPIPE_SANITIZE"), "sanitizers take memory of their own")
    def test_a_large_record(self):
        size = 120 << 20
        with open(self.folder / "a", "wb") as file:
            length = struct.pack("<Q", size)
            file.write(length + struct.pack("<I", masked(length)))
            file.truncate(12 + size)
            file.seek(12 + size)
            file.write(struct.pack("<I", 0x12345678))
        self.assertLess(self.peak("verify", "a", status=1), 64 << 20)
        with open(self.folder / "a", "rb") as file, \
                gzip.open(self.folder / "a.gz", "wb", 1) as compressed:
            shutil.copyfileobj(file, compressed)
        self.assertLess(self.peak("verify", "a.gz", status=1), (64 << 20) + size)

    @unittest.skipIf(os.environ.get("RECORDPIPE_SANITIZE"), "sanitizers take memory of their own")
    def test_zeros_and_lies(self):
        length = struct.pack("<Q", 125 << 20)
        with open(self.folder / "a", "wb") as file:
            file.write((length + struct.pack("<I", masked(length))) * 1000)
            file.truncate(150 << 20)
        self.assertLess(self.peak("verify", "a", status=1), 64 << 20)


if __name__ == "__main__":
    unittest.main()
