"""cifar10_batches(): batches and states are those of the C++ program, in both directions.

RECORDPIPE_PROGRAMS is the folder of generate_cifar10_tfrecords and cifar10_batches.
"""

import os
import pathlib
import pickle
import shutil
import tempfile
import unittest

import numpy as np
import recordpipe as rp
import records
from support import run_program

PROGRAMS = pathlib.Path(os.environ.get("RECORDPIPE_PROGRAMS", "/nowhere"))
HAS_PROGRAM = (PROGRAMS / "cifar10_batches").exists()


def crc32c(data):
    """CRC-32C, from the masked CRC of the independent encoder."""
    masked = (records.masked_crc(data) - 0xA282EAD8) & 0xFFFFFFFF
    return (masked << 15 | masked >> 17) & 0xFFFFFFFF


def digest(number, batch):
    """The line of cifar10_batches --digest."""
    labels = batch["label"]
    crc = crc32c(batch["image"].tobytes() + labels.astype("<i4").tobytes())
    shown = " ".join(str(label) for label in labels[:4])
    return f"batch {number} crc32c {crc:08x} labels {shown}"


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        rng = np.random.default_rng(5)
        cls.images = rng.integers(0, 256, (300, 3, 32, 32), dtype=np.uint8)
        cls.labels = rng.integers(0, 10, 300)
        records.write(
            cls.folder / "train.tfrecords",
            [
                records.example({"image": [image.tobytes()], "label": [int(label)]})
                for image, label in zip(cls.images, cls.labels, strict=True)
            ],
        )


class Batches(Files):
    def test_plain_batches_are_the_images(self):
        dataset = rp.cifar10_batches(self.folder, shuffle="none", distort=False, batch_size=128)
        batches = list(dataset)
        self.assertEqual([b["image"].shape[0] for b in batches], [128, 128, 44])
        images = np.concatenate([b["image"] for b in batches])
        self.assertEqual(images.dtype, np.float32)
        np.testing.assert_array_equal(images, self.images.transpose(0, 2, 3, 1))
        self.assertEqual(batches[0]["label"].dtype, np.int32)
        np.testing.assert_array_equal(np.concatenate([b["label"] for b in batches]), self.labels)
        for batch in batches:
            self.assertEqual(batch["image"].ctypes.data % 64, 0)

    def test_layout_dtype_and_normalisation(self):
        options = {"shuffle": "none", "distort": False, "batch_size": 300}
        planes = rp.cifar10_batches(self.folder, dtype="uint8", layout="NCHW", **options)
        np.testing.assert_array_equal(next(iter(planes))["image"], self.images)
        mean, std = (125.3, 123.0, 113.9), (63.0, 62.1, 66.7)
        normal = rp.cifar10_batches(self.folder, mean=mean, std=std, **options)
        f = np.float32
        expected = (self.images.transpose(0, 2, 3, 1) - np.array(mean, f)) / np.array(std, f)
        np.testing.assert_array_equal(next(iter(normal))["image"], expected)

    def test_a_normalisation_is_of_all_channels(self):
        options = {"shuffle": "none", "distort": False, "batch_size": 300}
        half = next(iter(rp.cifar10_batches(self.folder, std=2, **options)))["image"]
        np.testing.assert_array_equal(half, self.images.transpose(0, 2, 3, 1) / np.float32(2))
        for wrong in ({"mean": (1, 2)}, {"std": 0}, {"std": 2, "dtype": "uint8"}):
            with self.assertRaises(ValueError):
                rp.cifar10_batches(self.folder, **wrong)

    def test_the_operators_one_by_one_yield_the_same(self):
        one_by_one = (
            rp.tfrecords(self.folder / "train.tfrecords")
            .parse(
                {
                    "image": rp.FixedLenFeature([], "bytes"),
                    "label": rp.FixedLenFeature([], "int64"),
                }
            )
            .decode_raw("image", [3, 32, 32], layout="NCHW")
            .pad_crop_flip("image", 4, seed=7)
            .image_format("image", "float32")
            .shuffle(64, seed=7)
            .repeat(2)
            .batch(128)
        )
        dataset = rp.cifar10_batches(self.folder, shuffle_buffer=64, epochs=2)
        for a, b in zip(dataset, one_by_one, strict=True):
            np.testing.assert_array_equal(a["image"], b["image"])
            np.testing.assert_array_equal(a["label"], b["label"])

    def test_operators_and_functions_take_the_batches(self):
        dataset = rp.cifar10_batches(self.folder, shuffle="none", distort=False, batch_size=100)
        means = list(dataset.map(lambda batch: float(batch["image"].mean())).take(2))
        self.assertAlmostEqual(means[0], self.images[:100].mean(), places=2)
        rows = dataset.unbatch().batch(150)
        np.testing.assert_array_equal(
            next(iter(rows))["image"], self.images[:150].transpose(0, 2, 3, 1)
        )
        kept = list(dataset.repeat(20))
        for batch in kept[::3]:
            np.testing.assert_array_equal(batch["image"], self.images[:100].transpose(0, 2, 3, 1))

    def test_batches_of_images_are_no_arrow_columns(self):
        with self.assertRaisesRegex(rp.UnsupportedError, "column 'image'"):
            rp.cifar10_batches(self.folder).__arrow_c_schema__()

    def test_it_pickles_and_resumes(self):
        dataset = rp.cifar10_batches(self.folder, batch_size=32, epochs=None, threads=2)
        iterator = iter(dataset)
        for _ in range(12):
            next(iterator)
        resumed = iter(pickle.loads(pickle.dumps(dataset)))
        resumed.load_state_dict(iterator.state_dict())
        for _ in range(5):
            np.testing.assert_array_equal(next(iterator)["image"], next(resumed)["image"])

    def test_a_file_of_another_thing_is_refused(self):
        path = self.folder / "not-a-state"
        path.write_bytes(b"something else")
        iterator = iter(rp.cifar10_batches(self.folder))
        with self.assertRaises(rp.Error):
            iterator.load_state(path)
        with self.assertRaises(FileNotFoundError):
            iterator.save_state(self.folder / "absent" / "state")
        with self.assertRaisesRegex(rp.AlreadyExistsError, "not-a-state: exists, is no state"):
            iterator.save_state(path)
        self.assertEqual(path.read_bytes(), b"something else")
        path.write_bytes(b"")
        for _ in range(2):  # an empty file, and a state
            iterator.save_state(path)
        iterator.load_state(path)
        with self.assertRaises(rp.NotFoundError):
            rp.cifar10_batches(self.folder, "eval")


