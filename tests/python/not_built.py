"""Says that the Python package was not tested."""

import unittest


class PythonPackage(unittest.TestCase):
    def test_is_built(self):
        self.skipTest("not built: RECORDPIPE_PYTHON is OFF, or python/setup has not run")


if __name__ == "__main__":
    unittest.main(verbosity=2)
