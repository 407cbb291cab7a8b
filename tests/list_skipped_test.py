#!/usr/bin/env python3
"""Tests list_skipped.py with the output of real tests."""
import subprocess
import sys
import tempfile
import textwrap
import unittest

import list_skipped

UNITTEST = """\
    import sys
    import unittest
    class Some(unittest.TestCase):
        @unittest.skip("no GPU")
        def test_one(self):
            pass
        def test_two(self):
            \"\"\"With a docstring.\"\"\"
            self.skipTest('no "MPI"')
        def test_zero(self):
            pass
        @classmethod
        def tearDownClass(cls):
            print("a program has skipped 'a record'", file=sys.stderr)
    class Other(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            raise unittest.SkipTest("no Chromium")
        def test_four(self):
            pass
    unittest.main()
"""
GOOGLETEST = """\
[ RUN      ] Gpu.Trains
gpu_test.cc:7: Skipped
there is no GPU 0
[  SKIPPED ] Gpu.Trains (0 ms)
"""


def log_of(**outputs):
    """Returns a log of CTest in which these tests had these outputs."""
    return "".join(f"{i}/{len(outputs)} Testing: {name}\n{name}\nCommand: a\n{output}\n"
                   for i, (name, output) in enumerate(outputs.items(), 1))


class ListSkipped(unittest.TestCase):
    def run_unittest(self, *arguments):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
            script.write(textwrap.dedent(UNITTEST))
            script.flush()
            return subprocess.run([sys.executable, "-B", script.name, *arguments], check=True,
                                  stderr=subprocess.PIPE, text=True).stderr

    def test_tests_of_python(self):
        self.assertEqual(list_skipped.lines(log_of(a=self.run_unittest("--verbose"))), [
            "skipped: a: Other.setUpClass: no Chromium",
            "skipped: a: Some.test_one: no GPU",
            'skipped: a: Some.test_two: no "MPI"'])

    def test_tests_of_googletest(self):
        log = log_of(a="OK", **{"Gpu.Trains": GOOGLETEST})
        self.assertEqual(list_skipped.lines(log), ["skipped: Gpu.Trains: there is no GPU 0"])

    def test_what_was_skipped_without_a_name(self):
        self.assertEqual(list_skipped.lines(log_of(a=self.run_unittest())),
                         ["skipped: a: 3 more: see the log"])


if __name__ == "__main__":
    unittest.main()
