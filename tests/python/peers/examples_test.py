"""The examples run, and resume as they say."""

import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import numpy as np
import recordpipe as rp
import rlds
from support import FilesTest

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "python" / "examples"


class Examples(FilesTest):
    def setUp(self):
        super().setUp()
        self.records = np.random.default_rng(1).integers(0, 256, (240, 3073), dtype=np.uint8)
        self.records[:, 0] %= 10
        names = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
        archive = self.folder / "cifar-10-binary.tar.gz"
        with tarfile.open(archive, "w:gz") as tar:
            for name, part in zip(names, np.split(self.records, 6), strict=True):
                member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
                member.size = part.nbytes
                tar.addfile(member, io.BytesIO(part.tobytes()))
        self.run_example("make_cifar10.py", archive, self.folder)
        self.train = self.folder / "train.tfrecords"

    def run_example(self, name, *arguments):
        ended = subprocess.run(
            [sys.executable, "-B", EXAMPLES / name, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=200,
        )
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout.splitlines()

    def test_cifar10_files(self):
        read = []
        for name in ("train.tfrecords", "eval.tfrecords"):
            dataset = rp.tfrecords(self.folder / name).parse(
                {
                    "image": rp.RawFeature([3072], "uint8"),
                    "label": rp.FixedLenFeature([], "int64"),
                }
            )
            read += [[row["label"], *row["image"]] for row in dataset]
        np.testing.assert_array_equal(read, self.records)

    @unittest.skipIf(importlib.util.find_spec("torch") is None, "torch is not installed")
    def test_octo_loader(self):
        folders = [
            rlds.write(self.folder, seed, (20, 30), name=name, camera=camera)[0]
            for seed, (name, camera) in enumerate(
                (("robot_a", "image"), ("robot_b", "front_image"), ("robot_c", "image_0"))
            )
        ]
        lines = self.run_example("octo_loader.py", *folders, "--weights", 5, 3, 2, "--batches", 9)
        self.assertIn("'primary': (64, 224, 224, 3)", lines[0])
        self.assertIn("'wrist': (64, 128, 128, 3)", lines[0])
        self.assertIn("'action_mask': (64, 8)", lines[0])
        self.assertIn("torch.Size([64, 8, 7]) torch.float32", lines[1])

    @unittest.skipIf(importlib.util.find_spec("torch") is None, "torch is not installed")
    def test_octo_loader_arguments(self):
        usage = self.run_example("octo_loader.py", "--help")
        self.assertTrue(usage[0].startswith("usage: octo_loader.py"), usage[0])
        unknown = rlds.write(self.folder, lengths=(2,), shards=1, name="unknown")[0]
        for arguments, message in (((), "folders"), ((unknown,), "FEATURES has no 'unknown'")):
            ended = subprocess.run(
                [sys.executable, "-B", EXAMPLES / "octo_loader.py", *map(str, arguments)],
                capture_output=True,
                text=True,
                timeout=200,
            )
            self.assertEqual(ended.returncode, 2)
            self.assertIn(message, ended.stderr)

    @unittest.skipIf(importlib.util.find_spec("jax") is None, "jax is not installed")
    def test_jax(self):
        arguments = (
            *(self.train,),
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
            *(self.train,),
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

    @unittest.skipIf(importlib.util.find_spec("torch") is None, "torch is not installed")
    def test_ddp_goes_on_with_another_number_of_processes(self):
        import torch

        arguments = self.train, "--batch-size", 24, "--epochs", 2, "--save-every", 100
        whole, parts = self.folder / "whole.pt", self.folder / "parts.pt"

        def run(processes, *more):
            ended = subprocess.run(
                [
                    *(sys.executable, "-B", "-m", "torch.distributed.run", "--standalone"),
                    *(f"--nproc-per-node={processes}", EXAMPLES / "train_ddp.py"),
                    *map(str, (*arguments, *more)),
                ],
                capture_output=True,
                text=True,
                timeout=300,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            self.assertEqual(ended.returncode, 0, ended.stderr)
            return ended.stdout.splitlines()

        run(1, "--checkpoint", whole)
        run(3, "--checkpoint", parts, "--stop-after", 6)  # 10 in an epoch
        self.assertEqual(run(2, "--checkpoint", parts)[0], "resumed in epoch 0")
        a, b = (torch.load(path)["model"] for path in (whole, parts))
        for name in a:  # but for the order of sums
            torch.testing.assert_close(a[name], b[name], rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
