#!/usr/bin/env python3
"""Tests tfrecord diff: when records are equal, and how differences are reported."""
import gzip
import re
import subprocess
import unittest

from tfrecord_test_case import TfrecordTest, named_example

A = [{"f": [0.5, 1.0], "label": [1], "name": ["cat"]}, {"label": [2]}, {"label": [3]}]


class DiffTest(TfrecordTest):
    def write_examples(self, name, *examples):
        return self.write(name, *[value if isinstance(value, bytes) else named_example(value)
                                  for value in examples])

    def setUp(self):
        super().setUp()
        self.write_examples("a", *A)

    def expect_difference(self, *arguments, expected):
        result = self.start("diff", *arguments)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stdout.decode(), expected)


class Same(DiffTest):
    def test_what_folders_leave_out_is_noted(self):
        for side in "xy":
            (self.folder / side).mkdir()
            self.write(f"{side}/val.tfrecord", b"1")
            self.write(f"{side}/train.record", side.encode())
        for sides, left_out in ((("x", "y"), ["x/train.record", "y/train.record"]),
                                (("x", "x"), ["x/train.record"]),
                                (("x", "x/val.tfrecord"), ["x/train.record"]),
                                (("x/val.tfrecord", "x"), ["x/train.record"])):
            result = self.start("diff", *sides, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual([line.split(": names")[0] for line in result.stderr.decode().splitlines()],
                             [f"tfrecord: left out 1 file of a folder, {name}" for name in left_out])
        # Side B has what A lacks.
        result = self.start("diff", "x", "x/train.record")
        self.assertIn(b"left out 1 file of a folder, x/train.record", result.stderr)
        self.write("both.tfrecord", b"1", b"x")  # of which one is named
        result = self.start("diff", "x,x/train.record", "both.tfrecord")
        self.assertEqual((result.returncode, result.stderr), (0, b""), result.stdout)

    def same(self, *arguments, records=3):
        self.assertEqual(self.run_it("diff", *arguments),
                         "the same 1 record\n" if records == 1 else f"the same {records} records\n")

    def test_bytes_compression_and_files(self):
        self.same("a", "a")
        (self.folder / "b").write_bytes(gzip.compress((self.folder / "a").read_bytes()))
        self.same("a", "b")
        self.write_examples("s0", *A[:1])
        self.write_examples("s1", *A[1:])
        self.same("a", "s*")
        self.same("s0,s1", "a")
        result = self.start("diff", "-", "a", input=(self.folder / "a").read_bytes())
        self.assertEqual((result.returncode, result.stdout), (0, b"the same 3 records\n"))
        self.write("e")
        self.same("e", "e", records=0)

    def test_lists_of_files(self):
        """The last example of --help: a list of each side, joined by paste."""
        self.write_examples("s 1", *A[:1])
        self.write_examples("s0", *A[1:])
        (self.folder / "a.list").write_text("a\n")
        (self.folder / "b.list").write_text("s 1\ns0\n")
        example = self.run_it("diff", "--help").rstrip().splitlines()[-1].strip()
        self.assertIn("b.list", example)
        sides = [subprocess.run(["sh", "-c", f"printf %s {side}"], cwd=self.folder, check=True,
                                capture_output=True, text=True).stdout
                 for side in re.findall(r'"\$\(.*?\)"', example)]
        self.assertEqual(sides, ["a", "s 1,s0"])
        self.same(*sides)

    def test_order_of_names_and_unpacked_lists(self):
        swapped = {name: A[0][name] for name in ("name", "label", "f")}
        self.write_examples("b", swapped, *A[1:])
        self.same("a", "b")
        self.write("p", bytes.fromhex("0a0e0a0c0a0361676512051a030a010d"))
        self.write("u", bytes.fromhex("0a0d0a0b0a0361676512041a02080d"))
        self.same("p", "u", records=1)

    def test_tolerance(self):
        self.write_examples("b", {**A[0], "f": [0.5, 1.125]}, {"label": [1]}, A[2])
        self.expect_difference("a", "b", "--tolerance", "0.5", expected=(
            "record 1: label: [2] in A, [1] in B\n1 of 3 records differ\n"))
        self.same("a", "b", "--tolerance", "1")
        nan = {"x": [float("nan")]}
        self.write_examples("n", nan)
        self.write_examples("m", {"x": nan["x"]})
        self.same("n", "m", records=1)


class Different(DiffTest):
    def test_everything_that_may_differ(self):
        self.write_examples(
            "b", {"f": [0.5, 2.0], "label": [1.0], "new": ["x"]}, {"label": [2, 3]}, b"\xff",
            {"label": [9]})
        expected = ("record 0: f: [1]: 1.0 in A, [1]: 2.0 in B\n"
                    "record 0: label: int64 in A, float in B\n"
                    'record 0: name: only in A: ["cat"]\n'
                    'record 0: new: only in B: ["x"]\n'
                    "record 1: label: 1 value in A, 2 values in B\n"
                    "record 2: Example in A, unknown in B\n"
                    "A has 3 records, B has 4\n"
                    "3 of 3 records differ\n")
        self.expect_difference("a", "b", expected=expected)
        self.assertEqual(self.start("diff", "a", "b", "-o", "out").returncode, 1)
        self.assertEqual((self.folder / "out").read_text(), expected)
        self.expect_difference("a", "b", "--differences", "1", expected=(
            "record 0: f: [1]: 1.0 in A, [1]: 2.0 in B\n... and 5 more\n"
            "A has 3 records, B has 4\n3 of 3 records differ\n"))
        self.assertEqual(self.json("diff", "a", "b", "--json", "--differences", "2", status=1), [
            {"record": 0, "feature": "f", "difference": "values", "a": "[1]: 1.0", "b": "[1]: 2.0"},
            {"record": 0, "feature": "label", "difference": "kind", "a": "int64", "b": "float"},
            {"same": False, "records_a": 3, "records_b": 4, "records_different": 3,
             "differences": 6}])

    def test_unknown_records_and_order(self):
        self.write("x", b"\xff", b"\xfe")
        self.write("y", b"\xff", b"\xfd")
        self.expect_difference("x", "y", expected=(
            "record 1: 1 byte in A, 1 byte in B, different from byte 0 on\n"
            "1 of 2 records differ\n"))
        self.write_examples("b", A[0], A[2], A[1])
        self.assertEqual(self.json("diff", "a", "b", "--json", status=1)[-1]["records_different"], 2)
        self.write_examples("b", *A[:2])
        self.expect_difference("a", "b", expected="A has 3 records, B has 2\n")


    def test_long_or_binary_values_are_said_to_differ_from_a_byte_on(self):
        image = bytes(range(256)) * 5
        other = image[:1000] + b"\0" + image[1001:]
        self.write_examples("x", {"image": [image]}, {"two": ["same", image]}, {"text": ["x" * 90]},
                            {"short": ["cat"]}, {"b": [b"\xff\xfe"]})
        self.write_examples("y", {"image": [other]}, {"two": ["same", image[:700]]},
                            {"text": ["x" * 89 + "y"]}, {"short": ["cow"]}, {"b": [b"\xff\xfd"]})
        self.expect_difference("x", "y", expected=(
            "record 0: image: 1,280 bytes in A, 1,280 bytes in B, different from byte 1,000 on\n"
            "record 1: two: [1]: 1,280 bytes in A, [1]: 700 bytes in B, different from byte 700 on\n"
            "record 2: text: 90 bytes in A, 90 bytes in B, different from byte 89 on\n"
            'record 3: short: ["cat"] in A, ["cow"] in B\n'
            "record 4: b: 2 bytes in A, 2 bytes in B, different from byte 1 on\n"
            "5 of 5 records differ\n"))
        self.assertEqual(self.json("diff", "x", "y", "--json", "--differences", "1", status=1)[0], {
            "record": 0, "feature": "image", "difference": "values", "a": "1,280 bytes",
            "b": "1,280 bytes", "first_byte": 1000})


class Failures(DiffTest):
    def test_damage_and_usage(self):
        content = bytearray((self.folder / "a").read_bytes())
        content[20] ^= 1
        (self.folder / "d").write_bytes(content)
        self.expect_failure("corrupted record at 0", "diff", "a", "d")
        (self.folder / "t").write_bytes((self.folder / "a").read_bytes()[:-1])
        self.expect_failure("truncated record at", "diff", "t", "a")
        self.expect_failure("No such file", "diff", "a", "missing")
        self.expect_failure("standard input can be read once", "diff", "-", "-", status=2)
        self.assertEqual(self.start("diff", "a").returncode, 2)
        self.assertEqual(self.start("diff", "a", "a", "--tolerance", "-1").returncode, 2)


if __name__ == "__main__":
    unittest.main()
