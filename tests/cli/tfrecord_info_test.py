"""Tests tfrecord info as a user runs it."""
import csv
import gzip
import json
import os
import shutil
import struct
import subprocess
import unittest
import zlib

from started import Started
from tfrecord_test_case import (DATA, TfrecordTest, example, int64_feature, masked, named_example,
                                record)

GOLDEN = DATA / "golden"
# Four of the golden records have unknown fields or replaced values.
AS_EXAMPLES = ["--kind", "example"]

EXAMPLES_TEXT = """\
examples.tfrecords
  records      10
  file         3,460 bytes
  compression  none
  record size  0 to 3,110, median 25 bytes
  kind         Example
  features     of all records
    a      int64        1 value  30.0 %
    age    int64  2 to 4 values  20.0 %
    image  bytes        1 value  20.0 %
    label  int64        1 value  20.0 %
    x      float       3 values  10.0 %
"""

FEATURES = {
    "a": {"kind": "int64", "values": 1, "share": 0.3},
    "age": {"kind": "int64", "values": {"min": 2, "max": 4}, "share": 0.2},
    "image": {"kind": "bytes", "values": 1, "share": 0.2},
    "label": {"kind": "int64", "values": 1, "share": 0.2},
    "x": {"kind": "float", "values": 3, "share": 0.1},
}
COUNTS = {"records": 10, "bytes": 3460, "content_bytes": 3460,
          "record_sizes": {"min": 0, "median": 24.5, "max": 3110}, "kind": "Example",
          "features": FEATURES, "sampled_records": 10}


def labelled(count):
    return [named_example({"label": [i % 10]}) for i in range(count)]


class InfoText(TfrecordTest):
    def setUp(self):
        super().setUp()
        shutil.copy(GOLDEN / "examples.tfrecords", self.folder)

    def test_one_file(self):
        self.assertEqual(self.run_it("info", "examples.tfrecords", *AS_EXAMPLES), EXAMPLES_TEXT)

    def test_several_files(self):
        self.write("one.tfrecords", *labelled(3))
        self.write("two.tfrecords", b"x" * 20000, b"y")
        self.assertEqual(self.run_it("info", "one.tfrecords", "t*"), """\
records   bytes  compression  min  median     max  kind     file
      3     102  none          18      18      18  Example  one.tfrecords
      2  20,033  none           1  10,001  20,000  unknown  two.tfrecords

2 files
  records      5
  file         20,135 bytes (19.7 KiB)
  record size  1 to 20,000, median 18 bytes
  kind         mixed
  features     of all records
    label  int64  1 value  100 %
""")

    def test_empty_file(self):
        self.write("empty")
        self.assertEqual(self.run_it("info", "empty"), """\
empty
  records      0
  file         0 bytes
  compression  none
  record size  no records
  kind         unknown
""")

    def test_zero_length_records(self):
        self.write("zeros", b"", b"")
        self.assertEqual(self.run_it("info", "zeros"), """\
zeros
  records      2
  file         32 bytes
  compression  none
  record size  0 bytes each
  kind         Example
""")

    def test_the_sample_is_stated(self):
        self.write("many", *labelled(150))
        self.assertIn("  features     of the first 100 records\n", self.run_it("info", "many"))
        self.write("long", named_example({"a": [b"x" * (1 << 20)]}), *labelled(3))
        self.assertIn("  features     of the first record\n", self.run_it("info", "long"))

    def test_compressed(self):
        content = (self.folder / "examples.tfrecords").read_bytes()
        (self.folder / "z").write_bytes(zlib.compress(content))
        text = self.run_it("info", "z", *AS_EXAMPLES)
        self.assertIn("  compression  zlib\n  inflated     3,460 bytes\n", text)
        self.assertEqual(text[text.index("  record size"):],
                         EXAMPLES_TEXT[EXAMPLES_TEXT.index("  record size"):])

    def test_output_file(self):
        self.assertEqual(self.run_it("info", "examples.tfrecords", "-o", "answer", *AS_EXAMPLES), "")
        self.assertEqual((self.folder / "answer").read_text(), EXAMPLES_TEXT)


