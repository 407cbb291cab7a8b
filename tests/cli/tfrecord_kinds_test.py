#!/usr/bin/env python3
"""Tests that no data of a record is lost because it is taken for another type of message."""
import base64
import json
import unittest

from tfrecord_test_case import (TfrecordTest, bytes_feature, example, int64_feature,
                                named_example)

from example_bytes import field, varint  # tfrecord_test_case knows where

NAME = b"12306251798468767010_560_000_580_000"
EXAMPLE = named_example({"label": [3], "name": ["cat"]})
EXTENDED = EXAMPLE + field(5, b"more")  # an Example of a schema with an extension
PLACE = len(EXAMPLE)
WHY = f"an Example except for field 5 of an Example (byte {PLACE})"


def frame(image):
    """A frame of a driving data set: a context with a name, a time, images."""
    context = field(1, NAME)
    return (field(1, context) + b"\x10" + varint(1507678826875435)
            + field(4, b"\x08\x01" + field(2, image)))


def example_list(*examples, context=None):
    """An ExampleListWithContext."""
    return (b"".join(field(1, one) for one in examples)
            + (b"" if context is None else field(2, context)))


LIST = example_list(named_example({"clicks": [1], "price": [0.5]}),
                    named_example({"price": [2.0, 4.0]}),
                    context=named_example({"query": ["shoes"]}))


class OtherMessages(TfrecordTest):
    # The name parses as fields of a map entry.
    WHY = "an Example except for field 6 of a map entry (byte 4)"

    def setUp(self):
        super().setUp()
        self.write("a", frame(b"first image"))
        self.write("b", frame(b"other image"))

    def test_diff_sees_every_byte(self):
        self.assertEqual(self.start("diff", "a", "a").returncode, 0)
        text = self.start("diff", "a", "b")
        self.assertEqual(text.returncode, 1)
        self.assertIn("1 of 1 record differ", text.stdout.decode())
        *differences, _ = self.json("diff", "a", "b", "--json", status=1)
        self.assertEqual([one["difference"] for one in differences], ["bytes"])

    def test_export_keeps_all_or_refuses(self):
        self.summary("export", "a", "-o", "a.jsonl")
        line = json.loads((self.folder / "a.jsonl").read_text())
        self.assertEqual(base64.b64decode(line["payload"]["base64"]), frame(b"first image"))
        self.summary("create", "a.jsonl", "-o", "again")
        self.assertEqual(self.start("diff", "a", "again").returncode, 0)
        for name in ("c.csv", "c.npz", "c.tar", "c/"):
            with self.subTest(name=name):
                self.assertIn(f"record 0 is {self.WHY}", self.run_it("export", "a", "-o", name, status=2))
                self.assertFalse((self.folder / name).exists())

    def test_is_unknown_everywhere(self):
        self.assertEqual(self.json("show", "a", "--json")[0].keys(),
                         {"record", "offset", "undecided", "payload"})
        self.assertEqual(self.json("schema", "a", "--json")[0]["kind"], "unknown")
        self.assertIn("1 of them no Example", self.run_it("stats", "a"))
        self.assertEqual(self.json("info", "a", "--json")[0]["kind"], "unknown")

    def test_edits_refuse(self):
        error = self.run_it("convert", "a", "-o", "c", "--rename", "x=y", status=2)
        self.assertIn(f"neither an Example nor a SequenceExample (but {self.WHY})", error)
        self.write("c", b"\x08\x01")
        error = self.run_it("convert", "c", "-o", "d", "--rename", "x=y", status=2)
        self.assertIn("neither an Example nor a SequenceExample (but unknown)", error)


