"""The examples run, and resume as they say."""

import importlib.util
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import numpy as np
import recordpipe as rp
from support import FilesTest

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "python" / "examples"


class Examples(FilesTest):
    def setUp(self):
        super().setUp()
        draw = np.random.default_rng(1)
        with rp.Writer(self.folder / "cifar10-train.tfrecord", shards=2) as writer:
            for i in range(200):
                image = draw.integers(0, 256, (32, 32, 3), dtype=np.uint8)
                writer.write({"image": image.tobytes(), "label": i % 10})

    def run_example(self, name, *arguments):
        ended = subprocess.run(
            [sys.executable, "-B", EXAMPLES / name, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=200,
        )
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout.splitlines()

    @unittest.skipIf(importlib.util.find_spec("jax") is None, "jax is not installed")
    def test_jax(self):
        arguments = (
            *(self.folder / "cifar10-train-*.tfrecord",),
            *("--batch-size", 16, "--epochs", 2, "--save-every", 5),
        )
        whole = self.run_example(
            "train_jax.py", *arguments, "--checkpoint", self.folder / "whole.npz"
        )
        self.assertEqual(whole[-1], "trained 25 steps")
        parts = (*arguments, "--checkpoint", self.folder / "parts.npz")
        first = self.run_example("train_jax.py", *parts, "--stop-after", 13)
        self.assertEqual(first[:2], whole[:2])
        second = self.run_example("train_jax.py", *parts)
        self.assertEqual(second[0], "resumed after step 13")
        self.assertEqual(second[1:], whole[2:])
        with (
            np.load(self.folder / "whole.npz") as a,
            np.load(self.folder / "parts.npz") as b,
        ):
            for name in ("filters", "hidden", "output"):
                np.testing.assert_array_equal(a[name], b[name])

    @unittest.skipIf(importlib.util.find_spec("torch") is None, "torch is not installed")
    def test_torch(self):
        import torch

        arguments = (
            *(self.folder / "cifar10-train-*.tfrecord",),
            *("--batch-size", 16, "--epochs", 2, "--save-every", 5),
        )
        whole, parts = self.folder / "whole.pt", self.folder / "parts.pt"
        lines = self.run_example("train_torch.py", *arguments, "--checkpoint", whole)
        self.assertEqual([line[:7] for line in lines], ["epoch 0", "epoch 1"])
        # 12 batches in an epoch: in the middle of the first, and after it.
        for stop in (7, 5, 4):
            self.run_example(
                "train_torch.py", *arguments, "--checkpoint", parts, "--stop-after", stop
            )
        self.run_example("train_torch.py", *arguments, "--checkpoint", parts)
        a, b = (torch.load(path)["model"] for path in (whole, parts))
        for name in a:
            self.assertTrue(torch.equal(a[name], b[name]), name)


if __name__ == "__main__":
    unittest.main()
