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


# Features whose number of values differs between steps, by name: the feature, and a step's value.
RAGGED = {
    **{
        f"sequence_{dtype}": (F.Sequence(np.dtype(dtype)),
                              lambda rng, n, dtype=dtype: list(numbers(rng, dtype, (n,))))
        for dtype in DTYPES
    },
    "vectors": (F.Sequence(F.Tensor(shape=(2, 3), dtype=np.float32)),
                lambda rng, n: list(rng.normal(size=(n, 2, 3)).astype(np.float32))),
    "texts": (F.Sequence(F.Text()), lambda rng, n: ["t" * (k + n) for k in range(n)]),
    "pairs": (F.Sequence(F.Tensor(shape=(2,), dtype=np.object_)),
              lambda rng, n: [[b"a" * k, b"\xff"] for k in range(n)]),
    "labels": (F.Sequence(F.ClassLabel(num_classes=9)), lambda rng, n: list(range(n))),
    "boxes": (F.Sequence(F.BBoxFeature()),
              lambda rng, n: [F.BBox(0.1, 0.2, 0.3 + k / 10, 0.9) for k in range(n)]),
    "packed": (F.Sequence(F.Tensor(shape=(4,), dtype=np.uint16, encoding="zlib")),
               lambda rng, n: list(numbers(rng, "uint16", (n, 4)))),
    "objects": (F.Sequence({"id": np.int32, "name": {"text": F.Text()}}),
                lambda rng, n: [{"id": k - n, "name": {"text": f"{k}"}} for k in range(n)]),
    "rows": (F.Sequence(F.Sequence(np.int64)), lambda rng, n: [[k] * (n - k) for k in range(n)]),
    "deep": (F.Sequence(F.Sequence(F.Sequence(F.Tensor(shape=(2,), dtype=np.float64)))),
             lambda rng, n: [[list(rng.normal(size=(j, 2))) for j in range(k)] for k in range(n)]),
    "words": (F.Sequence({"line": F.Sequence(F.Text())}),
              lambda rng, n: [{"line": ["w" * k] * k} for k in range(n)]),
    "any_length": (F.Tensor(shape=(None, 2), dtype=np.int32, encoding="bytes"),
                   lambda rng, n: numbers(rng, "int32", (n + 1, 2))),
    "any_shape": (F.Tensor(shape=(None, 3, None), dtype=np.float32, encoding="zlib"),
                  lambda rng, n: rng.normal(size=(n + 1, 3, 2)).astype(np.float32)),
    "complex": (F.Tensor(shape=(2,), dtype=np.complex64, encoding="bytes"),
                lambda rng, n: numbers(rng, "complex64", (2,))),
    # TFDS can't write one that is missing.
    "optional": (F.Scalar(np.int64, optional=True), lambda rng, n: n),
}


def listed(value):
    """Nested lists of arrays, of a ragged value of any side."""
    if isinstance(value, (rp.Ragged, tf.RaggedTensor, list)):
        return [listed(each) for each in value]
    return np.asarray(value)


class RaggedSteps(unittest.TestCase):
    LENGTHS = (5, 1, 0, 9, 3)

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        features = F.FeaturesDict({
            "steps": F.Dataset({"t": np.int64, "views": F.Sequence(F.Image(
                shape=(4, 5, 3), encoding_format="png")),
                **{name: feature for name, (feature, _) in RAGGED.items()}}),
            "tags": F.Sequence(F.Text()),
            "table": F.Sequence(F.Sequence(np.int32)),
            "grid": F.Tensor(shape=(None, 2), dtype=np.float32),
        })
        rng = np.random.default_rng(6)
        records = []
        for length in cls.LENGTHS:
            steps = []
            for t in range(length):
                counts = iter(rng.integers(0, 4, 100))
                steps.append({"t": t, "views": [pixels(4, 5, 3, t)] * int(next(counts))} | {
                    name: make(rng, int(next(counts))) for name, (_, make) in RAGGED.items()})
            records.append(features.serialize_example({
                "steps": steps, "tags": ["x"] * length, "table": [[length]] * length,
                "grid": rng.normal(size=(length, 2)).astype(np.float32)}))
        write_set(cls.temporary.name, features.to_json(), records, [2, 3])
        builder = tfds.builder_from_directory(cls.temporary.name)
        examples = tfds.as_numpy(builder.as_dataset(split="train", read_config=ORDER))
        cls.episodes = [
            ({name: each for name, each in example.items() if name != "steps"},
             [dict(leaves(each)) for each in example["steps"]]) for example in examples]
        cls.numbered = [(i, t) for i, length in enumerate(cls.LENGTHS) for t in range(length)]

    def assert_same(self, found, expected, name):
        if isinstance(expected, list):
            self.assertEqual(len(found), len(expected), name)
            for each, other in zip(found, expected):
                self.assert_same(each, other, name)
            return
        if isinstance(found, list):  # an empty one
            self.assertEqual((found, len(expected)), ([], 0), name)
            return
        if expected.dtype != object:
            self.assertEqual(found.dtype, expected.dtype, name)
        if expected.size or found.size:  # the inner shape of an empty Ragged is not compared
            np.testing.assert_array_equal(found, expected, name)

    def decoded(self, name, value):
        if name != "views":
            return listed(value)
        images = [tf.io.decode_image(each).numpy() for each in value]
        return np.array(images) if images else np.zeros((0, 4, 5, 3), np.uint8)

    def test_each_step_equals_tfds(self):
        steps = rp.tfds(self.temporary.name).steps()
        self.assertEqual(len(steps), len(self.numbered))
        for row, (episode, t) in zip(steps, self.numbered):
            for name, expected in self.episodes[episode][1][t].items():
                self.assert_same(self.decoded(name, at(row, name)), listed(expected), name)
        for i in (0, 7, len(self.numbered) - 1):
            episode, t = self.numbered[i]
            self.assert_same(listed(steps[i]["rows"]),
                             listed(self.episodes[episode][1][t]["rows"]), "rows")

    def test_batches_and_windows_equal_steps(self):
        draw = random.Random(4)
        names = [name for name in self.episodes[0][1][0] if name not in ("t", "views", "optional")]
        for pad in ("edge", "zero"):
            offsets = {name: [draw.randrange(-6, 6) for _ in range(3)]
                       for name in draw.sample(names, 9)
                       if pad == "edge" or not name.startswith("any_")}
            steps = rp.tfds(self.temporary.name).steps(offsets=offsets, pad=pad)
            rows = (
                {name: at(batch, name)[i] for name in names}
                for batch in steps.batch(4) for i in range(len(batch["t"])))
            for row, (episode, t) in zip(rows, self.numbered, strict=True):
                values = self.episodes[episode][1]
                for name in names:
                    if name not in offsets:
                        self.assert_same(listed(row[name]), listed(values[t][name]), name)
                        continue
                    found = row[name]
                    self.assertEqual(len(found), 3)
                    for place, offset in enumerate(offsets[name]):
                        there = 0 <= t + offset < len(values)
                        if there or pad == "edge":
                            expected = values[min(max(t + offset, 0), len(values) - 1)][name]
                            self.assert_same(listed(found[place]), listed(expected), name)
                        elif name == "complex":
                            np.testing.assert_array_equal(found[place], 0)
                        else:
                            self.assertEqual(len(found[place]), 0, name)

    def test_features_of_an_episode(self):
        steps = rp.tfds(self.temporary.name).steps(features=["t", "tags", "table", "grid"])
        for row, (episode, _) in zip(steps, self.numbered, strict=True):
            for name, expected in self.episodes[episode][0].items():
                self.assert_same(listed(row[name]), listed(expected), name)


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