class InfoJson(TfrecordTest):
    def info(self, *arguments, status=0, **options):
        result = self.start("info", "--json", *arguments, **options)
        self.assertEqual(result.returncode, status, result.stderr)
        found = [json.loads(line) for line in result.stdout.splitlines()]
        return found if len(found) > 1 else found[0]

    def test_an_object_for_each_file(self):
        path = str(GOLDEN / "examples.tfrecords")
        self.assertEqual(self.info(path, *AS_EXAMPLES),
                         {"path": path, "compression": "none", "indexed": False, **COUNTS})
        *files, total = self.info(path, path, *AS_EXAMPLES)
        self.assertEqual(files, [self.info(path, *AS_EXAMPLES)] * 2)
        self.assertEqual(total, {"files": 2, "damaged": 0, "unreadable": 0, **COUNTS, "records": 20, "bytes": 2 * COUNTS["bytes"],
                                 "content_bytes": 2 * COUNTS["content_bytes"],
                                 "sampled_records": 20})

    def test_compressions(self):
        content = (GOLDEN / "examples.tfrecords").read_bytes()
        packed = {"gzip": gzip.compress(content), "zlib": zlib.compress(content)}
        for name, data in packed.items():
            (self.folder / name).write_bytes(data)
        *files, total = self.info("gzip", "zlib", *AS_EXAMPLES)
        for file, (name, data) in zip(files, packed.items()):
            self.assertEqual(file, {"path": name, "compression": name, "indexed": False, **COUNTS,
                                    "bytes": len(data)})
        self.assertEqual(total["records"], 20)
        self.assertEqual(total["content_bytes"], 6920)

    def test_zstd(self):
        found = self.info(DATA / "zstd" / "vectors.tfrecords.zst")
        self.assertEqual((found["compression"], found["records"]), ("zstd", 6))

    def test_standard_input(self):
        content = (GOLDEN / "examples.tfrecords").read_bytes()
        found = self.info("-", *AS_EXAMPLES, input=content)
        self.assertEqual(found, {"path": "-", "compression": "none", "indexed": False, **COUNTS})
        found = self.info("-", input=gzip.compress(content))
        self.assertEqual((found["compression"], found["records"]), ("gzip", 10))

    def test_index_that_fits(self):
        path = self.write("a", *labelled(50))
        (self.folder / "a.idx").write_text("".join(f"{34 * i} 34\n" for i in range(50)))
        found = self.info("a")
        self.assertEqual((found["indexed"], found["records"], found["record_sizes"]),
                         (True, 50, {"min": 18, "median": 18, "max": 18}))
        with open(path, "ab") as file:  # the index is older than the file
            file.write(record(b"more"))
        found = self.info("a")
        self.assertEqual((found["indexed"], found["records"]), (False, 51))

    def test_kinds(self):
        self.write("sequence", (GOLDEN / "sequences" / "steps.pb").read_bytes())
        event = struct.pack("<Bd", 9, 1599759586.0) + b"\x1a\x0dbrain.Event:2"
        self.write("event", event)
        self.write("unknown", b"neither", b"nor")
        self.write("mixed", event, b"text")
        self.write("with-empty", event, b"")
        *files, _ = self.info("sequence", "event", "unknown", "mixed", "with-empty")
        self.assertEqual([file["kind"] for file in files],
                         ["SequenceExample", "Event", "unknown", "mixed", "Event"])
        self.assertEqual(files[0]["feature_lists"], {
            "frames": {"kind": "bytes", "values": 1, "share": 1.0, "steps": 2},
            "words": {"kind": "int64", "values": {"min": 1, "max": 2}, "share": 1.0, "steps": 3}})

    def test_lists_of_several_kinds(self):
        self.write("a", named_example({"x": [1]}), named_example({"x": [1.5]}))
        self.assertEqual(self.info("a")["features"],
                         {"x": {"kind": "mixed", "values": 1, "share": 1.0}})

    def test_data_crcs_beyond_the_sample_are_not_looked_at(self):
        path = self.write("a", *labelled(200))
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        self.assertEqual(self.info("a")["records"], 200)