@unittest.skipUnless(HAS_PROGRAM, "RECORDPIPE_PROGRAMS has no cifar10_batches")
class Program(Files):
    def run_program(self, *arguments):
        command = [PROGRAMS / "cifar10_batches", "--data-dir", self.folder, "--digest", *arguments]
        done = run_program(command, check=True)
        return [line for line in done.stdout.splitlines() if line.startswith("batch ")]

    def check_both_ways(self, dataset, *arguments):
        whole = self.run_program(*arguments)
        state = self.folder / "state"

        before = self.run_program(*arguments, "--batches", 4, "--save-state", state)
        iterator = iter(dataset)
        iterator.load_state(state)
        self.assertEqual(iterator.position, 4)
        after = [digest(4 + i, batch) for i, batch in enumerate(iterator)]
        self.assertEqual(before + after, whole)

        iterator = iter(dataset.epoch(0))
        before = [digest(i, next(iterator)) for i in range(5)]
        iterator.save_state(state)
        self.assertEqual(before + self.run_program(*arguments, "--restore-state", state), whole)
        self.assertEqual([p.name for p in self.folder.glob(".state*")], [])

    def test_states_go_both_ways(self):
        self.check_both_ways(
            rp.cifar10_batches(self.folder, batch_size=64, epochs=2),
            *("--batch-size", 64, "--epochs", 2),
        )

    def test_states_of_a_global_shuffle_of_planes(self):
        self.check_both_ways(
            rp.cifar10_batches(
                self.folder, batch_size=40, seed=3, shuffle="global", dtype="uint8", layout="NCHW"
            ),
            *("--batch-size", 40, "--seed", 3, "--shuffle", "global"),
            *("--dtype", "uint8", "--layout", "nchw"),
        )

    def test_a_worker_continues_for_the_program(self):
        iterator = iter(rp.cifar10_batches(self.folder, batch_size=16, num_shards=2, shard_index=1))
        for _ in range(3):
            next(iterator)
        iterator.save_state(self.folder / "state")
        both = self.run_program("--batch-size", 32, "--shard", "0/1")
        after = self.run_program(
            *("--batch-size", 32, "--shard", "0/1", "--restore-state", self.folder / "state")
        )
        self.assertEqual(after, both[3:])

    def test_the_state_of_another_plan_is_refused(self):
        state = self.folder / "other"
        self.run_program("--batches", 1, "--seed", 8, "--save-state", state)
        with self.assertRaisesRegex(rp.InvalidArgumentError, "seed"):
            iter(rp.cifar10_batches(self.folder)).load_state(state)


if __name__ == "__main__":
    unittest.main()
