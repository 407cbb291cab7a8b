"""What the tests beside other packages share: the tests' own folder, and a skip without a package."""

import importlib
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))


def require(*packages):
    """Imports packages; the test program is skipped if one is missing."""
    for package in packages:
        try:
            importlib.import_module(package)
        except ImportError as error:
            raise unittest.SkipTest(f"needs {package}: {error}") from None
