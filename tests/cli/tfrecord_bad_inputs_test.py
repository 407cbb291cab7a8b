#!/usr/bin/env python3
"""Tests every subcommand that reads records with every kind of bad file. The subcommand must end
soon, with the right status, and report path, position and reason. Result files are complete or
don't exist.
"""
import bz2
import gzip
import lzma
import os
import pathlib
import pickle
import shutil
import signal
import struct
import subprocess
import unittest

from tfrecord_test_case import (PROGRAM, TfrecordTest, bytes_feature, example, float_feature,
                                int64_feature, masked, record)
from make_golden import field, varint
from started import Started
from damaged_files import CASES, THREE, header

# Subcommands by name: their arguments around the input, and their output files.
READERS = {
    "info": (["info"], [], None),
    "info --json": (["info", "--json"], [], None),
    "verify": (["verify"], [], None),
    "show": (["show"], [], None),
    "show --json": (["show", "--json"], [], None),
    "head": (["head", "-n", "1000000"], [], None),
    "tail": (["tail", "-n", "1000000"], [], None),
    "count --where": (["count", "--where", "record.size >= 0"], [], None),
    "cat": (["cat"], ["-o", "out.tfrecords"], "out.tfrecords"),
    "schema": (["schema"], [], None),
    "stats": (["stats"], [], None),
    "index": (["index"], ["-o", "out.idx"], "out.idx"),
    "convert": (["convert"], ["-o", "out.tfrecords"], "out.tfrecords"),
    "convert --shards": (["convert"], ["-o", "out", "--shards", "2"], "out-00000-of-00002"),
    "convert --shuffle": (["convert"], ["-o", "out.tfrecords", "--shuffle"], "out.tfrecords"),
    "salvage": (["salvage"], ["-o", "out.tfrecords"], "out.tfrecords"),
    "diff": (["diff", "three"], [], None),
    "export": (["export"], ["-o", "out.jsonl"], "out.jsonl"),
    "view": (["view"], ["-o", "out.html"], "out.html"),
    "bench": (["bench", "--seconds", "0.01"], [], None),
}
# These parse the records; to the others, records are bytes.
PARSING = {"show", "show --json", "head", "tail", "count --where", "schema", "stats", "export",
           "view"}
# Subcommands that keep the records read so far.
CARRY_ON = {"verify", "salvage", "view"}
# For these subcommands, damage is a result: status 1. The others fail because of damage: status 2.
ANSWERING = {"info", "info --json", "verify", "salvage", "view"}
SANITIZED = bool(os.environ.get("RECORDPIPE_SANITIZE"))  # sanitizers need additional memory
MAX_MIB = 100  # 64, plus the program itself


class Reading(TfrecordTest):
    def setUp(self):
        super().setUp()
        (self.folder / "three").write_bytes(THREE)

    def read(self, reader, path, *options, statuses=(0, 1, 2)):
        begin, end, written = READERS[reader]
        if written:
            (self.folder / written).unlink(missing_ok=True)
        result = self.start(*begin, *options, path, *end)
        words = (reader, path, result.stderr.decode(errors="replace")[-2000:])
        self.assertIn(result.returncode, statuses, words)
        self.assertNotIn(b"Sanitizer", result.stderr, words)
        return result

    def status_of_damage(self, reader, intact):
        nothing_to_write = reader == "salvage" and intact == 0
        return 1 if reader in ANSWERING and not nothing_to_write else 2

    def expect_error(self, reader, path, result, *said, statuses=(1, 2)):
        """The output names the path and contains one of these words."""
        printed = (result.stdout + result.stderr).decode()
        self.assertIn(result.returncode, statuses, (reader, path, printed))
        self.assertIn(path, printed, reader)
        self.assertTrue(any(word in printed for word in said), (reader, path, said, printed))

    def take_left(self):
        """Returns the result files, complete or not, and removes them."""
        left = [path for path in self.folder.iterdir() if path.name.startswith(("out", ".out"))]
        for path in left:
            path.unlink()
        return [path.name for path in left]


