#!/usr/bin/env python3
"""Runs the Python blocks of docs/tables.md, one after another, and compares what they print.

A block of text after a block of Python is its output; in a line, "…" matches any text. A block that
begins with "# needs PACKAGE" runs where the package is installed. The C++ block must be in the example
that the page names. Needs the Python package: PYTHONPATH.
"""
import contextlib
import importlib.util
import io
import os
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/docs"))
import console  # noqa: E402

PAGE = ROOT / "docs/tables.md"


def blocks(page):
    """(line of the page, language, text) for each block."""
    return [(page[:found.start()].count("\n") + 2, found[1], found[2])
            for found in re.finditer(r"^```(\w+)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)]


class Tables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def test_python(self):
        names, printed, runs = {}, None, 0
        skipped = []
        for line, language, text in blocks(PAGE.read_text(encoding="utf-8")):
            if language == "text":
                if printed is not None:
                    self.assertTrue(console.matches(text.splitlines(), printed.splitlines()),
                                    f"{PAGE}:{line}: expected\n{text}\nprinted\n{printed}")
                printed = None
            if language != "python":
                continue
            self.assertFalse(printed, f"{PAGE}:{line}: the block before prints what isn't shown")
            needs = re.match(r"# needs (\w+)", text)
            if needs and importlib.util.find_spec(needs[1]) is None:
                skipped.append(needs[1])
                printed = None
                continue
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile("\n" * (line - 1) + text, PAGE, "exec"), names)  # noqa: S102
            printed = output.getvalue()
            runs += 1
        self.assertGreater(runs, 6)
        if skipped:
            self.skipTest(f"all else works; not installed: {', '.join(skipped)}")

    def test_cpp(self):
        page = PAGE.read_text(encoding="utf-8")
        example = (ROOT / "examples/pack_tokens.cc").read_text(encoding="utf-8")
        found = [text for _, language, text in blocks(page) if language == "cpp"]
        self.assertEqual(len(found), 1)
        self.assertIn(found[0], example)


if __name__ == "__main__":
    unittest.main()
