#!/usr/bin/env python3
"""Tests tfrecord grep: its options and statuses are those of grep."""
import gzip
import unittest

from tfrecord_test_case import TfrecordTest, named_example


class Grep(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.write("a", *(named_example({"label": [label], "text": [text]})
                          for label, text in [(3, "a cat"), (5, "two dogs"), (3, "Cats")]))
        self.write("b", named_example({"label": [5], "text": ["a cow"]}))

    def test_records_after_their_place(self):
        self.assertEqual(self.run_it("grep", "label == 3", "a", "b"), """\
a:0: at 0: Example, 37 bytes
  label  int64  3
  text   bytes  "a cat"
a:2: at 109: Example, 36 bytes
  label  int64  3
  text   bytes  "Cats"
""")
        self.assertEqual(self.run_it("grep", "label == 3", "a", "--feature", "text", "-m", "1"), """\
a:0: at 0: Example, 37 bytes
  text  bytes  "a cat"
""")

    def test_json(self):
        found = self.json("grep", "--json", "contains(*, 'co')", "a", "b")
        self.assertEqual(found, [{"path": "b", "record": 0, "offset": 0,
                                  "features": {"label": [5], "text": ["a cow"]}}])
        self.assertEqual(self.json("grep", "-c", "--json", "label == 5", "a", "b"),
                         [{"path": "a", "records": 1}, {"path": "b", "records": 1}])
        self.assertEqual(self.json("grep", "-l", "--json", "label == 3", "a", "b"),
                         [{"path": "a"}])

    def test_options(self):
        for options, printed in (
                (["-c", "label == 3", "a"], "2\n"),
                (["-c", "label == 3", "a", "b"], "a:2\nb:0\n"),
                (["-cv", "label == 3", "a", "b"], "a:1\nb:1\n"),
                (["-c", "-m", "1", "label == 3", "a", "b"], "a:1\nb:0\n"),
                (["-c", "-m", "0", "label == 3", "a"], "0\n"),
                (["-l", "label == 5", "a", "b"], "a\nb\n"),
                (["-l", "matches(text, '(?i)^cat')", "a", "b"], "a\n"),
                (["-lv", "label == 3", "a", "b"], "a\nb\n"),
                (["-q", "label == 3", "a", "b"], "")):
            for threads in ([], ["--threads", "1"]):
                with self.subTest(options):
                    result = self.start("grep", *options, *threads)
                    self.assertEqual((result.stdout.decode(), result.stderr), (printed, b""))
        self.expect_failure("only one of", "grep", "-c", "-l", "label == 3", "a")

    def test_status(self):
        for status, arguments in (
                (0, ["label == 3", "a"]), (1, ["label == 4", "a"]), (0, ["-v", "label == 4", "a"]),
                (1, ["-v", "label > 0", "a"]), (1, ["-c", "label == 4", "a"]),
                (1, ["-l", "label == 4", "a"]), (1, ["-q", "label == 4", "a"]),
                (2, ["label == 3", "a", "missing"]), (2, ["label = 3", "a"]),
                (2, ["lable == 3", "a"]), (2, ["-q", "label == 4", "a", "missing"]),
                (2, ["-v", "lable == 3", "a"]), (2, ["label == 3"]), (2, []),
                # As grep: found is found.
                (0, ["-q", "label == 3", "missing", "a"])):
            with self.subTest(arguments):
                self.assertEqual(self.start("grep", *arguments).returncode, status)

    def test_goes_on_after_what_cannot_be_read(self):
        result = self.start("grep", "-c", "label == 5", "a", "missing", "b")
        self.assertEqual((result.returncode, result.stdout), (2, b"a:1\nb:1\n"))
        self.assertEqual(result.stderr,
                         b"tfrecord grep: missing: open failed: No such file or directory\n")

    def test_a_word_that_is_no_expression(self):
        self.expect_failure('(contains(*, "cat") finds text in any feature)', "grep", "cat", "a")
        last = self.run_it("grep", "label = 3", "a", status=2)
        self.assertIn("'=' is not an operator; use '=='", last)
        self.assertNotIn("contains", last)

    def test_standard_input(self):
        data = gzip.compress((self.folder / "a").read_bytes())
        result = self.start("grep", "label == 5", "-", input=data)
        self.assertEqual(result.stdout.splitlines()[0], b"-:1: at 53: Example, 40 bytes")

    def test_quiet_reads_no_further(self):
        """Damage after the first record that matches isn't reached."""
        record = (self.folder / "b").read_bytes()
        (self.folder / "big").write_bytes(record * 100_000 + record[:-1] + b"?")
        self.assertEqual(self.start("grep", "-q", "label == 5", "big").returncode, 0)
        self.assertEqual(self.start("grep", "-c", "label == 5", "big").returncode, 2)


if __name__ == "__main__":
    unittest.main()
