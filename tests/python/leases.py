"""What the tests of leased batches share: batches of all kinds of columns, and their copies."""

import pathlib
import subprocess
import sys

import numpy as np
import recordpipe as rp
import records

ROWS = 16
FEATURES = {
    "id": rp.FixedLenFeature([], "int64"),
    "box": rp.FixedLenFeature([64], "float32"),
    "pixels": rp.RawFeature([16, 16, 3], "uint8"),
    "tokens": rp.RaggedFeature("int64"),
    "weights": rp.RaggedFeature("float32"),
    "name": rp.FixedLenFeature([], "bytes"),
}


def write(path, count=160):
    """Examples whose values all depend on their number, with rows of 0 to 63 values."""
    images = np.random.default_rng(1).integers(0, 256, (count, 768), dtype=np.uint8)
    return records.write(
        path,
        [
            records.example(
                {
                    "id": [i],
                    "box": [i + k / 64 for k in range(64)],
                    "pixels": [images[i].tobytes()],
                    "tokens": [i * 1000 + k for k in range(i * 37 % 64)],
                    "weights": [i + k / 8 for k in range(1 + i * 23 % 64)],
                    "name": [f"name {i}".encode()],
                }
            )
            for i in range(count)
        ],
    )


def dataset(path, batches=1000):
    """`batches` shuffled batches: consecutive ones differ in every column."""
    return (
        rp.tfrecords(path)
        .parse(FEATURES)
        .shuffle(seed=5)
        .repeat()
        .batch(ROWS)
        .take(batches)
        .prefetch()
    )


def columns(batch):
    """The arrays of numbers of a batch, which are lent; bytes are Python's own objects."""
    arrays = {name: batch[name] for name in ("id", "box", "pixels")}
    for name in ("tokens", "weights"):
        arrays[f"{name}.values"] = batch[name].values
        arrays[f"{name}.row_splits"] = batch[name].row_splits
    return arrays


def copies(batch):
    return {name: np.array(array) for name, array in columns(batch).items()}


def run(code, *arguments):
    """Runs a program in another process; returns its exit status and what it wrote."""
    paths = [str(pathlib.Path(rp.__file__).parents[1]), str(pathlib.Path(__file__).parent)]
    code = f"import sys; sys.path[:0] = {paths!r}\n{code}"
    ended = subprocess.run(
        [sys.executable, "-B", "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=100,
    )
    return ended.returncode, ended.stdout + ended.stderr
