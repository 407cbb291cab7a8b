#!/usr/bin/env python3
"""Compares steps() with the episodes that TensorFlow Datasets reads: windows with slices of them.

Run by python_package_test.py, in a process of its own. The data sets are made here, in a folder for
temporary files; nothing is downloaded. RECORDPIPE_SHARED: as of tfds_test.py.
"""

import random
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds
from tfds_test import BUILD_TFDS, ORDER, numbers, pixels, write_set

import recordpipe as rp

F = tfds.features
DTYPES = [
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("bool", "float16", "float32", "float64"),
]


def step_features():
    plain = {dtype: F.Tensor(shape=(3,), dtype=np.dtype(dtype)) for dtype in DTYPES}
    scalars = {f"scalar_{dtype}": F.Scalar(np.dtype(dtype)) for dtype in DTYPES}
    return {
        "observation": {
            "image": F.Image(shape=(24, 32, 3), encoding_format="jpeg"),
            "wrist": F.Image(shape=(20, 16, 3), encoding_format="png"),
            "state": F.Tensor(shape=(2, 4), dtype=np.float32),
        },
        **plain,
        **scalars,
        "bytes_float64": F.Tensor(shape=(2, 2), dtype=np.float64, encoding="bytes"),
        "zlib_uint8": F.Tensor(shape=(5, 6), dtype=np.uint8, encoding="zlib"),
        "label": F.ClassLabel(names=["cat", "dog"]),
        "box": F.BBoxFeature(),
        "texts": F.Tensor(shape=(2,), dtype=np.object_),
        "language_instruction": F.Text(),
    }


def step(rng, episode, t):
    made = {dtype: numbers(rng, dtype, (3,)) for dtype in DTYPES}
    made |= {f"scalar_{dtype}": numbers(rng, dtype, ()) for dtype in DTYPES}
    return made | {
        "observation": {
            "image": pixels(24, 32, 3, episode + t),
            "wrist": pixels(20, 16, 3, t),
            "state": rng.normal(size=(2, 4)).astype(np.float32),
        },
        "bytes_float64": rng.normal(size=(2, 2)),
        "zlib_uint8": rng.integers(0, 255, size=(5, 6)).astype(np.uint8),
        "label": t % 2,
        "box": F.BBox(ymin=0.1, xmin=0.2, ymax=0.5, xmax=0.9 - t / 100),
        "texts": ["a" * t, "\u00e4"],
        "language_instruction": f"pick up block {episode}",
    }


def leaves(value, prefix=""):
    for name, each in value.items():
        if isinstance(each, dict):
            yield from leaves(each, f"{prefix}{name}/")
        else:
            yield f"{prefix}{name}", each


def at(row, path):
    for name in path.split("/"):
        row = row[name]
    return row


def stacked(rows):
    """bytes stay objects: NumPy's own byte strings lose trailing zeros."""
    if isinstance(rows[0], bytes):
        array = np.empty(len(rows), object)
        array[:] = rows
        return array
    return np.stack(rows)


def window_of(values, step, offsets, pad):
    last = len(values) - 1
    rows = [values[min(max(step + offset, 0), last)] for offset in offsets]
    if pad == "zero":
        for i, offset in enumerate(offsets):
            if not 0 <= step + offset <= last:
                empty = b"" if values.dtype == object else 0
                rows[i] = empty if isinstance(rows[i], bytes) else np.full_like(values[0], empty)
    return stacked(rows)


