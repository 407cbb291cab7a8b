"""Importing recordpipe needs no package that it can do without."""

import subprocess
import sys
import unittest

OPTIONAL = {"jax", "torch", "grain", "pyarrow", "pandas", "polars", "tqdm", "PIL", "IPython"}


class ImportTest(unittest.TestCase):
    def test_imports_nothing_optional(self):
        program = "import sys, recordpipe; print(*{name.split('.')[0] for name in sys.modules})"
        command = [sys.executable, "-c", program]
        modules = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        self.assertEqual(OPTIONAL & set(modules.split()), set())


if __name__ == "__main__":
    unittest.main(verbosity=2)
