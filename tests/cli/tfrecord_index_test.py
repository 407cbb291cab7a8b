"""Tests tfrecord index: DALI's index files, which are written for intact files only, and
checked."""
import gzip
import os
import shutil
import unittest
import zlib

from tfrecord_test_case import DATA, TfrecordTest, record
from damaged_files import CASES, THREE, flipped

THREE_INDEX = "0 21\n21 46\n67 21\n"


class Write(TfrecordTest):
    def test_golden(self):
        shutil.copy(DATA / "golden/vectors.tfrecords", self.folder)
        self.assertEqual(self.summary("index", "vectors.tfrecords"),
                         "vectors.tfrecords.idx: 6 records\n")
        self.assertEqual((self.folder / "vectors.tfrecords.idx").read_bytes(),
                         (DATA / "golden/vectors.tfrecords.idx").read_bytes())

    def test_several_files(self):
        (self.folder / "a-0").write_bytes(THREE)
        (self.folder / "a-1").write_bytes(b"")
        found = self.json("index", "--json", "a-?")
        self.assertEqual(found, [{"path": "a-0", "index": "a-0.idx", "records": 3},
                                 {"path": "a-1", "index": "a-1.idx", "records": 0}])
        self.assertEqual((self.folder / "a-0.idx").read_text(), THREE_INDEX)
        self.assertEqual((self.folder / "a-1.idx").read_text(), "")

    def test_indexes_beside_files_are_no_input_of_a_pattern(self):
        (self.folder / "a-0").write_bytes(THREE)
        (self.folder / "a-1").write_bytes(b"")
        self.run_it("index", "a-?")
        (self.folder / "a-2.idx").write_bytes(THREE)  # without an a-2, it may be a record file
        for command in (["verify"], ["index", "--check"]):
            found = self.json(*command, "--json", "a-[01]*")
            self.assertEqual([entry["path"] for entry in found], ["a-0", "a-1"], command)
        *found, total = self.json("info", "--json", "*")
        self.assertEqual([entry["path"] for entry in found], ["a-0", "a-1", "a-2.idx"])
        self.assertEqual(total["files"], 3)
        self.run_it("convert", "a-[01]*", "-o", "b")
        self.assertEqual((self.folder / "b").read_bytes(), THREE)
        found, = self.json("info", "--json", "a-0", "a-0.idx")  # as a shell's pattern names it
        self.assertEqual(found["path"], "a-0")
        self.expect_failure("a-0.idx", "info", "a-0.idx", status=1)

    def test_many_records_on_many_threads(self):
        sizes = [i * 7 % 5000 for i in range(4000)]
        self.write("a", *[bytes(size) for size in sizes])
        lines, start = [], 0
        for size in sizes:
            lines.append(f"{start} {size + 16}\n")
            start += size + 16
        for threads in (1, 2, 5):
            self.assertEqual(self.run_it("index", "a", "-o", "-", "--threads", threads),
                             "".join(lines))

    def test_other_places(self):
        (self.folder / "a").write_bytes(THREE)
        self.assertEqual(self.run_it("index", "a", "-o", "-"), THREE_INDEX)
        self.run_it("index", "a", "-o", "b")
        self.assertEqual((self.folder / "b").read_text(), THREE_INDEX)
        self.run_it("index", "-", "-o", "c", input=THREE)
        self.assertEqual((self.folder / "c").read_text(), THREE_INDEX)

    def test_damaged_files_get_none(self):
        for name, (content, _, regions) in CASES.items():
            if not regions or content[:2] == b"\x1f\x8b":
                continue
            with self.subTest(name):
                (self.folder / "a").write_bytes(content)
                message = self.run_it("index", "a", status=2)
                self.assertTrue(message.startswith(f"tfrecord index: a: {regions[0][2]}"), message)
                self.assertIn(f" at {regions[0][0]}", message)
                self.assertEqual(os.listdir(self.folder), ["a"])

    def test_an_index_that_is_there_stays_where_the_file_is_damaged(self):
        (self.folder / "a").write_bytes(flipped(THREE, 100))
        (self.folder / "a.idx").write_text("old")
        self.run_it("index", "a", status=2)
        self.assertEqual((self.folder / "a.idx").read_text(), "old")

    def test_compressed_files_are_refused(self):
        for compress in (gzip.compress, zlib.compress):
            (self.folder / "a").write_bytes(compress(THREE))
            self.expect_failure("compressed with", "index", "a")
            self.expect_failure("compressed with", "index", "--check", "a")
            self.expect_failure("compressed with", "index", "-", "-o", "b", input=compress(THREE))
        self.assertEqual(os.listdir(self.folder), ["a"])

    def test_the_others_get_theirs(self):
        (self.folder / "a").write_bytes(b"damaged")
        (self.folder / "b").write_bytes(THREE)
        self.run_it("index", "a", "missing", "b", status=2)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a", "b", "b.idx"])

    def test_usage(self):
        (self.folder / "a").write_bytes(THREE)
        for arguments in ((), ("-",), ("a", "a", "-o", "b"), ("a", "-o", "-", "--json"),
                          ("--check", "-"), ("http://127.0.0.1:9/a",)):
            self.assertEqual(self.start("index", *arguments, input=THREE).returncode, 2, arguments)


class Check(TfrecordTest):
    def setUp(self):
        super().setUp()
        (self.folder / "a").write_bytes(THREE)
        self.run_it("index", "a")

    def test_it_fits(self):
        self.assertEqual(self.run_it("index", "--check", "a"), "a.idx: matches a, 3 records\n")
        self.assertEqual(self.json("index", "--check", "--json", "a"),
                         [{"path": "a", "index": "a.idx", "records": 3}])
        os.rename(self.folder / "a.idx", self.folder / "b")
        self.run_it("index", "--check", "a", "-o", "b")

    def test_the_file_is_newer(self):
        for content in (b"", THREE[:67], THREE + record(b"more"), THREE[:-1],
                        record(b"first") + record(b"third") + record(b"z" * 30)):
            (self.folder / "a").write_bytes(content)
            self.expect_failure("recreate it", "index", "--check", "a", status=1)

    def test_it_is_no_index(self):
        for text in ("0 21\n21 46\n", "0 21\n21 46\n67 22\n", "nonsense\n", "0 21\n21 46\n67 21",
                     "0 20\n", THREE_INDEX + "88 16\n"):
            (self.folder / "a.idx").write_text(text)
            self.expect_failure("a.idx: ", "index", "--check", "a", status=1)

    def test_a_fifo_beside_a_file_is_no_index(self):
        os.remove(self.folder / "a.idx")
        os.mkfifo(self.folder / "a.idx")
        self.expect_failure("a.idx: not a regular file", "index", "a")
        self.expect_failure("a.idx: not a regular file", "index", "--check", "a")
        self.assertEqual(self.json("info", "--json", "a")[0]["indexed"], False)
        self.run_it("show", "a", "--range", "1:2")
        self.assertEqual(sorted(os.listdir(self.folder)), ["a", "a.idx"])

    def test_an_index_that_comes_through_a_pipe(self):
        for name in ("/dev/stdin", "-"):
            self.run_it("index", "--check", "a", "-o", name, input=THREE_INDEX.encode())

    def test_there_is_none(self):
        os.remove(self.folder / "a.idx")
        self.expect_failure("No such file", "index", "--check", "a")


if __name__ == "__main__":
    unittest.main()