class Steps(unittest.TestCase):
    LENGTHS = (9, 1, 0, 4, 12)
    IMAGES = ("observation/image", "observation/wrist")

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        features = F.FeaturesDict(
            {"steps": F.Dataset(step_features()), "episode_metadata": {"number": np.int32}})
        rng = np.random.default_rng(5)
        records = []
        for episode, length in enumerate(cls.LENGTHS):
            made = {"steps": [step(rng, episode, t) for t in range(length)],
                    "episode_metadata": {"number": episode}}
            records.append(features.serialize_example(made))
        write_set(cls.temporary.name, features.to_json(), records, [2, 3])
        builder = tfds.builder_from_directory(cls.temporary.name)
        cls.episodes = []
        for example in tfds.as_numpy(builder.as_dataset(split="train", read_config=ORDER)):
            steps = [dict(leaves(each)) for each in example["steps"]]
            cls.episodes.append(
                {name: stacked([each[name] for each in steps]) for name in steps[0]}
                if steps else None)
        cls.numbered = [
            (episode, t) for episode, length in enumerate(cls.LENGTHS) for t in range(length)]

    def steps(self, **arguments):
        ds = rp.tfds(self.temporary.name).steps(**arguments)
        for image in self.IMAGES:
            ds = ds.decode_image(image, dct="fast")  # as TFDS
        return ds

    def compare(self, batches, offsets, pad="edge"):
        number = 0
        for batch in batches:
            for row in range(len(batch["label"])):
                episode, t = self.numbered[number]
                number += 1
                for name, values in self.episodes[episode].items():
                    found = at(batch, name)[row]
                    expected = values[t]
                    if name in offsets:
                        expected = window_of(values, t, offsets[name], pad)
                    if values.dtype != object:
                        self.assertEqual(found.dtype, values.dtype, name)
                    np.testing.assert_array_equal(found, expected, name)
        self.assertEqual(number, len(self.numbered))

    def test_all_leaves_of_all_steps(self):
        self.compare(self.steps().batch(4), {})

    def test_random_windows(self):
        draw = random.Random(3)
        names = list(self.episodes[0])
        for _ in range(8):
            pad = draw.choice(["edge", "zero"])
            chosen = draw.sample(names, 8)
            if pad == "zero":  # decoded images have no size that zeros could have
                chosen = [name for name in chosen if name not in self.IMAGES]
            offsets = {name: [draw.randrange(-14, 14) for _ in range(draw.randrange(1, 6))]
                       for name in chosen}
            self.compare(self.steps(offsets=offsets, pad=pad).batch(5), offsets, pad)

    def test_episodes_stay_encoded(self):
        found = list(rp.tfds(self.temporary.name).map_episode(lambda episode: episode))
        self.assertEqual(len(found), len(self.LENGTHS))
        for episode, expected in zip(found, self.episodes):
            if expected is None:
                continue
            for name, values in expected.items():
                ours = at(episode["steps"], name)
                if name in self.IMAGES:
                    ours = np.stack([tf.io.decode_image(each).numpy() for each in ours])
                np.testing.assert_array_equal(ours, values, name)

    def test_statistics(self):
        found = rp.episode_statistics(
            rp.tfds(self.temporary.name), ["float32", "uint8", "bytes_float64"])
        for name, statistics in found.items():
            values = np.concatenate(
                [each[name] for each in self.episodes if each is not None]).astype(np.float64)
            np.testing.assert_allclose(statistics.mean, values.mean(0))
            np.testing.assert_allclose(statistics.std, values.std(0))
            np.testing.assert_allclose(statistics.q99, np.quantile(values, 0.99, axis=0))
            np.testing.assert_array_equal(statistics.max, values.max(0))


@unittest.skipUnless(BUILD_TFDS.exists(), f"there is no {BUILD_TFDS}")
class SharedEpisodes(unittest.TestCase):
    """The episodes of build_tfds, and what TFDS read when they were made."""

    def test_windows(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, BUILD_TFDS, folder], check=True,
                           stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            expected = dict(np.load(f"{folder}/arm_episodes.npz", allow_pickle=True))
            images = ("observation/image", "observation/wrist_image")
            offsets = {"action": [0, 1, 2, 3], "observation/image": [-1, 0]}
            ds = rp.tfds(f"{folder}/arm_episodes").steps(
                features=[*images, "observation/state", "action", "is_last",
                          "language_instruction"], offsets=offsets)
            for image in images:
                ds = ds.decode_image(image, dct="fast")
            rows = iter(ds)
            count = 0
            episodes = {int(key.split("/")[0]) for key in expected}
            for episode in sorted(episodes):
                values = {key.split("/", 1)[1].removeprefix("steps/"): each
                          for key, each in expected.items() if int(key.split("/")[0]) == episode}
                for t in range(len(values["action"])):
                    row = next(rows)
                    count += 1
                    for name, found in leaves(row):
                        if name.endswith("_mask"):
                            continue
                        wanted = values[name][t]
                        if name in offsets:
                            wanted = window_of(values[name], t, offsets[name], "edge")
                        np.testing.assert_array_equal(found, wanted, name)
            self.assertEqual(count, len(ds))


if __name__ == "__main__":
    unittest.main()
