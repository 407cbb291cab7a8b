"""Tests that subcommands that read all records use little memory for any contents: many records,
many names, many distinct values.
"""
import gzip
import os
import random
import struct
import subprocess
import unittest

from tfrecord_test_case import PROGRAM, TfrecordTest, record
from make_golden import field, varint
from started import Started

SANITIZED = bool(os.environ.get("RECORDPIPE_SANITIZE"))  # sanitizers need additional memory
MAX_MIB = 80  # 64, plus the program itself


class MemoryTest(TfrecordTest):
    def expect_little(self, *arguments, most=MAX_MIB):
        with self.subTest(arguments), open(self.folder / "printed", "wb") as printed:
            with Started([PROGRAM, *arguments], cwd=self.folder, stdout=printed,
                         stderr=subprocess.PIPE) as process:
                errors = process.stderr.read()
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0, errors)
            self.assertLess(usage.ru_maxrss >> 10, most)

    def write_unchecked(self, name, payloads):
        """Writes records without CRCs, which are slow in Python: must be read with --no-crc. Writes
        them one by one, because this process's own memory would count as the program's."""
        with open(self.folder / name, "wb") as file:
            for data in payloads:
                file.write(struct.pack("<QI", len(data), 0) + data + bytes(4))


@unittest.skipIf(SANITIZED, "sanitizers take memory of their own")
class ManyFiles(MemoryTest):
    """A separate class, as ManyThreads."""

    def test_many_files_of_many_sizes(self):
        """Of each file, a line is kept, not the sizes of its records."""
        # Short records, because each page of each file costs time. 1.2 million sizes in all, which
        # would take 9 MiB.
        self.write_unchecked("a", (bytes(size) for size in range(2000)))
        for form in "table", "csv", "json":
            command = ["info", "--format", form, "--no-crc"]
            with self.subTest(form):
                self.assertLess(self.peak(*command, *["a"] * 600) - self.peak(*command, "a"), 4 << 20)


@unittest.skipIf(SANITIZED, "sanitizers take memory of their own")
class ManyThreads(MemoryTest):
    """A separate class, so that this process has not grown yet: its memory counts as the
    program's."""

    def test_many_threads(self):
        """Each thread needs little memory, and data kept for later is shared: 52 to 66 MiB, by how far
        the threads are ahead of each other."""
        source = random.Random(3)
        self.write_unchecked("a", (source.randbytes(3000) for _ in range(30_000)))
        self.expect_little("convert", "--no-crc", "--level", "fast", "--threads", "64", "-o",
                           "o.gz", "a", most=72)


@unittest.skipIf(SANITIZED, "sanitizers take memory of their own")
class Memory(MemoryTest):
    def test_many_records_of_no_length(self):
        some = record(b"") * 65536
        with open(self.folder / "a", "wb") as plain, gzip.open(self.folder / "b", "wb", 1) as packed:
            for _ in range(40):
                plain.write(some)
                packed.write(some)
        for path in ("a", "b"):
            for command in (["schema"], ["stats"], ["show", "--json"]):
                self.expect_little(*command, path)

    def test_long_names(self):
        one = field(3, field(1, varint(1)))  # an int64 list
        self.write_unchecked("a", (
            field(1, field(1, field(1, b"k%d" % i + b"x" * 8000) + field(2, one)))
            for i in range(10000)))
        for command in (["schema"], ["schema", "--json"], ["schema", "--python"],
                        ["schema", "--cpp"], ["stats"], ["view", "--sample", "spread", "-o", "p"]):
            self.expect_little(*command, "--no-crc", "a")

    def test_many_values_of_many_features(self):
        source = random.Random(1)
        self.write_unchecked("a", (
            field(1, b"".join(field(1, field(1, b"f%03d" % i) +
                                    field(2, field(2, field(1, source.randbytes(800)))))
                              for i in range(200))) for _ in range(120)))
        self.expect_little("stats", "--no-crc", "a")
        self.expect_little("stats", "--no-crc", "--threads", "16", "a")
        self.expect_little("view", "--sample", "spread", "--no-crc", "-o", "p", "a")

    def test_many_files_at_a_time(self):
        """What is found in files behind the current one waits for its turn."""
        packed = gzip.compress(record(bytes(1000)) * 20_000, 1)
        names = [f"f{i}" for i in range(10)]  # 20 MB each
        for name in names:
            (self.folder / name).write_bytes(packed)
        for threads in ("2", "8"):
            self.expect_little("salvage", *names, "-o", "o", "--threads", threads)
        self.expect_little("export", "--to", "json", *names, "-o", "o", "--threads", "8")
        self.expect_little("diff", ",".join(names), ",".join(names), "--threads", "8")

    def test_long_records(self):
        """Records of 2 MB, which are processed in parallel, and of 20 MB, which aren't."""
        source = random.Random(2)
        self.write_unchecked("a", (
            field(1, field(1, field(1, b"f") + field(2, field(2, field(1, source.randbytes(size))))))
            for size in [2_000_000] * 16 + [20_000_000]))
        self.expect_little("stats", "--no-crc", "a", most=MAX_MIB + 20)
        self.expect_little("schema", "--no-crc", "a", most=MAX_MIB + 20)


if __name__ == "__main__":
    unittest.main()
