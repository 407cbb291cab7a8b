"""What the tests of the Python package share."""

import functools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import records

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
# A job in a shell's background ignores Ctrl-C, and so would the tests of it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The tests start many processes that import NumPy, whose threads for linear algebra take a fifth
# of their time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def run_program(command, **options):
    """subprocess.run() of one of the project's programs.

    Python needs AddressSanitizer's runtime as a preloaded library; a program has its own.
    """
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        **options,
    )


class FilesTest(unittest.TestCase):
    """A test with a folder for its files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def numbered(self, count, name="numbered.tfrecord", first=0):
        """A file of the records b"0", b"1", ..."""
        return records.write(self.folder / name, [str(first + i).encode() for i in range(count)])

    def examples(self, count, name="examples.tfrecord", first=0):
        """A file of Examples made by example_values()."""
        path = self.folder / name
        path.write_bytes(b"".join(map(framed_example, range(first, first + count))))
        return path


@functools.cache  # CRCs are slow in Python
def framed_example(i):
    return records.frame(records.example(example_values(i)))


def example_values(i):
    return {
        "id": [i],
        "name": [f"name {i}".encode()],
        "box": [i + 0.25, i + 0.5],
        "tokens": list(range(i % 4)),
    }
