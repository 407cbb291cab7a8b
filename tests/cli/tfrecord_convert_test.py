#!/usr/bin/env python3
"""Tests tfrecord convert between all compressions, to any number of files and back to one."""
import gzip
import json
import resource
import subprocess
import unittest
import zlib

from started import Started
from tfrecord_convert_case import PAYLOADS, ConvertTest, payloads_of, record
from tfrecord_test_case import PROGRAM


def members_of(content):
    """Returns the content of each member of a gzip file."""
    members = []
    while content:
        inflater = zlib.decompressobj(31)
        members.append(inflater.decompress(content))
        assert inflater.eof
        content = inflater.unused_data
    return members


class Recompress(ConvertTest):
    def test_every_compression_to_every_other(self):
        for one in ("none", "gzip", "zlib", "zstd"):
            self.assertRegex(self.summary("convert", "a", "-o", "b", "--compression", one),
                             r"^wrote 303 records, [0-9,]+ bytes( \([0-9.]+ KiB\))?, to b\n$")
            for other in ("none", "gzip", "zlib", "zstd"):
                self.convert("b", "-o", "c", "--compression", other)
                self.convert("c", "-o", "d")
                self.assertEqual(self.read("d"), self.plain)
                self.assertEqual(self.start("convert", "-", "-o", "-",
                                            input=self.read("c")).stdout, self.plain)

    def test_other_readers_read_them(self):
        self.convert("a", "-o", "b.gz")
        self.assertEqual(gzip.decompress(self.read("b.gz")), self.plain)
        self.convert("a", "-o", "b.zlib")
        self.assertEqual(zlib.decompress(self.read("b.zlib")), self.plain)
        self.convert("a", "-o", "b.zst")
        self.assertEqual(self.read("b.zst")[:4], b"\x28\xb5\x2f\xfd")
        self.convert("b.gz", "-o", "b.tfrecords")
        self.assertEqual(self.read("b.tfrecords"), self.plain)

    def test_members_of_half_a_mebibyte_and_the_same_bytes_on_any_number_of_threads(self):
        big = [bytes(range(size)) * 1000 for size in (7, 100, 250, 30)] * 7
        (self.folder / "big").write_bytes(b"".join(map(record, big)))
        plain = self.read("big")
        for ending, levels in (("gz", ("1", "6", "fast")), ("zlib", ("1",)), ("zst", ("1", "12"))):
            for level in levels:
                outputs = set()
                for threads in (1, 2, 3):
                    self.convert("big", "-o", f"c.{ending}", "--level", level,
                                 "--threads", threads)
                    outputs.add(self.read(f"c.{ending}"))
                self.assertEqual(len(outputs), 1, (ending, level))
                if ending == "gz":
                    members = members_of(outputs.pop())
                    self.assertEqual(b"".join(members), plain)
                    self.assertEqual({len(member) for member in members[:-1]}, {1 << 19})

    def test_nothing(self):
        self.write("none")
        for ending, empty in (("", b""), (".zlib", bytes.fromhex("7801030000000001"))):
            self.assertEqual(self.summary("convert", "none", "-o", f"e{ending}"),
                             f"wrote 0 records, {len(empty)} bytes, to e{ending}\n")
            self.assertEqual(self.read(f"e{ending}"), empty)
        self.convert("none", "-o", "e.gz")
        self.assertEqual(members_of(self.read("e.gz")), [b""])
        self.convert("none", "-o", "e.zst")
        self.assertEqual(self.summary("convert", "e.zst", "-o", "f"),
                         "wrote 0 records, 0 bytes, to f\n")

    def test_onto_its_own_input(self):
        self.convert("a", "-o", "a", "--compression", "gzip")
        self.assertEqual(gzip.decompress(self.read("a")), self.plain)


class Split(ConvertTest):
    def test_compressed_shards(self):
        self.convert("a", "-o", "s", "--shards", 2, "--compression", "gzip")
        self.assertEqual(b"".join(gzip.decompress(self.read(f"s-0000{i}-of-00002"))
                                  for i in range(2)), self.plain)

    def test_standard_input_cannot_be_counted(self):
        self.expect_failure("standard input must be read twice", "convert", "-", "-o", "s",
                            "--shards", 2, status=2, input=self.plain)
        self.convert("-", "-o", "s", "--shards", 2, "--shuffle", input=self.plain)
        self.assertEqual(sorted(payloads_of(self.read("s-00000-of-00002") +
                                            self.read("s-00001-of-00002"))), sorted(PAYLOADS))


    def test_more_files_than_may_be_open(self):
        def few_files():
            resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
        # (UndefinedBehaviorSanitizer opens pipes of its own, one at a time.)
        self.convert("a", "-o", "s", "--shards", 200, preexec_fn=few_files)
        shards = [f"s-{i:05}-of-00200" for i in range(200)]
        self.assertEqual(self.names(), ["a", *shards])
        self.assertEqual(b"".join(map(self.read, shards)), self.plain)
        said = json.loads(self.convert("a", "-o", "m.gz", "--max-bytes", 60, "--json",
                                       preexec_fn=few_files))
        self.assertEqual(len(said["files"]), 302)  # the empty record shares a file
        self.assertEqual(b"".join(gzip.decompress(self.read(file["path"]))
                                  for file in said["files"]), self.plain)

    def test_a_second_writer_of_the_same_shards_is_refused(self):
        with Started([PROGRAM, "convert", "-", "-o", "s", "--max-bytes", "10000"],
                     cwd=self.folder, stdin=subprocess.PIPE,
                     stdout=subprocess.DEVNULL) as first:
            for _ in range(40):
                first.stdin.write(self.plain)
            first.stdin.flush()  # more than a pipe's buffer, so several files exist
            self.expect_failure("locked by another process", "convert", "a", "-o", "s",
                                "--max-bytes", 10000)
            first.stdin.close()
        self.assertEqual(first.returncode, 0)
        self.assertEqual(b"".join(self.read(name) for name in self.names() if name != "a"),
                         self.plain * 40)


if __name__ == "__main__":
    unittest.main()
