"""Importing recordpipe: quick, and without packages that it can do without."""

import resource
import subprocess
import sys
import unittest

MOST_MILLISECONDS = 50
OPTIONAL = {"jax", "torch", "grain", "pyarrow", "pandas", "polars", "tqdm", "PIL", "IPython"}


def seconds(module):
    """The processor time that `import module` takes, with the start of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class ImportTest(unittest.TestCase):
    def test_takes_little_more_than_numpy(self):
        # In turns; processor time and the minimum depend little on what else runs.
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
