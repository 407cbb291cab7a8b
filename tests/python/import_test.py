"""Importing recordpipe needs no package that it can do without, and the main interpreter."""

import importlib.util
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

    @unittest.skipUnless(importlib.util.find_spec("_xxsubinterpreters"), "of Python 3.11 and 3.12")
    def test_sub_interpreters_are_refused(self):
        # A pipeline waited for ever there; after an import in both, the process aborted at its end.
        for first in ("", "import recordpipe as rp; list(rp.from_list([1]).map(str))"):
            program = f"""
{first}
import _xxsubinterpreters as interpreters
other = interpreters.create()
interpreters.run_string(other, '''
try:
    import recordpipe as rp
    print(list(rp.from_list([1]).map(str)))
except ImportError as error:
    print(error, flush=True)
''')
import recordpipe as rp
print(list(rp.from_list([1]).map(str)))
"""
            with self.subTest(first=first):
                ended = subprocess.run(
                    [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
                )
                self.assertIn("recordpipe doesn't work in sub-interpreters", ended.stdout)
                self.assertIn("\n['1']\n", ended.stdout)
                self.assertEqual((ended.returncode, ended.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
