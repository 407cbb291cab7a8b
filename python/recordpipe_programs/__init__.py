"""The programs of a wheel: C++ programs that pip can't put on PATH directly, because they look for
their libraries relative to this folder. (Not in recordpipe: importing that imports NumPy.)
"""

import os
import pathlib
import sys
from typing import NoReturn

__all__ = ["tfrecord"]


def tfrecord() -> NoReturn:
    """Becomes `tfrecord` with this process's arguments; see `tfrecord --help`.

    With `--ray ADDRESS` as the first argument, runs the command on a cluster; see ray_command.py.
    """
    if len(sys.argv) > 1 and sys.argv[1].split("=", 1)[0] == "--ray":
        from recordpipe_programs.ray_command import main

        sys.exit(main(sys.argv[1:]))
    os.environ.setdefault("RECORDPIPE_PYTHON", sys.executable)  # for Parquet and Arrow
    program = pathlib.Path(__file__).with_name("tfrecord")
    os.execv(program, ["tfrecord", *sys.argv[1:]])
