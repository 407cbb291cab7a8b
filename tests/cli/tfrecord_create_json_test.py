#!/usr/bin/env python3
"""Tests tfrecord create from JSON lines: the Examples, byte by byte, and rejected input."""
import gzip
import json
import os
import re
import unittest

from tfrecord_create_case import CreateTest, npy
from tfrecord_test_case import example, int64_feature, named_example, record


class JsonLines(CreateTest):
    def test_plain_objects(self):
        self.text("a.jsonl", '{"label": 3, "name": "cat", "box": [0.5, 1], "flag": true}\n'
                             '\n'
                             '{"image": {"base64": "//4A"}, "words": ["a", {"base64": "AA=="}], '
                             '"none": null}\r\n'
                             '{"n": [-9223372036854775808, 9223372036854775807], "e": 1e2}')
        self.created("a.jsonl", expected=[
            named_example({"box": [0.5, 1.0], "flag": [1], "label": [3], "name": ["cat"]}),
            named_example({"image": [b"\xff\xfe\0"], "words": [b"a", b"\0"]}),
            named_example({"e": [100.0], "n": [-2**63, 2**63 - 1]})])

    def test_whole_numbers_that_a_float_rounds(self):
        """In a list with a fraction, as in a CSV column."""
        for line, number in (('{"a": 1, "v": [16777217, 0.5]}', 16777217),
                             ('{"v": [0.5, -9007199254740993]}', -9007199254740993),
                             ('{"v": [NaN, 16777217]}', 16777217),
                             ('{"features": {"v": [16777217, 0.5]}}', 16777217),
                             ('{"features": {}, "feature_lists": {"v": [[1], [16777217, 0.5]]}}',
                              16777217)):
            first = '{"features": {}}' if "features" in line else '{"a": 2}'
            self.text("a.jsonl", first + "\n" + line + "\n")
            self.refused(f'a.jsonl: line 2: "v": {number} is a whole number that a float, which all '
                         "values of the list fit, can't represent exactly (--types v=float rounds it)",
                         "a.jsonl")
            self.run_it("create", "a.jsonl", "-o", "out", "--types", "v=float")
            os.remove(self.folder / "out")
        # Accepted: integers of any size that a float holds exactly.
        self.text("a.jsonl", '{"v": [16777216, 33554436, -9223372036854775808, true, 0.5]}\n')
        self.created("a.jsonl", expected=[
            named_example({"v": [2.0**24, 33554436.0, -2.0**63, 1.0, 0.5]})])

    def test_what_show_prints(self):
        self.text("a.json", json.dumps({"path": "x", "record": 7, "offset": 99, "features": {
            "b": ["x", {"base64": "AP8="}], "a": [1]}}) + "\n" +
            '{"record": 8, "offset": 100, "features": {"x": [NaN, Infinity, -Infinity, 0.1]}}\n'
            '{"record": 9, "offset": 1, "features": {"e": [], "f": []}, '
            '"kinds": {"e": "float"}}\n'
            '{"record": 10, "offset": 1, "features": {"c": [1]}, '
            '"feature_lists": {"s": [[1, 2], null, ["NaN"]]}}\n'
            '{"record": 11, "offset": 1, "payload": {"base64": "AQI="}}\n')

        def field(number, content):
            return bytes([number << 3 | 2, len(content)]) + content
        nonfinite = bytes.fromhex("0000c07f 0000807f 000080ff cdcccc3d")
        step = [field(3, field(1, b"\1\2")), b"", field(1, field(1, b"NaN"))]
        self.created("a.json", expected=[
            named_example({"a": [1], "b": [b"x", b"\0\xff"]}),
            field(1, field(1, field(1, b"x") + field(2, field(2, field(1, nonfinite))))),
            field(1, field(1, field(1, b"e") + field(2, field(2, b""))) +
                  field(1, field(1, b"f") + field(2, b""))),
            field(1, field(1, field(1, b"c") + field(2, field(3, field(1, b"\1"))))) +
            field(2, field(1, field(1, b"s") + field(2, b"".join(field(1, s) for s in step)))),
            b"\1\2"])

    def test_what_show_prints_of_sequences(self):
        lines = ('{"record": 0, "offset": 0, "features": {"a": [1]}, "feature_lists": {}}\n'
                 '{"record": 1, "offset": 32, "features": {}, '
                 '"feature_lists": {"s": [[], [1.5], null, []]}, '
                 '"step_kinds": {"s": ["float", null, null, "bytes"]}}\n')
        self.text("a.json", lines)
        self.run_it("create", "a.json", "-o", "a")
        self.assertEqual(self.run_it("show", "--json", "a"), lines)
        exported = [json.loads(line) for line in
                    self.run_it("export", "a", "-o", "-", "--to", "json").splitlines()]
        self.assertEqual(exported, [{name: value for name, value in json.loads(line).items()
                                     if name != "offset"} for line in lines.splitlines()])

    def test_types_given(self):
        self.text("a.json", '{"x": 1, "n": 2.0}\n{"x": [0.5, 2], "n": [3e0, 4]}\n')
        self.created("a.json", "--types", "x=float,n=int64", expected=[
            named_example({"n": [2], "x": [1.0]}), named_example({"n": [3, 4], "x": [0.5, 2.0]})])
        self.text("a.json", '{"record": 0, "features": {"x": [], "n": [5]}, '
                            '"kinds": {"x": "int64"}}\n')
        self.created("a.json", "--types", "x=float,n=int64",
                     expected=[example(n=int64_feature(5), x=b"\x12\0")])
        for content, words, types in (
                ('{"n": 1}\n{"n": 0.5}\n', 'line 2: "n": 0.5 is not a whole number', "n=int64"),
                ('{"n": "x"}\n', "values of kind bytes, expected float", "n=float"),
                ('{"n": 1}\n', "--types names m, which no record has", "m=float")):
            self.text("b.json", content)
            self.refused(words, "b.json", "--types", types)
        self.refused("not double", "b.json", "--types", "n=double", status=2)
        (self.folder / "b.npy").write_bytes(npy("'<i8'", "(1,)", bytes(8)))
        self.refused("--types is for JSON and CSV", "b.npy", "--types", "b=float", status=2)

    def test_numbers_of_two_kinds(self):
        # jq 1.6 prints 1.0 as 1, and no reader of the records accepts both.
        self.text("a.json", '{"x": 0.5, "y": 1}\n{"x": 1, "y": [2]}\n')
        self.refused('a.json: line 2: "x" is int64, where line 1 has float (readers of the records '
                     'expect one kind: --types x=float makes it one)', "a.json")
        self.created("a.json", "--types", "x=float", expected=[
            named_example({"x": [0.5], "y": [1]}), named_example({"x": [1.0], "y": [2]})])
        # The output of show is converted back to the same record.
        self.text("a.json", '{"features": {"x": [0.5]}}\n{"features": {"x": [1]}}\n')
        self.assertEqual(self.notes("create", "a.json", "-o", "out"),
                         "tfrecord create: x is float and int64, in different records: "
                         "--types x=float makes it one\n")

    def test_lines_written_in_two_ways(self):
        shown = '{"record": 0, "offset": 0, "features": {"a": [1]}}\n'
        payload = '{"record": 0, "offset": 0, "payload": {"base64": "AQI="}}\n'
        for content, words in (
                ('{"a": 1}\n\n' + shown, "a.json: line 3: an object as show --json prints, with "
                                         '"features", where line 1 is a plain one'),
                (shown + payload + '{"a": 1}\n', "a.json: line 3: a plain object, where line 1 is one "
                                                 'with "features", as show --json prints'),
                (payload + "{}\n", "a.json: line 2: a plain object, where line 1"),
                ('{"a": 1}\n' * 50_000 + shown, "a.json: line 50001: an object as show")):
            self.text("a.json", content)
            self.refused(words, "a.json")
        self.text("b.json", shown)
        self.text("a.json", '{"a": 1}\n')
        self.refused("b.json: line 1: an object as show --json prints, with \"features\", where line "
                     "1 of a.json is a plain one", "a.json", "b.json")

    def test_bytes_and_numbers_in_one_feature(self):
        for content, words in (
                ('{"x": 1}\n{"x": 0.5}\n{"x": "a"}\n', '"x" is bytes, where line 1 has int64'),
                ('{"x": "a"}\n{}\n{"x": [1.5]}\n{"x": 1}\n', '"x" is float, where line 1 has bytes'),
                ('{"y": 1}\n{"x": 1}\n{"x": {"base64": "AA=="}}\n', "where line 2 has int64")):
            self.text("a.json", content)
            self.refused(words, "a.json")
            self.refused("a.json: line 3: ", "a.json")
        # The output of show is converted back to the same record.
        self.text("a.json", '{"features": {"x": [1]}}\n{"features": {"x": ["a"]}}\n')
        self.created("a.json", expected=[named_example({"x": [1]}), named_example({"x": ["a"]})])

    def test_more_names_than_are_taken(self):
        with open(self.folder / "a.json", "w", encoding="utf-8") as file:
            for i in range(0, 1_000_000, 1000):
                file.write(json.dumps(dict.fromkeys((f"n{j}" for j in range(i, i + 1000)), 1)) + "\n")
        self.run_it("create", "a.json", "-o", "b")
        with open(self.folder / "a.json", "a", encoding="utf-8") as file:
            file.write('{"one more": 1}\n')
        (self.folder / "b").unlink()
        self.refused("more than 1,000,000 names of features", "a.json")

    def test_standard_input_compressed_and_on_any_number_of_threads(self):
        lines = "".join(f'{{"i": {i}}}\n' for i in range(50000)).encode()
        outputs = set()
        for threads in (1, 2, 3):
            outputs.add(self.start("create", "-", "--from", "json", "-o", "-", "--threads",
                                   threads, input=gzip.compress(lines)).stdout)
        self.assertEqual(len(outputs), 1)
        self.assertTrue(outputs.pop().startswith(record(named_example({"i": [0]}))))

    def test_nothing(self):
        self.text("a.json", "")
        self.created("a.json", expected=[])
        self.text("a.json", "{}\n\n")
        self.created("a.json", expected=[b""])

    def test_a_whole_number_beyond_int64_is_rounded_if_the_types_say_so(self):
        self.text("a.json", '{"a": [18446744073709551616, 0]}')
        self.created("a.json", "--types", "a=float", expected=[named_example({"a": [2.0**64, 0.0]})])

    def test_uint64_is_stored_by_its_bits_if_the_types_say_so(self):
        self.text("a.json", '{"a": 18446744073709551615}\n{"a": [9223372036854775808, 7, true]}\n')
        self.refused("(--types a=uint64 keeps the bits up to 2^64 - 1)", "a.json")
        self.created("a.json", "--types", "a=uint64", expected=[
            named_example({"a": [-1]}), named_example({"a": [-2**63, 7, 1]})])
        for wrong in ("-1", "1.5", "18446744073709551616", "1e3"):
            self.text("a.json", f'{{"a": {wrong}}}')
            self.refused(f'"a": {wrong} is not a whole number from 0 to 2^64 - 1', "a.json",
                         "--types", "a=uint64")

    def test_what_is_refused(self):
        for line, words in (
                ('{"a": 1', "invalid JSON at byte"), ('{"a":\n1}', "several lines"), ("[1]", "should be an object"),
                ("null", "should be an object"), ('{"a": {"b": 1}}', '"a": an object'),
                ('{"a": [[1]]}', '"a": nested lists'), ('{"a": [1, "x"]}', "several kinds"),
                ('{"a": [{"b": 1}]}', "an object in a list"), ('{"a": 1, "a": 2}', '"a" twice'),
                ('{"a": 9223372036854775808}', "too large for an int64"),
                ('{"a": 99999999999999999999}', "too large for an int64"),
                ('{"a": 1e39}', '"a": 1e39 is out of the range of float'),
                ('{"a": -1e-50}', '"a": -1e-50 is out of the range of float'),
                ('{"b": 1, "a": [1e400]}', '"a": 1e400 is out of the range of float'),
                ('{"a": {"base64": "AA"}}', "multiple of 4"),
                ('{"a": {"base64": "A*=="}}', "not base64"),
                ('{"record": 1, "event": {}}', "an Event"),
                ('{"features": {"a": []}, "kinds": {"a": "x"}}', "no kind x"),
                ('{"features": {"a": ["x"]}, "kinds": {"a": "int64"}}', "expected int64"),
                ("[" * 100000, "nested too deeply"), ('{"a": "\xff"}'.encode("latin-1"), "invalid JSON")):
            self.text("a.json", b'{"ok": 1}\n\n' +
                      (line if isinstance(line, bytes) else line.encode()) + b"\n")
            self.refused("a.json: line 3: ", "a.json")
            self.refused(words, "a.json")

    def test_keys_beside_features_are_refused(self):
        """Their values would be lost."""
        for line, words in (
                ('{"features": {"a": 1}, "label": 3}', 'the key "label" beside "features"'),
                ('{"extra": {}, "features": {}}', 'the key "extra" beside "features"'),
                ('{"features": {}, "feature_list": {"a": [[1]]}}', 'the key "feature_list" beside'),
                ('{"features": {}, "feature_lists": {}, "a": 1}', 'the key "a" beside "features"'),
                ('{"features": {}, "record": 0, "payload": "x"}', 'the key "payload" beside'),
                ('{"features": {}, "examples": [{"a": [1]}]}', "an ExampleListWithContext"),
                ('{"features": {}, "feature_lists": [[1]]}', '"feature_lists": should be an object'),
                ('{"features": {}, "kinds": "int64"}', '"kinds": should be an object')):
            self.text("a.json", '{"features": {}}\n' + line + "\n")
            with self.subTest(line=line):
                self.refused("a.json: line 2: ", "a.json")
                self.refused(words, "a.json")
        # Another key beside "payload": an Example with features of these names.
        self.text("a.json", '{"record": 1, "payload": "text", "label": 3}\n')
        self.created("a.json", expected=[
            named_example({"label": [3], "payload": ["text"], "record": [1]})])

    def test_words_for_numbers_that_are_not_finite(self):
        """Spellings other than Python's are an error, whatever else the line contains."""
        for word in ("-NaN", "+Infinity", "nan", "NaN0", "1NaN", "NaNNaN", "Infinity.5", "-inf"):
            for line, at in ((f'{{"x": {word}}}', 7), (f'{{"x": [NaN, {word}]}}', 13)):
                self.text("a.json", '{"x": [-Infinity, NaN]}\n' + line + "\n")
                last = self.run_it("create", "a.json", "-o", "out", status=2).splitlines()[-1]
                found = re.search("a.json: line 2: invalid JSON at byte ([0-9]+)", last)
                self.assertTrue(found and at <= int(found[1]) <= at + len(word) + 1, last)
        self.text("a.json", b'{"x": 1}\n{"x": 2}\0{"x": 3}\n')
        self.refused("a.json: line 2: invalid JSON at byte 9: a NUL byte", "a.json")

    def test_what_is_not_finite_comes_back(self):
        self.text("a.json", json.dumps({"x": [float("nan"), float("inf"), -float("inf"), 0.1]}))
        self.run_it("create", "a.json", "-o", "a")
        shown = self.run_it("show", "--json", "a")
        self.assertIn("[NaN, Infinity, -Infinity, 0.1]", shown)
        self.text("b.json", shown)
        self.run_it("create", "b.json", "-o", "b")
        self.assertEqual((self.folder / "a").read_bytes(), (self.folder / "b").read_bytes())

    def test_shards(self):
        self.text("a.json", "".join(f'{{"i": {i}}}\n' for i in range(5)))
        self.run_it("create", "a.json", "-o", "s", "--shards", 2)
        self.assertEqual((self.folder / "s-00000-of-00002").read_bytes(),
                         b"".join(record(named_example({"i": [i]})) for i in range(2)))
        self.refused("standard input must be read twice", "-", "--from", "json", "--shards", 2,
                     status=2, input=b"{}")
        os.mkfifo(self.folder / "fifo.json")
        self.refused("fifo.json must be read twice", "fifo.json", "--shards", 2, status=2)


if __name__ == "__main__":
    unittest.main()
