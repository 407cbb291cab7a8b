#!/usr/bin/env python3
"""Runs both columns of the tables in docs/migrating.md, and compares their elements.

The left column is run if its package is installed. Needs the Python package: PYTHONPATH.
"""
import importlib.util
import os
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/python"))

import numpy as np  # noqa: E402
import recordpipe as rp  # noqa: E402
import records  # noqa: E402

PAGE = ROOT / "docs/migrating.md"
RANDOM = ("shuffle(", "shuffle=True", "sample_from_datasets")  # the same elements in another order


def installed(package):
    return importlib.util.find_spec(package) is not None


def tables():
    """Yields (line, the other package, its code, our code) for each line of the page's tables."""
    other = None
    for number, line in enumerate(PAGE.read_text(encoding="utf-8").splitlines(), 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or set(cells[0]) <= set("- "):
            continue
        codes = [re.fullmatch(r"`(.*)`", cell) for cell in cells[:2]]
        if all(codes):
            yield number, other, codes[0][1], codes[1][1]
        else:
            other = cells[0]


def flat(value):
    """The numbers and strings of plain values, sorted."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return [value]
    return sorted(leaf for member in value for leaf in flat(member))


def plain(value):
    """The value without its package's types, to compare."""
    if type(value).__module__.startswith("tensorflow") and hasattr(value, "to_list"):
        return plain(value.to_list())  # a RaggedTensor
    if isinstance(value, rp.Ragged):
        return plain(value.to_list())
    if hasattr(value, "as_numpy_iterator"):
        return [plain(element) for element in value]
    if isinstance(value, rp.Dataset) or type(value).__name__ in ("DataLoader", "Loader"):
        return [plain(element) for element in value]
    if type(value).__name__ == "MapDataset":
        return [plain(value[i]) for i in range(len(value))]
    if hasattr(value, "numpy"):
        return plain(value.numpy())
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(member) for member in value]
    return value


class Migrating(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        for file in range(2):
            rows = [records.example({
                "label": [i], "image": [b"image %d" % i], "pixels": [bytes(range(i, i + 12))],
                "box": [i + 0.5, 2.0], "tokens": list(range(i % 4))})
                for i in range(10 * file, 10 * file + 10)]
            for name in (f"train-{file}.tfrecord", f"train-{file:05}-of-00002"):
                records.write(pathlib.Path(name), rows)
        with rp.Writer("train.gz", compression="gzip") as writer:
            for row in rows:
                writer.write(row)

    def run_line(self, code, names):
        """Runs an expression or an assignment; returns the expression's value."""
        assigned = re.match(r"(\w+) = (.*)", code)
        value = eval(assigned[2] if assigned else code, names)  # noqa: S307 (our own page)
        if assigned:
            names[assigned[1]] = value
        return value

    def run_table(self, other, package):
        names = {"np": np, "files": ["train-0.tfrecord", "train-1.tfrecord"]}
        if other == "PyTorch":
            names.update(package, rp=rp)
        ours, left, compared = dict(names, rp=rp), dict(names, **package), 0
        for line, of, code, our_code in tables():
            if of != other:
                continue
            with self.subTest(line=line, code=our_code):
                mine = plain(self.run_line(our_code, ours))
                if not package or other == "torchdata":
                    continue
                theirs = plain(self.run_line(code, left))
                if not isinstance(mine, (list, bytes, int)) or "write" in code:
                    continue  # writers, and objects that only the next lines use
                if any(word in code for word in RANDOM):
                    mine, theirs = flat(mine), flat(theirs)
                self.assertEqual(mine, theirs)
                compared += 1
        if not package:
            self.skipTest(f"our column works; {other} is not installed, so nothing is compared")
        return compared

    def test_tf_data(self):
        package = {}
        if installed("tensorflow"):
            import tensorflow
            package["tf"] = tensorflow
        self.assertGreater(self.run_table("tf.data", package), 38)

    def test_tfrecord(self):
        package = {}
        if installed("tfrecord"):
            if "tensorflow" in sys.modules:
                self.skipTest("tfrecord can't be imported beside TensorFlow: run it alone")
            import tfrecord.reader
            package["tfrecord"] = tfrecord
        self.assertEqual(self.run_table("tfrecord", package), 3)

    def test_torchdata(self):
        self.assertEqual(self.run_table("torchdata", {"none": None}), 0)

    def test_pytorch(self):
        if not installed("torch"):
            self.skipTest("PyTorch is not installed, so its table is not run")
        import recordpipe.torch as rpt
        from torch.utils.data import DataLoader
        from torch.utils.data.distributed import DistributedSampler
        package = {"rpt": rpt, "DataLoader": DataLoader, "DistributedSampler": DistributedSampler}
        self.assertEqual(self.run_table("PyTorch", package), 6)


if __name__ == "__main__":
    unittest.main()
