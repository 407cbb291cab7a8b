"""docs/migrating.md, with PyTorch: both columns of its table yield the same."""

import importlib.util
import pathlib
import sys
import unittest

PAGE_TEST = pathlib.Path(__file__).resolve().parents[2] / "docs/migrating_test.py"


def load_tests(loader, tests, pattern):
    """The tests of tests/docs/migrating_test.py, where the packages of this folder are."""
    spec = importlib.util.spec_from_file_location("migrating_page", PAGE_TEST)
    page = importlib.util.module_from_spec(spec)
    sys.modules["migrating_page"] = page
    spec.loader.exec_module(page)
    return loader.loadTestsFromName("Migrating.test_pytorch", page)


if __name__ == "__main__":
    unittest.main()
