"""Tests tfrecord schema as a user runs it."""
import gzip
import os
import pathlib
import struct
import subprocess
import unittest

from tfrecord_test_case import (DATA, TfrecordTest, bytes_feature, example, float_feature,
                                int64_feature, named_example)

GOLDEN = DATA / "golden"
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RECORDS = [named_example({"image": [b"\xff"], "label": [1], "box": [0.5, 1.0, 1.5, 2.0]}),
           named_example({"image": [b"\xfe"], "label": [2], "box": [0.5, 1.0, 1.5, 2.0],
                          "words": ["a", "b"]}),
           named_example({"image": [b"\xfd"], "label": [3], "box": [0.5, 1.0, 1.5, 2.0],
                          "words": []})]
# Makes the empty list `words` a bytes list; named_example() makes it an int64 list.
RECORDS[2] = example(box=float_feature(0.5, 1.0, 1.5, 2.0), image=bytes_feature(b"\xfd"),
                     label=int64_feature(3), words=bytes_feature())


class Schema(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.write("a", *RECORDS)

    def test_text(self):
        self.assertEqual(self.run_it("schema", "a"), """\
3 records: Example
  box    float       4 values   100 %
  image  bytes        1 value   100 %
  label  int64        1 value   100 %
  words  bytes  0 to 2 values  66.7 %
""")

    def test_all_files_together(self):
        self.write("b", named_example({"label": [1, 2]}), b"text", b"")
        self.assertEqual(self.run_it("schema", "a", "b"), """\
6 records: mixed
  5 Example
  1 unknown
  box    float       4 values  60.0 %
  image  bytes        1 value  60.0 %
  label  int64  1 to 2 values  80.0 %
  words  bytes  0 to 2 values  40.0 %
""")

    def test_sequences(self):
        self.write("s", (GOLDEN / "sequences" / "steps.pb").read_bytes())
        self.assertEqual(self.run_it("schema", "s"), """\
1 record: SequenceExample
  label   int64        1 value  100 %
  frames  bytes        1 value  100 %  in each of 2 steps
  words   int64  1 to 2 values  100 %  in 66.7 % of 3 steps
""")

    def test_no_code_for_records_of_several_kinds_or_without_features(self):
        steps = (GOLDEN / "sequences" / "steps.pb").read_bytes()
        event = struct.pack("<Bd", 9, 1599759586.0)
        self.write("mixed", *RECORDS, steps)
        self.write("events", event, event)
        self.write("text", b"text")
        self.write("with text", *RECORDS, b"text")
        for name, words in (("mixed", "several kinds: 3 Example, 1 SequenceExample (code is for "
                                      "Examples alone"),
                            ("events", "no code can be generated for records without features: 2 Event (tfrecord "
                                       "show --json"),
                            ("text", "no code can be generated for records without features: 1 unknown"),
                            ("with text", "several kinds: 3 Example, 1 unknown")):
            for option in ("--python", "--tensorflow", "--cpp"):
                with self.subTest(name, option=option):
                    self.expect_failure(words, "schema", option, name, "-o", "out")
                    self.assertFalse((self.folder / "out").exists())
            self.run_it("schema", name)
        # An empty record is an empty message of either kind.
        self.write("one kind", steps, b"")
        self.run_it("schema", "--python", "one kind")

    def test_any_input(self):
        content = (self.folder / "a").read_bytes()
        expected = self.run_it("schema", "a")
        self.assertEqual(self.run_it("schema", "-", input=gzip.compress(content)), expected)
        self.write("empty")
        self.assertEqual(self.run_it("schema", "empty"), "0 records: unknown\n")
        self.assertIn("6 records: mixed",
                      self.run_it("schema", DATA / "zstd" / "vectors.tfrecords.zst"))

    def test_damage(self):
        content = (self.folder / "a").read_bytes()
        (self.folder / "b").write_bytes(content[:-1])
        self.expect_failure("truncated record at", "schema", "--cpp", "b", "-o", "out")
        self.assertFalse((self.folder / "out").exists())

    def test_names(self):
        self.write("b", named_example({"": [1], "long" * 100: [2], "four" * 50: [3]}))
        self.assertEqual(self.run_it("schema", "b").splitlines()[1:], [
            f'  ""{" " * 200}int64  1 value  100 %',
            f'  {"four" * 50}  int64  1 value  100 %',
            f'  {"long" * 25}... (400 bytes){" " * 87}int64  1 value  100 %'])
        found = self.json("schema", "--json", "b")[0]
        self.assertEqual(sorted(found["features"]), ["", "four" * 50, "long" * 100])

    def test_names_beyond_the_limit_are_counted(self):
        name = "n" * (1 << 20)
        self.write("b", *[named_example({f"{i}{name}": [i], "label": [i]}) for i in range(6)])
        self.assertIn("  and features of other names, 3 in all, which were not kept\n",
                      self.run_it("schema", "b"))
        self.assertTrue(self.run_it("schema", "--python", "b").endswith(
            "}\n# Features of other names, 3 in all, which were not kept.\n"))
        self.assertTrue(self.run_it("schema", "--cpp", "b").endswith(
            "};\n// Features of other names, 3 in all, which were not kept.\n"))

    def test_usage(self):
        self.expect_failure("exclude each other", "schema", "--json", "--cpp", "a", status=2)
        self.assertEqual(self.start("schema").returncode, 2)


class SchemaCode(TfrecordTest):
    """The output of --cpp and --python is accepted by their compilers."""

    def compile(self, sources):
        for name, code in sources.items():
            (self.folder / name).write_text(code)
        compiler = os.environ.get("CXX", "c++")
        warnings_are_errors = os.environ.get("RECORDPIPE_WARNINGS_AS_ERRORS") == "ON"
        errors = ["-Werror"] if warnings_are_errors else []
        result = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra",
                                 *errors, f"-I{ROOT}/dataset/include", *sources], cwd=self.folder,
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_cpp_compiles(self):
        self.write("a", *RECORDS, named_example({'"\\\n?é': [1], "x": [1]}),
                   named_example({"x": [1.5]}))
        examples = self.run_it("schema", "--cpp", "a")
        examples += "const recordpipe::ExampleCollator collator(schema);\n"
        self.write("s", (GOLDEN / "sequences" / "steps.pb").read_bytes(),
                   (GOLDEN / "sequences" / "pieces.pb").read_bytes())
        sequences = self.run_it("schema", "--cpp", "s")
        sequences += "const recordpipe::SequenceExampleCollator collator(schema);\n"
        self.compile({"examples.cc": examples, "sequences.cc": sequences})

    def test_python_compiles(self):
        self.write("a", *RECORDS, named_example({'"\\\n?é': [1]}))
        for option in ("--python", "--tensorflow"):
            compile(self.run_it("schema", option, "a"), "schema.py", "exec")


if __name__ == "__main__":
    unittest.main()
