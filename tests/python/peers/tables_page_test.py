"""docs/tables.md, with pyarrow."""

import importlib.util
import pathlib
import sys
import unittest

from peers import require

require("pyarrow")

PAGE_TEST = pathlib.Path(__file__).resolve().parents[2] / "docs/tables_test.py"


def load_tests(loader, tests, pattern):
    """The tests of tests/docs/tables_test.py, where the packages of this folder are."""
    spec = importlib.util.spec_from_file_location("tables_page", PAGE_TEST)
    page = importlib.util.module_from_spec(spec)
    sys.modules["tables_page"] = page
    spec.loader.exec_module(page)
    return loader.loadTestsFromName("Tables.test_python", page)


if __name__ == "__main__":
    unittest.main()
