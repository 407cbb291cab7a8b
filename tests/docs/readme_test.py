#!/usr/bin/env python3
"""Runs the Python of README.md's first screen, and compares its output with the page.

Needs the Python package: PYTHONPATH.
"""

import contextlib
import io
import os
import pathlib
import re
import tempfile
import unittest

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "README.md"


class Readme(unittest.TestCase):
    def setUp(self):
        self.first_screen = "".join(PAGE.read_text("utf-8").splitlines(keepends=True)[:40])

    def test_python(self):
        (block,) = re.findall(r"^```python\n(.*?)^```$", self.first_screen, re.M | re.S)
        shown = [line[2:] for line in block.splitlines() if line.startswith("# ")]
        self.assertEqual(len(shown), 3)
        self.addCleanup(os.chdir, os.getcwd())
        with (
            tempfile.TemporaryDirectory() as folder,
            contextlib.redirect_stdout(io.StringIO()) as out,
        ):
            os.chdir(folder)
            exec(compile(block, str(PAGE), "exec"), {})
            os.chdir("/")
        self.assertEqual(out.getvalue().splitlines(), shown)

    def test_first_screen_is_complete(self):
        for text in ("damaged_file.svg", "images_per_second.svg", "docs/README.md"):
            self.assertIn(text, self.first_screen)
        doors = re.findall(r"^- \*\*(.*?):\*\*", self.first_screen, re.M)
        self.assertEqual(doors, ["I train", "I have RLDS", "I have broken shards"])


if __name__ == "__main__":
    unittest.main()