class Records(Reading):
    def test_all_cases(self):
        for name, (content, records, regions) in CASES.items():
            (self.folder / "bad").write_bytes(content)
            for reader in READERS:
                with self.subTest(case=name, reader=reader):
                    if reader == "index" and content[:1] in (b"\x1f", b"\x78"):
                        self.expect_error(reader, "bad", self.read(reader, "bad"), "compressed")
                        continue
                    result = self.read(reader, "bad")
                    if regions:
                        self.expect_error(reader, "bad", result, str(regions[0][0]),
                                          "before its trailer",
                                          statuses=[self.status_of_damage(reader, records)])
                    elif reader != "diff":
                        self.assertEqual(result.returncode, 0, result.stderr.decode())
                    left = self.take_left()
                    if result.returncode and reader not in CARRY_ON:
                        self.assertEqual(left, [])

    def test_the_wrong_compression_given(self):
        (self.folder / "plain").write_bytes(THREE)
        (self.folder / "packed").write_bytes(gzip.compress(THREE))
        for reader in READERS:
            if reader in ("index", "bench"):  # no such option
                continue
            with self.subTest(reader=reader):
                result = self.read(reader, "plain", "--input-compression", "gzip")
                # For diff, both inputs.
                self.expect_error(reader, "three" if reader == "diff" else "plain", result, "gzip")
                result = self.read(reader, "packed", "--input-compression", "none")
                self.expect_error(reader, "packed", result, "gzip", "0")

    def test_a_bomb_takes_little_memory(self):
        """A compressed record of 1 GiB, of which 64 MiB of zeros exist, and one of 512 MiB, of
        which 1000 bytes exist."""
        with gzip.open(self.folder / "bomb", "wb", 1) as file:
            file.write(header(1 << 30))
            for _ in range(64):  # not in this process, whose memory would count as the program's
                file.write(bytes(1 << 20))
        (self.folder / "liar").write_bytes(gzip.compress(header(1 << 29) + b"x" * 1000))
        for reader in READERS:
            for path in ("bomb", "liar"):
                if reader == "index":
                    continue
                with self.subTest(reader=reader, path=path):
                    begin, end, _ = READERS[reader]
                    with Started([PROGRAM, *begin, path, *end], cwd=self.folder,
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT) as process:
                        printed = process.stdout.read()
                        _, status, usage = os.wait4(process.pid, 0)
                        process.returncode = os.waitstatus_to_exitcode(status)
                    self.assertIn(process.returncode, (1, 2), printed)
                    if not SANITIZED:
                        # The 64 MiB of the record that were read, held once.
                        came = 64 if path == "bomb" else 0
                        self.assertLess(usage.ru_maxrss >> 10, came + MAX_MIB, printed)


