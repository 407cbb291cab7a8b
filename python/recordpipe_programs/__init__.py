"""The programs of a wheel: C++ programs that pip can't put on PATH directly, because they look for
their libraries relative to this folder. (Not in recordpipe: importing that imports NumPy.)
"""

import os
import pathlib
import sys
from typing import NoReturn

__all__ = ["tfrecord"]


def tfrecord() -> NoReturn:
    """Becomes `tfrecord` with this process's arguments; see `tfrecord --help`."""
    program = pathlib.Path(__file__).with_name("tfrecord")
    os.execv(program, ["tfrecord", *sys.argv[1:]])
