#!/usr/bin/env python3
"""Runs the notebooks of python/examples; what recordpipe's objects show must be what is stored."""

import ast
import contextlib
import io
import json
import os
import pathlib
import tempfile
import unittest

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "python/examples"


def stored_text(cell):
    """What the cell has shown as its value; "" for none."""
    for output in cell["outputs"]:
        if output["output_type"] == "execute_result":
            return "".join(output["data"]["text/plain"])
    return ""


def run(source, names):
    """Runs a cell; returns the value of its last line, if that is an expression."""
    statements = ast.parse(source).body
    last = statements.pop() if isinstance(statements[-1], ast.Expr) else None
    exec(compile(ast.Module(statements, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None


class Notebooks(unittest.TestCase):
    def run_notebook(self, name, *packages):
        for package in packages:
            try:
                __import__(package)
            except ImportError:
                self.skipTest(f"{name} needs {package}, which is not installed")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        names, compared = {}, 0
        for cell in json.loads((EXAMPLES / name).read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] != "code":
                continue
            source = "".join(cell["source"])
            with self.subTest(cell=source), contextlib.redirect_stdout(io.StringIO()):
                value = run(source, names)
                if type(value).__module__.startswith("recordpipe"):
                    self.assertEqual(repr(value), stored_text(cell))
                    compared += 1
        return compared

    def test_tour(self):
        compared = self.run_notebook("tour.ipynb", "pyarrow", "pandas", "polars", "duckdb")
        self.assertGreater(compared, 6)

    def test_from_tf_data(self):
        self.assertEqual(self.run_notebook("from_tf_data.ipynb", "tensorflow"), 2)


if __name__ == "__main__":
    unittest.main()
