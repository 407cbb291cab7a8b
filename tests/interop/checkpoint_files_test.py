"""Reads the trainer's checkpoints with the official package safetensors, and computes the accuracy
of one with NumPy. Part of interop_test.py.

RECORDPIPE_GENERATE and RECORDPIPE_CIFAR10_TRAIN are the programs.
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file

import airbench_accuracy
import small_archives


class CheckpointFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="recordpipe-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.data = small_archives.convert_in(self.folder, os.environ["RECORDPIPE_GENERATE"], 8)
        subprocess.run([os.environ["RECORDPIPE_CIFAR10_TRAIN"], "--data-dir", self.data, "--train-dir",
                        self.folder / "train", "--batch-size", "8", "--max-steps", "2"],
                       check=True, capture_output=True)

    def test_are_read_by_the_official_package(self):
        path = self.folder / "train/checkpoint-2.safetensors"
        tensors = load_file(path)
        shapes = {"conv1/weights": (64, 3, 5, 5), "local3/weights": (384, 2304),
                  "softmax_linear/biases": (10,)}
        for name, shape in shapes.items():
            for suffix in ("", "/momentum", "/ExponentialMovingAverage"):
                values = tensors[name + suffix]
                self.assertEqual((values.shape, values.dtype), (shape, np.float32))
                self.assertTrue(np.isfinite(values).all())
        # The weights are drawn at random, and only two steps have changed them.
        self.assertAlmostEqual(float(tensors["local3/weights"].std()), 0.04 * 0.774**0.5, places=3)
        self.assertEqual(tensors["input_pipeline/state"].dtype, np.uint8)
        with safe_open(path, "numpy") as checkpoint:
            self.assertEqual(checkpoint.metadata()["step"], "2")

    def test_of_airbench_have_the_accuracy_that_numpy_computes(self):
        program = pathlib.Path(os.environ["RECORDPIPE_CIFAR10_TRAIN"]).parent / "cifar10_main"
        result = subprocess.run(
            [program, "--recipe", "airbench", "--width", "4", "--data-dir", self.data, "--job-dir",
             self.folder / "job", "--train-batch-size", "8", "--train-steps", "20"],
            check=True, capture_output=True, text=True)
        correct, images = airbench_accuracy.count_correct(
            self.folder / "job/checkpoint-20.safetensors", pathlib.Path(self.data) / "eval.tfrecords")
        self.assertIn(f"({correct}/{images}) at step 20, averaged", result.stdout)


if __name__ == "__main__":
    unittest.main()