class Undecided(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.write("a", EXAMPLE, EXTENDED)
        self.write("b", EXAMPLE, EXAMPLE + field(5, b"less"))

    def test_says_why(self):
        known, undecided = self.json("show", "a", "--json")
        self.assertIn("features", known)
        self.assertEqual(undecided["undecided"], WHY)
        self.assertIn(f"unknown ({WHY}), {len(EXTENDED)} bytes", self.run_it("show", "a"))
        expected = {"records": 1, "first": WHY}
        for command in ("schema", "stats", "info"):
            with self.subTest(command=command):
                self.assertEqual(self.json(command, "a", "--json")[0]["undecided"], expected)
                self.assertIn(f"undecided: 1 record, the first {WHY}; --kind",
                              self.run_it(command, "a"))
        self.run_it("view", "a", "-o", "a.html")
        self.assertIn(WHY, (self.folder / "a.html").read_text())

    def test_diff(self):
        *differences, _ = self.json("diff", "a", "b", "--json", status=1)
        self.assertEqual([(one["record"], one["difference"]) for one in differences],
                         [(1, "bytes")])
        # Also where the kind is given: the features are equal, the field isn't.
        *differences, _ = self.json("diff", "a", "b", "--json", "--kind", "example", status=1)
        self.assertEqual([(one["record"], one["difference"]) for one in differences],
                         [(1, "bytes")])

    def test_edits_and_exports_keep_or_refuse(self):
        self.assertIn(f"(but {WHY})",
                      self.run_it("convert", "a", "-o", "c", "--rename", "label=id", status=2))
        error = self.run_it("convert", "a", "-o", "c", "--rename", "label=id", "--kind", "example",
                            status=2)
        self.assertIn("the edit would lose field 5 of an Example", error)
        self.assertIn(f"record 1 is {WHY}",
                      self.run_it("export", "a", "-o", "a.csv", status=2))
        for name in ("a.csv", "a.jsonl"):
            error = self.run_it("export", "a", "-o", name, "--kind", "example", status=2)
            self.assertIn(f"a: the export would lose field 5 of an Example (byte {PLACE} of the "
                          f"record) in the record at {PLACE + 16} (", error)
            self.assertFalse((self.folder / name).exists())

    def test_export_of_images_names_the_reason(self):
        self.write("c", EXTENDED)
        for arguments in ([], ["--image", "image"]):
            error = self.run_it("export", "c", "--to", "images", "-o", "folder", *arguments, status=2)
            self.assertIn("is " + WHY, error)

    def test_kind_given_by_hand(self):
        lines = self.json("show", "a", "--json", "--kind", "example")
        self.assertEqual([line["features"]["label"] for line in lines], [[3], [3]])
        self.assertEqual(self.json("schema", "a", "--json", "--kind", "example")[0]["kind"],
                         "Example")
        for command in ("count", "show", "grep"):
            arguments = ["a", "--where", "label == 3"] if command != "grep" else ["label == 3", "a"]
            found = self.run_it(command, *arguments, "--kind", "example")
            self.assertNotEqual(found, self.run_it(command, *arguments), command)
        # The other way: an Example that is none.
        self.assertEqual(self.json("show", "a", "--json", "--kind", "unknown")[0].keys(),
                         {"record", "offset", "payload"})
        self.summary("convert", "a", "-o", "c", "--where", "label == 3", "--kind", "example")
        self.assertEqual((self.folder / "c").read_bytes(), (self.folder / "a").read_bytes())

    def test_of_other_messages(self):
        bad_key = named_example({"a": [1]}).replace(b"a", b"\xff")
        for message, why in (
                (LIST + field(7, b"x"), "an ExampleListWithContext except for field 7 of an Exa"),
                (LIST + field(2, b""), "an ExampleListWithContext except for a second context"),
                (LIST + field(1, EXTENDED), "an ExampleListWithContext except for field 5 of an "),
                (bad_key, "an Example except for a key that is not UTF-8 (byte 4)")):
            self.write("c", message)
            with self.subTest(why):
                self.assertIn(f"unknown ({why}", self.run_it("show", "c"))
                self.assertIn(f"undecided: 1 record, the first {why}", self.run_it("schema", "c"))

    def test_where_counts_them(self):
        self.write("a", EXAMPLE, EXTENDED, EXAMPLE, EXTENDED)
        expected = (": 2 records are of no known kind, and {} finds no features in them, for "
                    f"example {WHY}; --kind says what they are")
        for arguments in (["convert", "a", "-o", "c"], ["count", "a"], ["show", "a"], ["stats", "a"],
                          ["schema", "a"], ["head", "a"], ["tail", "a"], ["grep", "a"],
                          ["view", "a", "-o", "a.html"],
                          *[["export", "a", "-o", name]
                            for name in ("a.csv", "a.jsonl", "a.npz", "a.tar")]):
            with self.subTest(arguments=arguments):
                name = "EXPR" if arguments[0] == "grep" else "--where"
                command = (["grep", "label == 3", "a"] if name == "EXPR"
                           else [*arguments, "--where", "label == 3"])
                notes = self.start(*command).stderr.decode()
                self.assertEqual(notes.count("no known kind"), 1, notes)
                self.assertIn(f"tfrecord {arguments[0]}" + expected.format(name), notes)
        by_hand = self.start("count", "a", "--where", "label == 3", "--kind", "example")
        self.assertEqual((by_hand.stdout, by_hand.stderr), (b"4  a\n", b""))
        self.write("raw", b"foo", b"bar")
        self.assertEqual(self.start("count", "raw", "--where", "has(a)").stderr.decode(),
                         "tfrecord count: 2 records are of no known kind, and --where finds no "
                         "features in them\n")
        self.assertEqual(self.start("count", "raw", "--where", "record.size > 2").stderr, b"")
        self.assertIn("(2 records are of no known kind",
                      self.run_it("count", "raw", "--where", "a > 2", status=2))

    def test_values_that_a_later_one_replaces(self):
        """Protobuf's parser takes the last of two features with a name."""
        self.write("c", example(a=int64_feature(1)) + example(a=int64_feature(2)))
        self.assertEqual(self.json("show", "c", "--json")[0]["undecided"],
                         'an Example except for a second feature "a" (byte 6)')
        self.assertEqual(self.json("show", "c", "--json", "--kind", "example")[0]["features"],
                         {"a": [2]})
        self.refuse_to_lose("c", 'a second feature "a"', 6)

    def refuse_to_lose(self, path, what, byte):
        """Exports, and edits with --kind example, of a record of which a parser loses something."""
        for arguments in (["convert", "-o", "out", "--rename", "a=b", "--kind", "example"],
                          *[["export", "-o", name, "--kind", "example"]
                            for name in ("out.jsonl", "out.csv", "out.npz", "out.tar")],
                          *[["export", "-o", name] for name in ("out.csv", "out.npz", "out.tar")]):
            with self.subTest(arguments=arguments):
                error = self.run_it(*arguments, path, status=2)
                self.assertIn(what, error)
                self.assertIn(f"byte {byte}", error)
                self.assertFalse((self.folder / arguments[2]).exists())

    def test_entries_with_values_of_two_kinds(self):
        """The parser merges the Features of an entry, and the list of the last kind remains."""
        def features(value):
            entry = field(1, b"a") + field(2, bytes_feature(value)) + field(2, int64_feature(9))
            return field(1, field(1, entry))
        what = "a Feature with lists of several kinds"
        lists = field(2, field(1, field(1, b"l") + field(2, field(1, int64_feature(1)))))
        steps = b"".join(field(2, field(1, one)) for one in (bytes_feature(b"p"), int64_feature(9)))
        for name, make, at in (("example", features, 16),
                               ("context", lambda value: features(value) + lists, 16),
                               ("elwc", lambda value: field(2, features(value)), 18),
                               ("elwc's", lambda value: field(1, features(value)), 18)):
            self.write("a", make(b"p"))
            self.write("b", make(b"q"))
            with self.subTest(name=name):
                *differences, _ = self.json("diff", "a", "b", "--json", status=1)
                self.assertEqual([one["difference"] for one in differences], ["bytes"])
                self.assertEqual(self.json("info", "a", "--json")[0]["kind"], "unknown")
                self.assertIn("payload", self.json("show", "a", "--json")[0])
                if name == "example":
                    self.refuse_to_lose("a", what, at)
        # The steps of a list may have several kinds, and its entry several pieces.
        self.write("a", field(2, field(1, field(1, b"l") + steps)))
        self.assertEqual(self.json("show", "a", "--json")[0]["feature_lists"], {"l": [["p"], [9]]})


class ExampleLists(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.write("a", LIST, example_list(named_example({"clicks": [0]})))

    def test_show(self):
        first, second = self.json("show", "a", "--json")
        self.assertEqual(first["features"], {"query": ["shoes"]})
        self.assertEqual(first["examples"], [{"clicks": [1], "price": [0.5]}, {"price": [2, 4]}])
        self.assertEqual((second["features"], second["examples"]), ({}, [{"clicks": [0]}]))
        self.assertIn("ExampleListWithContext", self.run_it("show", "a"))

    def test_schema_and_stats(self):
        schema, = self.json("schema", "a", "--json")
        self.assertEqual(schema["kind"], "ExampleListWithContext")
        self.assertEqual(schema["features"]["query"]["share"], 0.5)
        self.assertEqual(schema["feature_lists"]["clicks"],
                         {"kind": "int64", "values": 1, "share": 1.0, "steps": {"min": 1, "max": 2}})
        text = self.run_it("schema", "a")
        self.assertRegex(text, r"clicks  int64 +1 value +100 %  in 66\.7 % of 1 to 2 examples\n")
        self.assertRegex(text, r"price  +float .* 50\.0 %  in each of 2 examples\n")
        self.assertIn("lists of Examples", self.run_it("schema", "a", "--cpp", status=2))
        stats, = self.json("stats", "a", "--json")
        self.assertEqual(stats["with_features"], 2)
        self.assertEqual(stats["feature_lists"]["price"]["float"]["max"], 4)
        self.assertIn("ExampleListWithContexts", self.run_it("stats", "a"))

    def test_where(self):
        for where, expected in (("price > 3", 1), ("clicks == 0", 1), ("len(clicks) == 2", 1),
                                ("query == 'shoes'", 1), ("has(clicks)", 2)):
            self.assertEqual(self.run_it("count", "a", "--where", where).split()[0], str(expected))

    def test_diff(self):
        self.write("b", LIST.replace(b"shoes", b"boots"),
                   example_list(named_example({"clicks": [0]})))
        *differences, _ = self.json("diff", "a", "b", "--json", status=1)
        self.assertEqual([one["feature"] for one in differences], ["query"])
        self.write("c", LIST + field(1, b""), example_list(named_example({"clicks": [0]})))
        self.assertEqual(self.start("diff", "a", "c").returncode, 1)

    def test_edits_and_splits_call_them_by_their_name(self):
        self.assertIn("neither an Example nor a SequenceExample (but ExampleListWithContext)",
                      self.run_it("convert", "a", "-o", "b", "--drop", "clicks", status=2))
        self.assertIn("the feature clicks, which decides the split, can't be read: not an Example "
                      "but an ExampleListWithContext",
                      self.run_it("convert", "a", "-o", "b", "--split", "x=0.5,y=0.5", "--split-by",
                                  "clicks", status=2))

    def test_export_keeps_them(self):
        self.summary("export", "a", "-o", "a.jsonl")
        self.summary("create", "a.jsonl", "-o", "again")
        self.assertEqual((self.folder / "again").read_bytes(), (self.folder / "a").read_bytes())
        shown = self.run_it("show", "a", "--json")
        (self.folder / "shown.jsonl").write_text(shown)
        self.assertIn("an ExampleListWithContext",
                      self.run_it("create", "shown.jsonl", "-o", "no", status=2))
        self.assertIn("record 0 is not an Example", self.run_it("export", "a", "-o", "a.csv", status=2))


if __name__ == "__main__":
    unittest.main()
