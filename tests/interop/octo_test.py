#!/usr/bin/env python3
"""Compares the rows of octo_loader.py with those of its twin in tf.data: a mixture of three data sets.

Run by python_package_test.py, in a process of its own.
"""

import collections
import contextlib
import importlib.util
import io
import os
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests/python"), str(ROOT / "tests/bench/peers")]

import numpy as np
import rlds
import tf_octo_loader as theirs

CAMERAS = {"robot_a": "image", "robot_b": "front_image", "robot_c": "image_0"}
WEIGHTS = [0.5, 0.3, 0.2]
LENGTHS = (3, 12, 1, 9)


def octo_loader():
    """The example's module, of which only steps() is used: PyTorch is not needed."""
    if importlib.util.find_spec("torch") is None:
        stub = types.ModuleType("recordpipe.torch")
        stub.Loader = object
        sys.modules["recordpipe.torch"] = stub
    path = ROOT / "python/examples/octo_loader.py"
    spec = importlib.util.spec_from_file_location("octo_loader", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Mixture(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folders = [
            rlds.write(pathlib.Path(temporary.name), seed, LENGTHS, name=name, camera=camera)[0]
            for seed, (name, camera) in enumerate(CAMERAS.items())
        ]
        cls.ours = octo_loader()
        cls.rows = {}  # by their actions: (data set, row)
        for number, folder in enumerate(cls.folders):
            ds = cls.ours.steps(str(folder))
            for row in ds.take(sum(LENGTHS)):
                cls.rows[row["action"].tobytes()] = number, row
        assert len(cls.rows) == len(CAMERAS) * sum(LENGTHS)

    def test_names(self):
        self.assertEqual(theirs.FEATURES, self.ours.FEATURES)

    def test_rows_and_weights(self):
        found, seen = collections.Counter(), set()
        mixture = theirs.loader(self.folders, WEIGHTS, batch_size=20, buffer=10)
        for batch in mixture.take(30).as_numpy_iterator():
            for i in range(20):
                key = batch["action"][i].tobytes()
                number, row = self.rows[key]
                found[number] += 1
                seen.add(key)
                self.assertEqual(set(batch), set(row))
                self.assertEqual(batch["language"][i], row["language"])
                np.testing.assert_array_equal(batch["action_mask"][i], row["action_mask"])
                for camera in theirs.SIZES:
                    pixels = batch[camera][i]
                    self.assertEqual((pixels.dtype, pixels.shape), (np.uint8, row[camera].shape))
                    difference = np.abs(pixels.astype(int) - row[camera])
                    self.assertLessEqual(difference.max(), 1, camera)
        self.assertEqual(seen, set(self.rows))
        for number, weight in enumerate(WEIGHTS):
            # Four standard deviations of 600 draws are 0.08 at most.
            self.assertAlmostEqual(found[number] / 600, weight, delta=0.08)

    def test_command_line(self):
        arguments = [*map(str, self.folders), "--weights", "5", "3", "2", "--batches", "2",
                     "--buffer", "10", "--batch-size", "4"]
        with (mock.patch.object(sys, "argv", ["tf_octo_loader.py", *arguments]),
              contextlib.redirect_stdout(io.StringIO()) as printed):
            theirs.main()
        self.assertIn("'primary': (4, 224, 224, 3)", printed.getvalue())
        self.assertIn("'action': (4, 8, 7)", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
