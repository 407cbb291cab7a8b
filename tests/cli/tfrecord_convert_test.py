#!/usr/bin/env python3
"""tfrecord convert: what comes out is read by code that shares nothing with recordpipe's."""
import functools
import gzip
import json
import os
import resource
import signal
import struct
import subprocess
import time
import unittest
import zlib

from tfrecord_damage import CASES, DAMAGED
from tfrecord_test_case import PROGRAM, TfrecordTest, named_example
from tfrecord_test_case import record as slow_record

# CRCs take their time here.
record = functools.lru_cache(maxsize=None)(slow_record)


def payloads_of(content):
    """The records of a plain file, whose framing must be right to the byte."""
    payloads, at = [], 0
    while at < len(content):
        length, = struct.unpack_from("<Q", content, at)
        payload = content[at + 12:at + 12 + length]
        assert content[at:at + 16 + length] == record(payload), at
        payloads.append(payload)
        at += 16 + length
    return payloads


def members_of(content):
    """The content of each member of a gzip file."""
    members = []
    while content:
        inflater = zlib.decompressobj(31)
        members.append(inflater.decompress(content))
        assert inflater.eof
        content = inflater.unused_data
    return members


PAYLOADS = [named_example({"label": [i % 10], "name": [f"n{i}"], "x": [i / 2]})
            for i in range(300)] + [b"", b"not an Example", b"\x00" * 1000]


