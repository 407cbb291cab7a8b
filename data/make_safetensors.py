"""Writes data/safetensors: a file by the official safetensors package.

    python3 -B data/make_safetensors.py data/safetensors
"""

import pathlib
import sys

import numpy
from safetensors.numpy import save_file

tensors = {
    "conv/weights": numpy.arange(2 * 1 * 3 * 3, dtype=numpy.float32).reshape(2, 1, 3, 3) / 4,
    "step": numpy.array(12, dtype=numpy.int64),
    "mask": numpy.array([[True, False], [False, True]]),
    "empty": numpy.zeros((0, 4), dtype=numpy.float32),
    "half": numpy.array([1.5, -2], dtype=numpy.float16),
}
save_file(tensors, pathlib.Path(sys.argv[1]) / "official.safetensors", metadata={"step": "12"})