class Formats(Reading):
    """Files of other formats are named, with and without CRC checks."""
    OTHERS = {
        "a Parquet file: tfrecord create makes records of it": b"PAR1\x15\x04\x15\x18\x15\x1c" + bytes(90),
        "an Arrow file: tfrecord create makes records of it": b"ARROW1\0\0\xff\xff\xff\xff\x88\0\0\0" + bytes(90),
        "a Feather file of version 1": b"FEA1" + bytes(90),
        "uncompress": b"\x1f\x9d\x90" + bytes(range(90)),
        "HDF5": b"\x89HDF\r\n\x1a\n" + bytes(90),
        "ArrayRecord": bytes.fromhex("83af70d10d884a3f000000000000000040000000000000000091bac2"),
        "a zip archive": b"PK\x03\x04\x14\0\0\0\0\0" + bytes(90),
        "a tar archive": b"a.jpg".ljust(257, b"\0") + b"ustar\00000" + bytes(248),
        "a NumPy array": b"\x93NUMPY\x01\0v\0{'descr': '<f4'}",
        "a SequenceFile of Hadoop": b"SEQ\x06\x19org.apache.hadoop.io.Text" + bytes(90),
        "RecordIO file of MXNet": struct.pack("<3I", 0xced7230a, 40, 7) + bytes(range(40)),
        "a pickle": pickle.dumps(list(range(40)), 4),
        "PDF": b"%PDF-1.7\n%" + bytes(range(90)),
        "LZ4's legacy format": b"\x02\x21\x4c\x18\x2a\0\0\0" + bytes(range(42)),
        "LZMA": lzma.compress(bytes(range(90)), lzma.FORMAT_ALONE),
        "a MATLAB file": b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(124) + b"\0\1IM",
        "a 7-Zip archive": b"7z\xbc\xaf\x27\x1c\0\4" + bytes(range(40)),
        "LMDB": bytes(16) + b"\xde\xc0\xef\xbe" + bytes(90),
    }

    def expect_the_name(self, name, content, *command):
        (self.folder / "bad").write_bytes(content)
        with self.subTest(name, command=command):
            result = self.start(*command)
            self.assertIn(result.returncode, (1, 2))
            printed = " ".join((result.stdout + result.stderr).decode().split())
            self.assertIn(name, printed)
            for wrong in ("--no-crc", "salvage saves", "fetch it again"):
                self.assertNotIn(wrong, printed)

    def test_other_formats(self):
        for name, content in self.OTHERS.items():
            for packed in (content, gzip.compress(content)):
                self.expect_the_name(name, packed, "show", "bad")
            if name != "LMDB":  # which begins with zeros: without CRCs, a record
                self.expect_the_name(name, content, "convert", "bad", "-o", "out", "--no-crc")
        for reader in ("info", "verify", "count --where", "convert", "salvage", "stats", "view"):
            begin, end, _ = READERS[reader]
            self.expect_the_name(name, content, *begin, "bad", *end)

    def test_other_compressions(self):
        snappy = b"\xff\x06\0\0sNaPpY"
        packed = {
            "bzip2": bz2.compress(THREE), "xz": lzma.compress(THREE),
            "snappy": snappy + b"\x01" + struct.pack("<I", len(THREE) + 4)[:3] +
                      struct.pack("<I", masked(THREE)) + THREE,
            "gzip": gzip.compress(gzip.compress(THREE)),
            "zstd": subprocess.run(["zstd", "-qc"], input=gzip.compress(THREE), check=True,
                                   capture_output=True).stdout if shutil.which("zstd") else None,
        }
        if shutil.which("lz4"):
            packed["lz4"] = subprocess.run(["lz4", "-qc"], input=THREE, check=True,
                                           capture_output=True).stdout
        for name, content in packed.items():
            if content is None:
                continue
            (self.folder / "packed").write_bytes(content)
            with self.subTest(name):
                self.run_it("convert", "packed", "-o", "out")
                self.assertEqual((self.folder / "out").read_bytes(), THREE)
                self.assertEqual(self.run_it("count", "packed"), "3  packed\n")
                self.assertEqual(self.json("info", "--json", "packed")[0]["compression"], name)
                self.run_it("verify", "packed")
                self.assertEqual(self.run_it("diff", "packed", "three"), "the same 3 records\n")
                # Cut: an error, and what comes before the cut.
                (self.folder / "packed").write_bytes(content[:-7])
                self.assertIn(self.start("verify", "packed").returncode, (1, 2))
                self.assertEqual(self.start("convert", "packed", "-o", "out").returncode, 2)

    # After a stream, another one follows, zeros, or nothing.
    def test_what_follows_a_compressed_stream(self):
        streams = {"bzip2": bz2.compress(THREE), "xz": lzma.compress(THREE),
                   "gzip": gzip.compress(THREE)}
        if shutil.which("lz4"):
            streams["lz4"] = subprocess.run(["lz4", "-qc"], input=THREE, check=True,
                                            capture_output=True).stdout
        for name, stream in streams.items():
            for content in (stream + stream, stream + stream + bytes(1 << 20)):
                (self.folder / "packed").write_bytes(content)
                with self.subTest(name, bytes=len(content)):
                    self.assertEqual(self.run_it("count", "packed"), "6  packed\n")
            damaged = b"\0" + stream[1:]
            for rest in (damaged, damaged + stream, bytes(1 << 20) + stream[2:], b"x", stream[:5],
                         stream + b"garbage"):
                (self.folder / "packed").write_bytes(stream + rest)
                with self.subTest(name, rest=rest[:20]):
                    self.assertEqual(self.start("count", "packed").returncode, 2)
                    self.assertEqual(self.start("convert", "packed", "-o", "out").returncode, 2)
                    self.assertEqual(self.start("verify", "packed").returncode, 1)

    # The bytes of a block come before its checksum.
    def test_a_damaged_stream_is_named_beside_what_it_holds(self):
        many = b"".join(record(b"%d" % i) for i in range(30_000))
        for name, stream, at in (("bzip2", bz2.compress(many), 16),  # in origPtr
                                 ("gzip", gzip.compress(THREE, 0), 15)):  # the first byte of THREE
            damaged = bytearray(stream)
            damaged[at] ^= 0x80
            (self.folder / "packed").write_bytes(damaged)
            for command in ("count", "verify"):
                with self.subTest(name, command=command):
                    result = self.start(command, "packed")
                    self.assertIn(f"or its {name} stream is damaged",
                                  (result.stdout + result.stderr).decode())

    def test_a_compressed_stream_that_ends_before_its_first_byte(self):
        for stream in (bz2.compress(THREE), lzma.compress(THREE)):
            (self.folder / "packed").write_bytes(stream[:20])
            message = self.start("count", "packed").stderr.decode()
            self.assertIn("damaged or incomplete", message)
            self.assertNotIn(str(2 ** 64 - 1), message)


