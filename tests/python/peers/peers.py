"""What the tests beside other packages share: the path of all tests, a skip without a package."""

import importlib
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))


def require(*packages):
    """Ends the program with a skipped test if a package is missing.

    With RECORDPIPE_REQUIRE_PEERS, where all were installed, that is an error.
    """
    for package in packages:
        try:
            importlib.import_module(package)
        except ImportError as error:
            if os.environ.get("RECORDPIPE_REQUIRE_PEERS"):
                raise
            skipped = unittest.skip(f"needs {package}: {error}")(lambda: None)
            unittest.TextTestRunner(verbosity=2).run(unittest.FunctionTestCase(skipped))
            sys.exit(0)