class InfoCsv(TfrecordTest):
    def test_a_row_for_each_file(self):
        self.write('a,"1"', b"x" * 30, b"y" * 10)
        (self.folder / "b.gz").write_bytes(gzip.compress(self.write("b").read_bytes()))
        text = self.run_it("info", "--format", "csv", 'a,"1"', "b", "b.gz")
        self.assertEqual(text, '''\
path,records,bytes,content_bytes,compression,min,median,max,kind,indexed,error
"a,""1""",2,72,72,none,10,20,30,unknown,false,
b,0,0,0,none,,,,unknown,false,
b.gz,0,20,0,gzip,,,,unknown,false,
''')

    def test_damage(self):
        self.write("a", b"x" * 30)
        with open(self.folder / "a", "ab") as file:
            file.write(b"no record")
        result = self.start("info", "--format", "csv", "a", "missing")
        self.assertEqual(result.returncode, 2)
        first, *rows = csv.DictReader(result.stdout.decode().splitlines(), strict=True)
        self.assertEqual(first["records"], "1")
        self.assertIn("truncated", first["error"])
        self.assertEqual((rows[0]["records"], rows[0]["compression"]), ("", ""))
        self.assertIn("No such file", rows[0]["error"])


class InfoDamage(TfrecordTest):
    def expect_damage(self, content, words, records, path="damaged"):
        (self.folder / path).write_bytes(content)
        result = self.start("info", "--json", path)
        self.assertEqual(result.returncode, 1)
        found = json.loads(result.stdout)
        self.assertIn(words, found["error"])
        self.assertTrue(found["error"].startswith(f"{path}: "), found["error"])
        self.assertEqual(found["records"], records)
        self.assertIn(words, result.stderr.decode())

    def test_every_kind(self):
        good = b"".join(map(record, labelled(3)))
        self.expect_damage(good + b"1234567", "truncated record at 102", 3)
        self.expect_damage(good + b"12345678901", "truncated record at 102", 3)
        self.expect_damage(good[:-10], "truncated record at 68", 2)
        self.expect_damage(good[:-2], "truncated record at 68", 2)
        flipped = bytearray(good)
        flipped[34] ^= 1
        self.expect_damage(flipped, "corrupted record at 34", 1)
        flipped = bytearray(good)
        flipped[52] ^= 1  # in the data: the record still counts
        self.expect_damage(flipped, "corrupted record at 34", 3)
        self.expect_damage(good + bytes(100), "corrupted record at 102", 3)
        self.expect_damage(good + b"garbage that is no record", "corrupted record at 102", 3)
        length = struct.pack("<Q", 2**64 - 1)
        self.expect_damage(good + length + struct.pack("<I", masked(length)) + b"x",
                           "a length of 18446744073709551615 bytes, more than any file has", 3)
        length = struct.pack("<Q", 1000)
        self.expect_damage(good + length + struct.pack("<I", masked(length)) + b"x",
                           "truncated record at 102", 3)
        self.expect_damage(gzip.compress(good)[:-9], "", 3)
        self.expect_damage(b"version https://git-lfs.github.com/spec/v1\n", "Git LFS", 0)

    def test_the_total_counts_damaged_files(self):
        good = b"".join(map(record, labelled(3)))
        for name, content in (("a", good), ("b", good[:-2]), ("c", good[:-1])):
            (self.folder / name).write_bytes(content)
        text = self.start("info", "a", "b", "c", "missing").stdout.decode()
        self.assertIn("\n4 files, 2 damaged, 1 unreadable\n", text)
        total = json.loads(self.start("info", "--json", "a", "b", "c", "missing")
                           .stdout.splitlines()[-1])
        self.assertEqual([total[name] for name in ("files", "damaged", "unreadable", "records")],
                         [4, 2, 1, 7])

    def test_what_was_counted_is_said_to_be_before_the_damage(self):
        good = b"".join(map(record, labelled(3)))
        for content, records in ((good[:-2], "2 (before the damage)"), (good, "3")):
            (self.folder / "a").write_bytes(content)
            text = self.start("info", "a").stdout.decode()
            self.assertEqual(text.splitlines()[1], f"  records      {records}")

    def test_the_others_are_counted(self):
        self.write("good", *labelled(2))
        (self.folder / "bad").write_bytes(b"x" * 20)
        result = self.start("info", "bad", "good")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"      2     68  none          18      18   18  Example  good\n",
                      result.stdout)
        self.assertIn(b"unknown  bad  (failed)\n", result.stdout)

    def test_what_is_unknown_is_null(self):
        self.write("good", *labelled(2))
        lost, _, total = self.json("info", "--json", "nofile", "good", status=2)
        self.assertEqual(total["records"], 2)
        self.assertIn("nofile", lost.pop("error"))
        self.assertEqual(lost, {
            "path": "nofile", "compression": None, "records": None, "bytes": None,
            "content_bytes": None, "record_sizes": None, "kind": None, "features": None,
            "sampled_records": None, "indexed": False})
        answer = self.json("info", "--json", "nofile", status=2)[0]
        self.assertEqual((answer["records"], answer["bytes"]), (None, None))

    def test_nothing_is_said_of_what_cannot_be_read(self):
        self.write("good", *labelled(2))
        self.assertEqual(self.start("info", "nofile").stdout, b"")
        self.assertEqual(self.start("info", "nofile", "good").stdout.decode().splitlines()[:3], [
            "records  bytes  compression  min  median  max  kind     file",
            "      ?      ?  ?              -       -    -  ?        nofile  (failed)",
            "      2     68  none          18      18   18  Example  good"])

    def test_what_cannot_be_opened(self):
        self.expect_failure("not there", "info", "not there")
        self.expect_failure("no file matches", "info", "nothing-*")
        self.expect_failure("", "info", ".")
        os.symlink("nowhere", self.folder / "link")
        self.expect_failure("link", "info", "link")
        self.expect_failure("corrupted record at 0", "info", "/dev/zero", status=1)

    def test_a_fifo_is_read_as_a_stream(self):
        os.mkfifo(self.folder / "fifo")
        content = b"".join(map(record, labelled(3)))
        with Started(["sh", "-c", "cat > fifo"], cwd=self.folder,
                     stdin=subprocess.PIPE) as writer:
            writer.stdin.write(content)
            writer.stdin.close()
            self.assertIn("  records      3\n", self.run_it("info", "fifo"))

    def test_names_that_are_no_text(self):
        path = os.fsencode(self.folder) + b"/new\nline\xff"
        with open(path, "wb") as file:
            file.write(record(example(a=int64_feature(1))))
        result = subprocess.run([os.environ["RECORDPIPE_TFRECORD"], "info", path],
                                capture_output=True, check=True)
        self.assertTrue(result.stdout.splitlines()[0].endswith(b"/new\\x0aline\\xff"))
        result = subprocess.run([os.environ["RECORDPIPE_TFRECORD"], "info", "--json", path],
                                capture_output=True, check=True)
        self.assertEqual(json.loads(result.stdout)["records"], 1)

    def test_no_crc(self):
        path = str(GOLDEN / "zero-crcs.tfrecords")
        self.expect_failure("corrupted record at 0", "info", path, status=1)
        self.assertIn("  records      6\n", self.run_it("info", "--no-crc", path))


class InfoUsage(TfrecordTest):
    def test_usage(self):
        self.assertEqual(self.start("info").returncode, 2)
        self.assertEqual(self.start("info", "-", "-").returncode, 2)
        self.assertIn("tfrecord info train.tfrecords", self.run_it("info", "--help"))


if __name__ == "__main__":
    unittest.main()