class Files(Reading):
    def test_what_is_no_file(self):
        (self.folder / "folder").mkdir()
        os.symlink("nowhere", self.folder / "dangling")
        for reader in READERS:
            for path in ("folder", "dangling", "missing", "/dev/zero"):
                with self.subTest(reader=reader, path=path):
                    if path == "/dev/zero" and reader in ("convert --shards", "bench"):  # read twice
                        self.assertEqual(self.read(reader, path, statuses=(2,)).returncode, 2)
                        continue
                    self.expect_error(reader, path, self.read(reader, path), "no record files",
                                      "No such file", "corrupted record", "zeros")
                    left = self.take_left()
                    if path != "/dev/zero" or reader not in CARRY_ON:
                        self.assertEqual(left, [])

    def test_a_path_with_a_newline_that_is_no_text(self):
        path = os.fsencode(self.folder) + b"/new\nline\xff"
        for reader, (begin, end, _) in READERS.items():
            for content in (THREE, THREE[:50]):
                with open(path, "wb") as file:
                    file.write(content)
                with self.subTest(reader=reader, intact=content is THREE):
                    result = subprocess.run([PROGRAM, *begin, path, *end], cwd=self.folder,
                                            capture_output=True, check=False)
                    self.assertEqual(result.returncode, 0 if content is THREE else
                                     1 if reader in ANSWERING else 2, result.stderr)
                    self.assertNotIn(b"new\nline", result.stdout + result.stderr)
                    result.stdout.decode()
                    result.stderr.decode()

    def test_a_file_that_shrinks_while_it_is_read(self):
        """No signal may end the program. The number of records read before is unknown, and so is
        the output."""
        content = record(bytes(1000)) * 40_000
        path = self.folder / "shrinking"
        for reader, (begin, end, _) in READERS.items():
            with self.subTest(reader=reader):
                for times in (1, 4, 16, 16, 16):  # more if the program was too fast
                    path.write_bytes(content)
                    for _ in range(times - 1):
                        with open(path, "ab") as file:
                            file.write(content)
                    with Started([PROGRAM, *begin, path, *end], cwd=self.folder,
                                 stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE) as process:
                        caught = stop_while_open(process, path)
                        if caught:
                            os.truncate(path, 5000)
                            process.send_signal(signal.SIGCONT)
                        printed = process.stderr.read().decode()
                    self.assertIn(process.returncode, (0, 1, 2), printed)
                    if caught:
                        break
                self.assertTrue(caught, "it was never seen to read")


