"""What the tests beside other packages share: the path of all tests, a skip without a package."""

import importlib
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))


def require(*packages):
    """Ends the program with a skipped test if a package is missing."""
    for package in packages:
        try:
            importlib.import_module(package)
        except ImportError as error:
            skipped = unittest.skip(f"needs {package}: {error}")(lambda: None)
            unittest.TextTestRunner(verbosity=2).run(unittest.FunctionTestCase(skipped))
            sys.exit(0)
