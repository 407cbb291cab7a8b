#!/usr/bin/env python3
"""Tests tfrecord head and tail."""
import gzip
import json
import os
import signal
import subprocess
import unittest

from tfrecord_test_case import PROGRAM, TfrecordTest, named_example, record


class Ends(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.write("a", *(named_example({"id": [i]}) for i in range(15)))
        self.write("b", *(named_example({"id": [100 + i]}) for i in range(2)))
        (self.folder / "z.gz").write_bytes(gzip.compress((self.folder / "a").read_bytes()))

    def ids(self, *arguments):
        return [record["features"]["id"][0] for record in self.json(*arguments, "--json")]


class Head(Ends):
    def test_the_first_of_each_file(self):
        for file in ("a", "z.gz"):
            self.assertEqual(self.ids("head", file), list(range(10)))
            self.assertEqual(self.ids("head", "-n", "3", file), [0, 1, 2])
            self.assertEqual(self.ids("head", "-n", "99", file), list(range(15)))
            self.assertEqual(self.ids("head", "-n", "0", file), [])
        self.assertEqual(self.ids("head", "-n", "1", "a", "b", "z.gz"), [0, 100, 0])

    def test_a_number_is_no_file(self):
        self.write("-2", named_example({"id": [7]}))
        self.assertEqual(self.ids("head", "-2", "a"), [0, 1])
        self.assertEqual(self.ids("tail", "-2", "a"), [13, 14])
        self.assertEqual(self.ids("head", "./-2"), [7])
        for arguments in (["head", "a", "-2"], ["show", "-2", "a"], ["count", "a", "-2"],
                          ["diff", "-2", "a"]):
            with self.subTest(arguments):
                self.assertIn("-2 is no option; a file of this name is ./-2",
                              self.run_it(*arguments, status=2))

    def test_as_show(self):
        self.assertEqual(self.run_it("head", "-n", "2", "a"),
                         self.run_it("show", "--limit", "2", "a"))
        self.assertEqual(self.run_it("head", "-n", "99", "--json", "a", "b"),
                         self.run_it("show", "--json", "a", "b"))

    def test_where(self):
        for file in ("a", "z.gz"):
            self.assertEqual(self.ids("head", "-n", "3", "--where", "id >= 4", file), [4, 5, 6])
            self.assertEqual(self.ids("head", "--where", "id > 12", file), [13, 14])
            self.assertEqual(self.ids("head", "-n", "0", "--where", "id > 12", file), [])
        self.assertEqual(self.ids("head", "-n", "1", "--where", "id > 7", "a", "b"), [8, 100])
        self.assertEqual(self.run_it("head", "-n", "2", "--where", "id > 7", "a"),
                         self.run_it("show", "--limit", "2", "--where", "id > 7", "a"))
        self.expect_failure("--where names idd", "head", "--where", "idd == 1", "a")

    def test_headings(self):
        one = self.run_it("head", "-n", "1", "a")
        two = self.run_it("head", "-n", "1", "b")
        self.assertEqual(self.run_it("head", "-n", "1", "a", "b"),
                         f"==> a <==\n{one}\n==> b <==\n{two}")
        self.assertEqual(self.run_it("head", "-q", "-n", "1", "a", "b"), one + two)

    def test_damage_behind_the_last_record(self):
        with open(self.folder / "a", "ab") as file:
            file.write(b"no record")
        self.assertEqual(self.ids("head", "-n", "15", "a"), list(range(15)))
        self.run_it("head", "-n", "16", "a", status=2)

    def test_goes_on_after_what_cannot_be_read(self):
        result = self.start("head", "-n", "1", "missing", "b")
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"record 0 at 0", result.stdout)
        result = self.start("head", "a", "--feature", "idd")
        self.assertEqual((result.returncode, result.stderr), (
            0, b"tfrecord head: no record that was read has a feature named idd; there is id; "
            b"did you mean id?\n"))


