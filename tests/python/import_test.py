"""Importing recordpipe: quick, and without packages that it can do without."""

import re
import subprocess
import sys
import unittest

MOST_MILLISECONDS = 50
OPTIONAL = {"jax", "torch", "grain", "pyarrow", "pandas", "polars", "tqdm", "PIL", "IPython"}


def seconds(module):
    """The time that `import module` takes, in a new process."""
    command = [sys.executable, "-X", "importtime", "-c", f"import {module}"]
    log = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    (line,) = re.findall(rf"\| +(\d+) \| {module}$", log, re.MULTILINE)
    return int(line) * 1e-6


class ImportTest(unittest.TestCase):
    def test_takes_little_more_than_numpy(self):
        # In turns; the minimum isn't disturbed by other processes.
        times = [(seconds("numpy"), seconds("recordpipe")) for _ in range(7)]
        numpy, recordpipe = map(min, zip(*times, strict=True))
        self.assertLess((recordpipe - numpy) * 1e3, MOST_MILLISECONDS)

    def test_imports_nothing_optional(self):
        program = "import sys, recordpipe; print(*{name.split('.')[0] for name in sys.modules})"
        command = [sys.executable, "-c", program]
        modules = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        self.assertEqual(OPTIONAL & set(modules.split()), set())


if __name__ == "__main__":
    unittest.main(verbosity=2)
