#!/usr/bin/env python3
"""Runs the Python of docs/getting-started.md, and checks what it says of its output.

Needs the Python package: PYTHONPATH. The block with JAX runs where JAX is installed.
"""

import contextlib
import importlib.util
import io
import os
import pathlib
import re
import tempfile
import unittest

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/getting-started.md"


class GettingStarted(unittest.TestCase):
    def test_python(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
        self.assertEqual(len(blocks), 2)
        self.assertIn("import jax", blocks[1])
        if importlib.util.find_spec("jax") is None:
            blocks.pop()
        self.addCleanup(os.chdir, os.getcwd())
        with (
            tempfile.TemporaryDirectory() as folder,
            contextlib.redirect_stdout(io.StringIO()) as out,
        ):
            os.chdir(folder)
            names = {}
            for block in blocks:
                exec(compile(block, str(PAGE), "exec"), names)
            os.chdir("/")
        self.assertEqual(out.getvalue().split("\n")[:3], ["1000", "True", "(32, 2) int64"])


if __name__ == "__main__":
    unittest.main()