class ConvertTest(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.write("a", *PAYLOADS)
        self.plain = (self.folder / "a").read_bytes()

    def convert(self, *arguments, **options):
        return self.run_it("convert", *arguments, **options)

    def read(self, name):
        return (self.folder / name).read_bytes()

    def names(self):
        return sorted(os.listdir(self.folder))


class Recompress(ConvertTest):
    def test_every_compression_to_every_other(self):
        for one in ("none", "gzip", "zlib", "zstd"):
            self.assertRegex(self.convert("a", "-o", "b", "--compression", one),
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
            self.assertEqual(self.convert("none", "-o", f"e{ending}"),
                             f"wrote 0 records, {len(empty)} bytes, to e{ending}\n")
            self.assertEqual(self.read(f"e{ending}"), empty)
        self.convert("none", "-o", "e.gz")
        self.assertEqual(members_of(self.read("e.gz")), [b""])
        self.convert("none", "-o", "e.zst")
        self.assertEqual(self.convert("e.zst", "-o", "f"), "wrote 0 records, 0 bytes, to f\n")

    def test_onto_its_own_input(self):
        self.convert("a", "-o", "a", "--compression", "gzip")
        self.assertEqual(gzip.decompress(self.read("a")), self.plain)


class Split(ConvertTest):
    def test_shards(self):
        self.assertEqual(
            json.loads(self.convert("a", "-o", "s", "--shards", 4, "--json")),
            {"files": [{"path": f"s-0000{i}-of-00004", "records": 75 + (i > 0),
                        "bytes": len(self.read(f"s-0000{i}-of-00004"))} for i in range(4)],
             "regions_skipped": 0, "bytes_skipped": 0})
        self.assertEqual(self.names(), ["a", *(f"s-0000{i}-of-00004" for i in range(4))])
        self.assertEqual(b"".join(self.read(f"s-0000{i}-of-00004") for i in range(4)), self.plain)
        self.convert("s-*", "-o", "b")
        self.assertEqual(self.read("b"), self.plain)

    def test_more_shards_than_records(self):
        self.write("two", b"1", b"2")
        self.convert("two", "-o", "s", "--shards", 5)
        self.assertEqual([payloads_of(self.read(f"s-0000{i}-of-00005")) for i in range(5)],
                         [[], [], [b"1"], [], [b"2"]])
        self.write("none")
        self.convert("none", "-o", "t", "--shards", 2)
        self.assertEqual([self.read(f"t-0000{i}-of-00002") for i in range(2)], [b"", b""])

    def test_max_bytes(self):
        self.write("five", b"x" * 84, b"y" * 84, b"z" * 34, b"w" * 84, b"v" * 284)
        self.convert("five", "-o", "m", "--max-bytes", 200)
        self.assertEqual([[payload[:1] for payload in payloads_of(self.read(f"m-0000{i}-of-00003"))]
                          for i in range(3)], [[b"x", b"y"], [b"z", b"w"], [b"v"]])
        self.assertEqual(self.names(), ["a", "five", *(f"m-0000{i}-of-00003" for i in range(3))])

    def test_compressed_shards(self):
        self.convert("a", "-o", "s", "--shards", 2, "--compression", "gzip")
        self.assertEqual(b"".join(gzip.decompress(self.read(f"s-0000{i}-of-00002"))
                                  for i in range(2)), self.plain)

    def test_standard_input_cannot_be_counted(self):
        self.expect_failure("standard input has to be read twice", "convert", "-", "-o", "s",
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
        self.assertEqual(len(said["files"]), 302)  # the empty record goes with its neighbour
        self.assertEqual(b"".join(gzip.decompress(self.read(file["path"]))
                                  for file in said["files"]), self.plain)

    def test_a_second_writer_of_the_same_shards_is_refused(self):
        with subprocess.Popen([PROGRAM, "convert", "-", "-o", "s", "--max-bytes", "10000"],
                              cwd=self.folder, stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL) as first:
            for _ in range(40):
                first.stdin.write(self.plain)
            first.stdin.flush()  # more than a pipe holds: it has begun several files
            self.expect_failure("locked by another process", "convert", "a", "-o", "s",
                                "--max-bytes", 10000)
            first.stdin.close()
        self.assertEqual(first.returncode, 0)
        self.assertEqual(b"".join(self.read(name) for name in self.names() if name != "a"),
                         self.plain * 40)


class Merge(ConvertTest):
    def test_in_the_order_given(self):
        self.write("b", b"one", b"two")
        (self.folder / "c").write_bytes(gzip.compress(record(b"three")))
        self.write("d")
        self.convert("c", "b", "d", "a", "-o", "all")
        self.assertEqual(payloads_of(self.read("all")), [b"three", b"one", b"two", *PAYLOADS])
        self.convert("[bc]*", "-o", "all")
        self.assertEqual(payloads_of(self.read("all")), [b"one", b"two", b"three"])


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
        # Of its 256 temporary files, too, more may be open than an ordinary program has.
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
        self.assertEqual(self.convert("a", "-o", "s", "--where", "label == 77"),
                         "wrote 0 records, 0 bytes, to s; --where fits none of 303 records\n")
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


class Damage(ConvertTest):
    def damaged(self, at, bit=1):
        content = bytearray(self.plain)
        content[at] ^= bit
        (self.folder / "d").write_bytes(content)

    def test_damage_leaves_no_output(self):
        size = 16 + len(PAYLOADS[0])
        cases = [(lambda: self.damaged(size + 20), "corrupted record at"),
                 (lambda: self.damaged(size), "corrupted record at"),
                 (lambda: (self.folder / "d").write_bytes(self.plain[:-1]), "truncated record at"),
                 (lambda: (self.folder / "d").write_bytes(self.plain + b"x"), "truncated record at"),
                 (lambda: (self.folder / "d").write_bytes(self.plain + bytes(100)),
                  "corrupted record at"),
                 (lambda: (self.folder / "d").write_bytes(gzip.compress(self.plain)[:-3]), "ends"),
                 (lambda: (self.folder / "d").write_bytes(b"version https://git-lfs.github.com\n"),
                  "Git LFS")]
        for damage, words in cases:
            damage()
            for arguments in ([], ["--shuffle"], ["--where", "label == 1"], ["--shards", 2]):
                self.expect_failure(words, "convert", "d", "-o", "s", *arguments)
                self.assertEqual(self.names(), ["a", "d"])

    def test_the_old_output_stays(self):
        self.write("s", b"old")
        self.damaged(20)
        self.expect_failure("corrupted record at 0", "convert", "d", "-o", "s")
        self.assertEqual(payloads_of(self.read("s")), [b"old"])

    def skipped(self, *arguments):
        """What `convert --skip-corrupt --json` says it passed over, and its warnings."""
        result = self.start("convert", *arguments, "-o", "s", "--skip-corrupt", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        said = json.loads(result.stdout)
        return said["regions_skipped"], said["bytes_skipped"], result.stderr.decode().splitlines()

    def test_skip_corrupt(self):
        first, second = (16 + len(payload) for payload in PAYLOADS[:2])
        end = first + second
        self.write("b", b"next")
        data = "the data's CRC does not fit"
        length = "the length's CRC does not fit"
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
                # Said once, however often it was read.
                self.assertEqual((regions, lost_bytes, len(warnings)), (1, lost, 2))
                written = b"".join(self.read(name) for name in self.names()
                                   if name.startswith("s"))
                found = payloads_of(written)
                self.assertEqual(sorted(found), sorted(kept))
                self.assertEqual(found == kept, "--shuffle" not in options)

    def test_skip_corrupt_finds_what_salvage_finds(self):
        for name, (content, records, regions) in CASES.items():
            for where in ("d", "-"):
                with self.subTest(name, where=where):
                    (self.folder / "d").write_bytes(content)
                    self.start("salvage", "d", "-o", "salvaged")
                    result = self.start("convert", where, "-o", "s", "--skip-corrupt", "--json",
                                        input=content)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertEqual(self.read("s"), self.read("salvaged"))
                    said = json.loads(result.stdout)
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
        self.expect_failure("directory", "convert", ".", "-o", "s")
        self.expect_failure("truncated", "convert", "-", "-o", "s", input=self.plain[:-2])
        self.assertEqual(self.names(), ["a"])


@unittest.skipIf(os.environ.get("RECORDPIPE_SANITIZE"), "sanitizers take memory of their own")
class Memory(ConvertTest):
    """64 MiB and the largest record, whatever is done to it."""
    SIZE = 60_000_000
    LIMIT = (64 << 20) + SIZE

    def setUp(self):
        super().setUp()
        self.make("big", 3, b"")

    def make(self, name, rows, end):
        """`rows` records of SIZE zeros, the last of which ends with `end`."""
        header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({rows}, 1, {self.SIZE}), }}"
        header += " " * (-(11 + len(header)) % 64) + "\n"
        with open(self.folder / "x.npy", "wb") as file:
            file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode())
            file.truncate(file.tell() + rows * self.SIZE - len(end))
            file.seek(0, os.SEEK_END)
            file.write(end)
        self.run_it("create", "x.npy", "-o", name)
        (self.folder / "x.npy").unlink()

    def test_every_way_to_convert(self):
        for options in ([], ["--rename", "x=y"], ["--drop", "x"], ["--where", "len(x) == 1"],
                        ["--rename", "x=y", "--shuffle"], ["--skip-corrupt"],
                        ["--select", "x", "--compression", "gzip", "--level", "1"]):
            with self.subTest(options):
                self.assertLess(self.peak("convert", "big", "-o", "out", *options), self.LIMIT)
        self.assertLess(self.peak("convert", "out", "-o", "b", "--skip-corrupt", "--rename", "x=y"),
                        self.LIMIT)

    def test_diff(self):
        self.make("other", 3, b"!")
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
        self.assertEqual(result.returncode, 1)
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
            with subprocess.Popen([PROGRAM, "convert", "-", "-o", "s", *map(str, options)],
                                  cwd=self.folder, stdin=subprocess.PIPE,
                                  stderr=subprocess.PIPE, bufsize=0) as process:
                for _ in range(40):
                    process.stdin.write(self.plain)
                time.sleep(0.2)  # more than a pipe holds: it has read
                process.send_signal(number)
                try:
                    for _ in range(400):
                        process.stdin.write(self.plain)
                except BrokenPipeError:
                    pass  # it has ended already
                errors = process.stderr.read().decode()
            self.assertEqual(process.returncode, 128 + number, errors)
            self.assertEqual(self.names(), ["a"])


if __name__ == "__main__":
    unittest.main()