class Tail(Ends):
    def test_the_last_of_each_file(self):
        for file in ("a", "z.gz"):
            self.assertEqual(self.ids("tail", file), list(range(5, 15)))
            self.assertEqual(self.ids("tail", "-n", "3", file), [12, 13, 14])
            self.assertEqual(self.ids("tail", "-n", "99", file), list(range(15)))
            self.assertEqual(self.ids("tail", "-n", "0", file), [])
        self.assertEqual(self.ids("tail", "-n", "1", "a", "b", "z.gz"), [14, 101, 14])
        self.run_it("index", "a")
        self.assertEqual(self.ids("tail", "-n", "2", "a"), [13, 14])

    def test_where(self):
        for file in ("a", "z.gz"):
            self.assertEqual(self.ids("tail", "-n", "3", "--where", "id < 9", file), [6, 7, 8])
            self.assertEqual(self.ids("tail", "--where", "id < 2", file), [0, 1])
        self.assertEqual(self.ids("tail", "-n", "1", "--where", "id < 110", "a", "b"), [14, 101])
        self.assertEqual(self.run_it("tail", "-n", "2", "--where", "id < 9", "a"),
                         self.run_it("show", "--range", "7:9", "a"))
        self.assertEqual(self.run_it("tail", "--where", 'record.path == "b"', "-q", "a", "b"),
                         self.run_it("show", "b"))
        self.expect_failure("--where names idd", "tail", "--where", "idd == 1", "a")

    def test_numbers_and_offsets(self):
        expected = self.run_it("show", "a", "--range", "13:")
        self.assertEqual(self.run_it("tail", "-n", "2", "a"), expected)
        self.assertEqual(self.run_it("tail", "-n", "2", "z.gz"), expected)
        result = self.start("tail", "-n", "2", "-", input=(self.folder / "a").read_bytes())
        self.assertEqual(result.stdout.decode(), expected)

    def test_reads_only_headers_before_them(self):
        data = bytearray((self.folder / "a").read_bytes())
        data[20] ^= 1  # in the data of the first record
        (self.folder / "a").write_bytes(data)
        self.assertEqual(self.ids("tail", "-n", "2", "a"), [13, 14])
        self.run_it("tail", "-n", "15", "a", status=2)


class Follow(Ends):
    """Each line that is read is an event to wait for; nothing here depends on time."""

    def follow(self, *arguments):
        process = subprocess.Popen([PROGRAM, "tail", "--follow", "--json", *arguments],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def next_ids(self, process, count):
        return [json.loads(process.stdout.readline())["features"]["id"][0] for _ in range(count)]

    def append(self, data):
        with open(self.folder / "a", "ab") as file:
            file.write(data)

    def test_records_that_are_appended(self):
        process = self.follow("-n", "2", "a")
        self.assertEqual(self.next_ids(process, 2), [13, 14])
        new = [record(named_example({"id": [i]})) for i in range(15, 20)]
        self.append(new[0] + new[1][:7])
        self.assertEqual(self.next_ids(process, 1), [15])
        self.append(new[1][7:20])
        self.append(new[1][20:] + new[2])
        self.assertEqual(self.next_ids(process, 2), [16, 17])
        process.send_signal(signal.SIGINT)
        output, error = process.communicate()
        self.assertEqual((process.returncode, output), (130, b""), error)

    def test_a_file_without_records_and_a_selection(self):
        (self.folder / "a").write_bytes(b"")
        process = self.follow("--where", "id >= 3", "a")
        self.append(b"".join(record(named_example({"id": [i]})) for i in (1, 5, 2, 4)))
        self.assertEqual(self.next_ids(process, 2), [5, 4])

    def test_what_no_record_has_is_noted_before_it_waits(self):
        process = self.follow("--where", "nosuch == 3", "a")
        self.assertEqual(process.stderr.readline(), b"tfrecord tail: --where names nosuch, which no "
                         b"record that was read has; there is id\n")
        (self.folder / "b").write_bytes(b"")
        process = self.follow("--tag", "nosuch", "b")
        (self.folder / "b").write_bytes((self.folder / "a").read_bytes())
        self.assertIn(b"is an Event of TensorBoard", process.stderr.readline())

    def test_the_last_selected_ones(self):
        process = self.follow("-n", "2", "--where", "id < 9", "a")
        self.assertEqual(self.next_ids(process, 2), [7, 8])

    def test_damage_and_a_smaller_file(self):
        for data, message in ((bytes(100), b"corrupted record"), (None, b"has become smaller")):
            whole = (self.folder / "a").read_bytes()
            process = self.follow("-n", "1", "a")
            self.next_ids(process, 1)
            if data:
                self.append(data)
            else:
                os.truncate(self.folder / "a", 20)
            error = process.communicate()[1]
            self.assertEqual(process.returncode, 2, error)
            self.assertIn(message, error)
            (self.folder / "a").write_bytes(whole)

    def test_another_file_in_its_place(self):
        records = [record(named_example({"id": [i]})) for i in range(100, 130)]
        for count in (15, 30):
            process = self.follow("-n", "1", "a")
            self.next_ids(process, 1)
            (self.folder / "new").write_bytes(b"".join(records[:count]))
            os.replace(self.folder / "new", self.folder / "a")
            error = process.communicate()[1]
            self.assertEqual(process.returncode, 2, error)
            self.assertIn(b"was removed, replaced or rewritten", error)
            records.reverse()

    def test_what_cannot_be_followed(self):
        for arguments, message in (
                (["z.gz"], "--follow is for an uncompressed file of this machine"),
                (["-"], "--follow is for an uncompressed file of this machine"),
                (["http://localhost:1/a"], "--follow is for an uncompressed file of this machine"),
                (["a", "b"], "--follow is for one file"), (["a", "-o", "out"], "standard output"),
                (["missing"], "No such file")):
            with self.subTest(arguments):
                error = self.run_it("tail", "-f", *arguments, status=2, input=b"")
                self.assertIn(message, error)
        self.assertIn("-f", self.run_it("head", "-f", "a", status=2))


del Ends


if __name__ == "__main__":
    unittest.main()
