#!/usr/bin/env python3
"""Tests what show and export do with TensorBoard's event files: --tag, --step, scalars as CSV."""
import csv
import json
import math
import struct
import unittest

from tfrecord_test_case import TfrecordTest, named_example, record
from example_bytes import field, varint


def event(step, *values, time=1.5):
    """An Event of event.proto; `values` are serialised Summary.Values."""
    summary = b"".join(field(1, value) for value in values)
    return b"\x09" + struct.pack("<d", time) + b"\x10" + varint(step) + field(5, summary)


def simple(tag, value):
    return field(1, tag.encode()) + b"\x15" + struct.pack("<f", value)


def tensor(tag, type, content=b"", lists=b"", shape=()):
    sizes = b"".join(field(2, b"\x08" + varint(size)) for size in shape)
    body = b"\x08" + varint(type) + field(2, sizes) + (field(4, content) if content else b"") + lists
    return field(1, tag.encode()) + field(8, body)


class Events(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.write(
            "events", b"\x09" + struct.pack("<d", 1) + field(3, b"brain.Event:2"),
            event(0, simple("loss", 2.5), simple("loss/val", 3), simple("rate", 0.1)),
            event(10, simple("loss", 1.25), tensor("note", 7, lists=field(8, b"a") + field(8, b"b"),
                                                   shape=(2,))),
            event(20, tensor("half", 19, struct.pack("<e", -0.5)),
                  tensor("brain", 14, struct.pack("<f", 3.0)[2:]),
                  tensor("flag", 10, lists=field(11, b"\x01")),
                  tensor("many", 1, struct.pack("<2f", 1, 2), shape=(2,))))

    def summaries(self, *arguments):
        return [(line["event"]["step"], {value["tag"]: value.get("value", value.get("text"))
                                         for value in line["event"].get("summary", [])})
                for line in self.json("show", "events", "--json", *arguments)]

    def test_types_of_tensors(self):
        self.assertEqual(self.summaries()[2:], [
            (10, {"loss": 1.25, "note": ["a", "b"]}),
            (20, {"half": -0.5, "brain": 3, "flag": 1, "many": None})])
        text = self.run_it("show", "events")
        self.assertRegex(text, r'"note" +"a", "b"')
        self.assertRegex(text, r'"brain" +3')

    def test_tensors_of_several_numbers(self):
        wide = struct.pack("<3q", 1, -2, 2**53 + 1)
        self.write("events", event(
            1, tensor("grid", 2, struct.pack("<4d", 1, 2.5, 3, float("nan")), shape=(2, 2)),
            tensor("wide", 9, wide, shape=(3,)), tensor("none", 1, shape=(0, 3)),
            tensor("same", 3, lists=field(7, varint(5)), shape=(20,)),
            tensor("huge", 3, lists=field(7, varint(5)), shape=(1 << 20, 256)),
            tensor("complex", 8, bytes(16), shape=(2,))))
        shown = self.run_it("show", "events", "--json")
        for numbers in ("[1, -2, 9007199254740993]", "[5, 5, ", "[1.0, 2.5, 3.0"):
            self.assertIn(f'"values": {numbers}', shown)  # integers have no point
        values = json.loads(shown.splitlines()[0])["event"]["summary"]
        self.assertTrue(math.isnan(values[0]["values"].pop()))
        self.assertEqual(values, [
            {"tag": "grid", "dtype": "float64", "shape": [2, 2], "values": [1, 2.5, 3]},
            {"tag": "wide", "dtype": "int64", "shape": [3], "values": [1, -2, 2**53 + 1]},
            {"tag": "none", "dtype": "float32", "shape": [0, 3], "values": []},
            {"tag": "same", "dtype": "int32", "shape": [20], "values": [5] * 20},
            {"tag": "huge", "dtype": "int32", "shape": [1 << 20, 256], "values": None},
            {"tag": "complex", "dtype": "complex64", "shape": [2], "values": None}])
        text = self.run_it("show", "events")
        self.assertRegex(text, r'"grid" +float64 \[2, 2\]: 1, 2.5, 3, nan\n')
        self.assertRegex(text, r'"wide" +int64 \[3\]: 1, -2, 9007199254740993\n')
        self.assertRegex(text, r'"same" +int32 \[20\]: 5(, 5){7}, ... \(20 values\)\n')
        self.assertRegex(text, r'"huge" +int32 \[1048576, 256\]\n')

    def test_tags_and_steps(self):
        self.assertEqual(self.summaries("--tag", "loss"), [(0, {"loss": 2.5}), (10, {"loss": 1.25})])
        self.assertEqual(self.summaries("--tag", "loss*", "--tag", "half", "--step", "0:11"),
                         [(0, {"loss": 2.5, "loss/val": 3}), (10, {"loss": 1.25})])
        for steps, expected in (("10", [10]), ("10:", [10, 20]), (":10", [0, 0]), ("11:20", [])):
            self.assertEqual([step for step, _ in self.summaries("--step", steps)], expected)
        text = self.run_it("show", "events", "--tag", "rate")
        self.assertIn('"rate"', text)
        self.assertNotIn("loss", text)
        for steps in ("x", "1:2:3", "1.5", "--"):
            self.assertIn("invalid --step", self.run_it("show", "events", f"--step={steps}", status=2))

    def rows(self, *arguments):
        self.run_it("export", "events", "-o", "out.csv", *arguments)
        with open(self.folder / "out.csv", newline="") as file:
            return list(csv.reader(file))

    def test_a_tag_that_no_value_has(self):
        for command in ["show"], ["head"], ["export", "--to", "scalars", "-o", "out.csv"]:
            for more, words in ([], "no value (that was read )?has the tag nope"), (["--limit", "2"], "no value that was read"):
                if "head" in command and more:
                    continue
                with self.subTest(command=command, more=more):
                    result = self.start(*command, "events", "--tag", "loss", "--tag", "nope*", *more)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertRegex(result.stderr.decode(), f"tfrecord {command[0]}: {words}.*; there are .*rate")
            result = self.start(*command, "events", "--tag", "los*", "--step", "99")
            self.assertNotIn(b"no value", result.stderr)

    def test_records_that_are_no_events(self):
        (self.folder / "examples").write_bytes(record(named_example({"id": [1]})))
        for command in "show", "head", "tail":
            for selection in ["--tag", "loss"], ["--step", "3"]:
                with self.subTest(command=command, selection=selection):
                    result = self.start(command, "examples", *selection)
                    self.assertEqual(result.returncode, 0)
                    self.assertRegex(result.stderr.decode(), f"tfrecord {command}: no record (that was "
                                     "read )?is an Event of TensorBoard")
                    self.assertEqual(self.start(command, "events", "examples", *selection).stderr, b"")

    def test_export_recommends_scalars(self):
        for name in "out.csv", "out.npz", "out/", "out.tar":
            error = self.run_it("export", "events", "-o", name, status=2)
            self.assertRegex(error, r"is an Event of TensorBoard.*--to scalars", name)

    def test_files_follow_a_tag(self):
        self.write("more", event(30, simple("loss", 7)))
        shown = self.json("show", "events", "--tag", "loss", "more", "--json")
        self.assertEqual([line["event"]["step"] for line in shown], [0, 10, 30])
        shown = self.json("tail", "--tag", "loss*", "more", "--json")
        self.assertEqual([line["event"]["step"] for line in shown], [30])
        csv_text = self.run_it("export", "--to", "scalars", "--tag", "loss", "events", "more",
                               "-o", "-")
        self.assertEqual(len(csv_text.splitlines()), 4)

    def test_scalars(self):
        header = ["wall_time", "step", "tag", "value"]
        self.assertEqual(self.rows("--to", "scalars"), [
            header, ["1.5", "0", "loss", "2.5"], ["1.5", "0", "loss/val", "3"],
            ["1.5", "0", "rate", "0.1"], ["1.5", "10", "loss", "1.25"], ["1.5", "20", "half", "-0.5"],
            ["1.5", "20", "brain", "3"], ["1.5", "20", "flag", "1"]])
        for arguments in (["--to", "scalars", "-o", "out.tsv"], ["--tag", "*", "-o", "out.tsv"],
                          ["--to", "tsv", "--tag", "*", "-o", "out"],
                          ["--to", "scalars", "--delimiter", "\t", "-o", "out.csv"]):
            self.run_it("export", "events", *arguments)
            text = (self.folder / arguments[arguments.index("-o") + 1]).read_text()
            self.assertEqual(text.splitlines()[0].split("\t"), header)
        notes = self.notes("export", "events", "-o", "out.csv", "--to", "scalars")
        options = ["-o", "out.csv", "--to", "scalars", "--json"]
        message = self.start("export", "events", *options[:-1]).stderr
        self.assertIn(b"wrote 7 rows to out.csv", message)
        self.assertEqual(self.json("export", "events", *options)[0],
                         {"path": "out.csv", "format": "scalars", "records": 4, "rows": 7})
        self.assertIn("left out 2 values that are no scalar", notes)
        self.assertEqual(self.rows("--tag", "loss*", "--step", "0:5"),
                         [header, ["1.5", "0", "loss", "2.5"], ["1.5", "0", "loss/val", "3"]])
        self.assertEqual(self.notes("export", "events", "-o", "out.csv", "--tag", "loss"), "")
        self.expect_failure("--tag and --step are for --to scalars", "export", "events", "-o",
                            "out.jsonl", "--tag", "loss")
        self.write("examples", named_example({"a": [1]}))
        self.expect_failure("record 0 is not an Event", "export", "examples", "-o", "x.csv", "--tag",
                            "loss")

    def test_events_with_fields_of_others(self):
        self.write("events", event(0, simple("loss", 0.5)) + b"\x9a\x06\x01x")
        for words in ("record 0 is an Event except for field 99 of an Event (", "--kind event reads"):
            self.expect_failure(words, "export", "events", "-o", "out.csv", "--to", "scalars")
        self.assertEqual(self.rows("--to", "scalars", "--kind", "event")[1][2:], ["loss", "0.5"])

    def test_large_integers_keep_their_digits(self):
        numbers = [2**27, 2**53, 2**53 + 1, -2**63, 2**64 - 1]
        self.write("events", event(0, *[
            tensor("n", 9 if number < 2**63 else 23, (number % 2**64).to_bytes(8, "little"))
            for number in numbers]))
        self.assertEqual([int(row[3]) for row in self.rows("--to", "scalars")[1:]], numbers)
        self.assertEqual([value["value"] for value in
                          self.json("show", "events", "--json")[0]["event"]["summary"]], numbers)


if __name__ == "__main__":
    unittest.main()