def is_open(process, path):
    """Returns whether the process has the file open or mapped."""
    files = pathlib.Path(f"/proc/{process.pid}")
    try:
        if str(path) in (files / "maps").read_text():
            return True
        return any(os.readlink(file) == str(path) for file in (files / "fd").iterdir())
    except OSError:  # the process has ended, or closed one of the files
        return False


def stop_while_open(process, path):
    """Stops the process while it has the file open. Returns False if the process ended before."""
    while process.poll() is None:
        if not is_open(process, path):
            continue
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if is_open(process, path):
            return True
        process.send_signal(signal.SIGCONT)
    return False


def feature(content):
    return field(1, field(1, field(1, b"f") + field(2, content)))


def nested(depth):
    content = b""
    for _ in range(depth):
        content = field(1, content)
    return content


class Examples(Reading):
    """Messages that parse partly or not at all are valid records: no subcommand fails on them."""
    CASES = {
        "no protobuf": b"\xff\xff\xff\xff",
        "a wire type that isn't one": feature(b"\x0f"),
        "a length beyond the end": b"\x0a\xff\xff\xff\x0f",
        "a varint of eleven bytes": feature(field(3, field(1, b"\xff" * 10 + b"\x01"))),
        "deep nesting": nested(5000),
        "groups in groups": b"\x0b" * 5000,
        "a feature of another kind": example(label=bytes_feature(b"three")),
        "labels out of range": example(label=int64_feature(-1 % 2**64)),
        "NaN": example(weight=float_feature(float("nan"), float("inf"))),
        "unpacked": feature(field(3, b"\x08\x01\x08\x02")),
        "packed": feature(field(3, field(1, varint(1) + varint(2)))),
        "floats cut": feature(field(2, field(1, b"\0\0\0"))),
        "a key twice": example(f=int64_feature(1))[:0] + feature(field(3, field(1, b"\1"))) +
                       feature(field(3, field(1, b"\2"))),
        "a key that is no text": field(1, field(1, field(1, b"\xff\xfe") + field(2, b""))),
        "two kinds in one": feature(field(3, field(1, b"\1")) + field(2, field(1, b"\0\0\0\0"))),
        "a PNG that isn't one": example(**{"image/encoded": bytes_feature(
            b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + b"\xff" * 17)}),
        "a JPEG that isn't one": example(**{"image/encoded": bytes_feature(b"\xff\xd8\xff\xe0")}),
    }

    def test_all_cases(self):
        self.write("odd", example(label=int64_feature(3)), *self.CASES.values())
        self.expect_intact("all", READERS.keys() - PARSING)
        for name, content in self.CASES.items():
            self.write("odd", example(label=int64_feature(3)), content)
            self.expect_intact(name, PARSING)

    def expect_intact(self, name, readers):
        for reader in readers:
            with self.subTest(case=name, reader=reader):
                result = self.read(reader, "odd")
                if reader != "diff":
                    self.assertEqual(result.returncode, 0, result.stderr.decode())

    def test_expressions_and_edits(self):
        for name, content in self.CASES.items():
            self.write("odd", example(label=int64_feature(3)), content)
            for arguments in (["show", "--json", "--where", "label == 3"],
                              ["convert", "-o", "out", "--drop", "label"],
                              ["convert", "-o", "out", "--select", "label"],
                              ["export", "-o", "out.csv"]):
                with self.subTest(case=name, arguments=arguments):
                    result = self.start(*arguments, "odd")
                    self.assertIn(result.returncode, (0, 2), result.stderr.decode())
                    if result.returncode:
                        self.assertIn("odd", result.stderr.decode())


if __name__ == "__main__":
    unittest.main()
