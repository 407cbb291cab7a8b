#!/usr/bin/env python3
"""Compares tfds() with TensorFlow Datasets itself: each class of tfds.features, leaf for leaf.

Run by python_package_test.py, in a process of its own. The data sets are made here, in
a folder for temporary files; nothing is downloaded. RECORDPIPE_SHARED: a folder with
data/tfds/build_tfds, whose three data sets are compared, too (default: ../shared beside the
repository).
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

os.environ.update(CUDA_VISIBLE_DEVICES="", NO_GCE_CHECK="true", TF_CPP_MIN_LOG_LEVEL="3")

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds

import recordpipe as rp

F = tfds.features
ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("RECORDPIPE_SHARED", ROOT.parent / "shared"))
BUILD_TFDS = SHARED / "data/tfds/build_tfds"
ORDER = tfds.ReadConfig(interleave_cycle_length=1, try_autocache=False)


def pixels(height, width, channels, seed, dtype=np.uint8):
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    image = x * 5 + y * 3 + c * 40 + seed * 7
    if dtype == np.float32:
        return (image / 7 - 3).astype(np.float32)
    return (image * (211 if dtype == np.uint16 else 1)).astype(dtype)


def jpeg(image):
    return tf.io.encode_jpeg(image).numpy()


def png(image):
    return tf.io.encode_png(image).numpy()


NUMBERS = [
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("bool", "float16", "float32", "float64"),
]


def numbers(rng, dtype, shape):
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        return rng.normal(size=shape).astype(dtype) * 100
    if dtype.startswith("complex"):
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    info = np.iinfo(dtype)
    drawn = rng.integers(info.min, info.max, size=shape, dtype=dtype, endpoint=True)
    return drawn if shape else np.dtype(dtype).type(drawn)


# Each set: features, and a function that makes an Example of a random generator and a number.


def scalars():
    features = {f"scalar_{dtype}": F.Scalar(np.dtype(dtype)) for dtype in NUMBERS}
    features |= {f"dtype_{dtype}": np.dtype(dtype) for dtype in NUMBERS}

    def make(rng, i):
        return {name: numbers(rng, name.split("_")[1], ()) for name in features} | {
            "text": f"line {i} \u00e4\u4e16",
            "empty": "",
            "bytes": b"\x00\xff" * i,
            "label": ["cat", "dog"][i % 2],
            "unnamed": i % 7,
            "none": -1,
            "box": F.BBox(ymin=0.1, xmin=0.2, ymax=0.5, xmax=0.5 + i / 20),
            "a/slash": i,
            "nested": {"inner": {"deep/er": i, "label": "b"}},
        }

    return features | {
        "text": F.Text(),
        "empty": F.Text(),
        "bytes": F.Tensor(shape=(), dtype=np.object_),
        "label": F.ClassLabel(names=["cat", "dog"]),
        "unnamed": F.ClassLabel(num_classes=7),
        "none": F.ClassLabel(num_classes=7),
        "box": F.BBoxFeature(),
        "a/slash": np.int32,
        "nested": {"inner": {"deep/er": np.int16, "label": F.ClassLabel(names=["a", "b"])}},
    }, make


def tensors(encoding):
    dtypes = NUMBERS
    if encoding != "none":  # TFDS can't read its own encoded uint32s
        dtypes = [*set(NUMBERS) - {"uint32"}, "complex64", "complex128"]
    shapes = {"fixed": (2, 3), "first": (None, 3), "middle": (2, None, 2), "list": (None,)}
    if encoding != "none":
        shapes |= {"many": (None, None, 2)}
    features = {
        f"{name}_{dtype}": F.Tensor(shape=shape, dtype=np.dtype(dtype), encoding=encoding)
        for name, shape in shapes.items()
        for dtype in dtypes
    }

    def make(rng, i):
        return {
            name: numbers(
                rng,
                name.split("_")[1],
                tuple(int(rng.integers(0, 4)) if d is None else d for d in feature.shape),
            )
            for name, feature in features.items()
        }

    return features, make


def strings():
    def make(rng, i):
        words = [b"w%d" % k * k for k in range(i)]
        return {
            "list": np.array(words, object),
            "grid": np.array([[b"a", b"bc"], [b"", b"\xff"]], object),
            "rows": np.array([[b"x%d" % i, b"y"]] * i, object).reshape(i, 2),
        }

    return {
        "list": F.Tensor(shape=(None,), dtype=np.object_),
        "grid": F.Tensor(shape=(2, 2), dtype=np.object_),
        "rows": F.Tensor(shape=(None, 2), dtype=np.object_),
    }, make


def sequences():
    def make(rng, i):
        tokens = rng.integers(0, 9, i)
        return {
            "ints": tokens.astype(np.int32),
            "uint64s": numbers(rng, "uint64", (i,)),
            "three": [i, 1, 2],
            "texts": ["t" * k for k in range(i)],
            "matrices": rng.normal(size=(i, 2, 3)).astype(np.float32),
            "packed": rng.integers(0, 255, (i, 4)).astype(np.uint8),
            # TFDS can't read an empty one.
            "shaped": [rng.normal(size=(2, 3)).astype(np.float32)] * (i + 1),
            "two_packed": rng.integers(0, 255, (2, 4)).astype(np.uint8),
            "dicts": [{"a": k, "b": {"c": f"{k}"}} for k in range(i)],
            "two_dicts": [{"a": k} for k in range(2)],
            "nested": [list(range(k)) for k in range(i)],
            "deep": [[[k] * j for j in range(k)] for k in range(i)],
            "nested_texts": [{"words": ["w"] * k} for k in range(i)],
            "nested_matrices": [rng.normal(size=(k, 2)) for k in range(i)],
            "nested_packed": [rng.integers(0, 255, (k, 3)).astype(np.uint8) for k in range(i)],
            "languages": {"en": "the cat", "fr": ["le chat", "la chatte"][: i % 3] or "chat"},
            "translation": {"en": "the cat", "fr": "le chat" * i},
            "translations": [{"en": f"{k}", "fr": "" if k else "un"} for k in range(i)],
            "labels": [["cat", "dog"][k % 2] for k in range(i)],
            "boxes": [F.BBox(ymin=0.1, xmin=0.2, ymax=0.5, xmax=0.5 + k / 20) for k in range(i)],
        }

    return {
        "ints": F.Sequence(np.int32),
        "uint64s": F.Sequence(np.uint64),
        "three": F.Sequence(np.int64, length=3),
        "texts": F.Sequence(F.Text()),
        "matrices": F.Sequence(F.Tensor(shape=(2, 3), dtype=np.float32)),
        "packed": F.Sequence(F.Tensor(shape=(4,), dtype=np.uint8, encoding="zlib")),
        "shaped": F.Sequence(F.Tensor(shape=(None, None), dtype=np.float32, encoding="bytes")),
        "two_packed": F.Sequence(F.Tensor(shape=(4,), dtype=np.uint8, encoding="bytes"), length=2),
        "dicts": F.Sequence({"a": np.int32, "b": {"c": F.Text()}}),
        "two_dicts": F.Sequence({"a": np.int32}, length=2),
        "nested": F.Sequence(F.Sequence(np.int16)),
        "deep": F.Sequence(F.Sequence(F.Sequence(np.int64))),
        "nested_texts": F.Sequence({"words": F.Sequence(F.Text())}),
        "nested_matrices": F.Sequence(F.Sequence(F.Tensor(shape=(2,), dtype=np.float64))),
        "nested_packed": F.Sequence(
            F.Sequence(F.Tensor(shape=(3,), dtype=np.uint8, encoding="bytes"))
        ),
        "languages": F.TranslationVariableLanguages(languages=["en", "fr"]),
        "translation": F.Translation(languages=["en", "fr"]),
        "translations": F.Sequence(F.Translation(languages=["en", "fr"])),
        "labels": F.Sequence(F.ClassLabel(names=["cat", "dog"])),
        "boxes": F.Sequence(F.BBoxFeature()),
    }, make


def images():
    def make(rng, i):
        h, w = 5 + i, 9 - i
        return {
            "png": pixels(h, w, 3, i),
            "default": pixels(h, w, 3, i),
            "grey": pixels(6, 7, 1, i),
            "rgba": pixels(6, 7, 4, i),
            "jpeg": pixels(40 + h, 60, 3, i),
            "grey_jpeg": pixels(33, 17, 1, i),
            "uint16": pixels(h, w, 1, i, np.uint16),
            "rgb16": pixels(4, 4, 3, i, np.uint16),
            "float": pixels(h, w, 1, i, np.float32),
            "labels": (pixels(h, w, 1, i) % 4).astype(np.uint8),
            "grey_as_rgb": jpeg(pixels(20, 20, 1, i)),
            "rgb_as_grey": jpeg(pixels(20, 20, 3, i)),
            "png_as_grey": png(pixels(20, 20, 3, i)),
            "alpha_as_rgb": png(pixels(8, 8, 4, i)),
            "rgb_as_alpha": png(pixels(8, 8, 3, i)),
            "deep_as_8": png(pixels(8, 8, 3, i, np.uint16)),
            "8_as_deep": png(pixels(8, 8, 1, i)),
            "video": np.stack([pixels(4, 6, 3, i + t) for t in range(3)])[: i % 3 + 1],
            "clip": np.stack([pixels(4, 6, 1, i + t) for t in range(2)]),
            "frames": [pixels(3, 4, 3, i + t) for t in range(i)],
            "sized_frames": [pixels(3, 4, 1, i + t) for t in range(i)],
            "nested_frames": [[pixels(2, 2, 3, i)] * k for k in range(i)],
        }

    return {
        "png": F.Image(encoding_format="png"),
        "default": F.Image(),
        "grey": F.Image(shape=(6, 7, 1)),
        "rgba": F.Image(shape=(6, None, 4), encoding_format="png"),
        "jpeg": F.Image(shape=(None, 60, 3), encoding_format="jpeg"),
        "grey_jpeg": F.Image(shape=(33, 17, 1), encoding_format="jpeg"),
        "uint16": F.Image(shape=(None, None, 1), dtype=np.uint16, encoding_format="png"),
        "rgb16": F.Image(shape=(4, 4, 3), dtype=np.uint16, encoding_format="png"),
        "float": F.Image(shape=(None, None, 1), dtype=np.float32),
        "labels": F.LabeledImage(labels=["a", "b", "c", "d"], encoding_format="png"),
        "grey_as_rgb": F.Image(),
        "rgb_as_grey": F.Image(shape=(20, 20, 1)),
        "png_as_grey": F.Image(shape=(20, 20, 1)),
        "alpha_as_rgb": F.Image(),
        "rgb_as_alpha": F.Image(shape=(8, 8, 4)),
        "deep_as_8": F.Image(),
        "8_as_deep": F.Image(shape=(8, 8, 1), dtype=np.uint16),
        "video": F.Video(shape=(None, 4, 6, 3)),
        "clip": F.Video(shape=(2, 4, 6, 1), encoding_format="png"),
        "frames": F.Sequence(F.Image()),
        "sized_frames": F.Sequence(F.Image(shape=(3, 4, 1))),
        "nested_frames": F.Sequence(F.Sequence(F.Image(shape=(2, 2, 3)))),
    }, make


def audio():
    def make(rng, i):
        return {
            "wave": rng.integers(-99, 99, 5 + i),
            "stereo": rng.integers(-99, 99, (4 + i, 2)),
            "short": rng.integers(-99, 99, 6 + i).astype(np.int16),
        }

    return {
        "wave": F.Audio(sample_rate=16000),
        "stereo": F.Audio(shape=(None, 2)),
        "short": F.Audio(dtype=np.int16),
    }, make


def optionals():
    dtypes = ["int8", "uint8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "bool"]
    dtypes += ["float16", "float32", "float64"]
    features = {f"scalar_{dtype}": F.Scalar(np.dtype(dtype), optional=True) for dtype in dtypes}
    features |= {
        f"tensor_{dtype}": F.Tensor(shape=(2, 2), dtype=np.dtype(dtype), optional=True)
        for dtype in dtypes
    }
    features |= {
        "text": F.Tensor(shape=(), dtype=np.str_, optional=True),
        "group": {"inner": F.Scalar(np.int32, optional=True)},
        "always": F.Text(),
    }

    def make(rng, i):
        def value(name, shape=()):
            return None if rng.integers(2) else numbers(rng, name, shape)

        example = {name: value(name[7:]) for name in features if name.startswith("scalar")}
        example |= {name: value(name[7:], (2, 2)) for name in features if name.startswith("tensor")}
        return example | {
            "text": None if i % 2 else f"text {i}",
            "group": {"inner": None if i % 3 else i},
            "always": "here",
        }

    return features, make


def episodes():
    def make(rng, i):
        return {
            "steps": [
                {
                    "observation": {
                        "image": pixels(8, 12, 3, t),
                        "any_size": pixels(3 + t, 4, 3, t),
                        "state": rng.normal(size=3).astype(np.float32),
                        "tags": list(range(t % 3)),
                        "cloud": rng.normal(size=(t + 1, 3)).astype(np.float64),
                        "shaped": rng.normal(size=(t + 1, 2, 1)).astype(np.float32),
                    },
                    "action": {"arm": rng.normal(size=2), "grip": bool(t % 2)},
                    "reward": np.float32(t),
                    "instruction": f"step {t}",
                }
                for t in range(i)
            ],
            "frames": [pixels(4, 4, 1, t) for t in range(2)],
            "numbers": list(range(i)),
            "metadata": {"file": f"{i}.h5"},
        }

    return {
        "steps": F.Dataset(
            {
                "observation": {
                    "image": F.Image(shape=(8, 12, 3), encoding_format="jpeg"),
                    "any_size": F.Image(),
                    "state": F.Tensor(shape=(3,), dtype=np.float32),
                    "tags": F.Sequence(np.int32),
                    "cloud": F.Tensor(shape=(None, 3), dtype=np.float64, encoding="zlib"),
                    "shaped": F.Tensor(shape=(None, 2, None), dtype=np.float32, encoding="bytes"),
                },
                "action": {"arm": F.Tensor(shape=(2,), dtype=np.float64), "grip": np.bool_},
                "reward": F.Scalar(np.float32),
                "instruction": F.Text(),
            }
        ),
        "frames": F.Dataset(F.Image(shape=(4, 4, 1))),
        "numbers": F.Dataset(np.int64),
        "metadata": {"file": F.Text()},
    }, make


SETS = {
    "scalars": scalars,
    "tensors_none": lambda: tensors("none"),
    "tensors_bytes": lambda: tensors("bytes"),
    "tensors_zlib": lambda: tensors("zlib"),
    "strings": strings,
    "sequences": sequences,
    "images": images,
    "audio": audio,
    "optionals": optionals,
    "episodes": episodes,
}
EXAMPLES = 6


def build(name, folder, examples=EXAMPLES, val=2, shards=2):
    features, make = SETS[name]()

    def generate(count):
        rng = np.random.default_rng(count)
        return ((i, make(rng, i)) for i in range(count))

    members = {
        "VERSION": tfds.core.Version("1.0.0"),
        "_info": lambda self: tfds.core.DatasetInfo(
            builder=self, features=F.FeaturesDict(features), disable_shuffling=False
        ),
        "_split_generators": lambda self, _: {
            "train": generate(examples),
            "val": generate(val),
        },
        "_generate_examples": lambda self: (),
    }
    class_name = "".join(word.title() for word in name.split("_"))
    with tfds.core.registered.skip_registration():
        builder_class = type(class_name, (tfds.core.GeneratorBasedBuilder,), members)
    builder = builder_class(data_dir=folder)
    builder.download_and_prepare(
        download_config=tfds.download.DownloadConfig(num_shards=shards)
    )
    return builder


def read(builder, split, **config):
    dataset = builder.as_dataset(split=split, shuffle_files=False, read_config=ORDER)
    return tfds.as_numpy(dataset)


class Equality(unittest.TestCase):
    """Of nested values: types, shapes, bytes."""

    def compare(self, ours, theirs, path=""):
        if isinstance(theirs, dict):
            self.assertEqual(set(ours), set(theirs), path)
            for name in theirs:
                self.compare(ours[name], theirs[name], f"{path}/{name}")
        elif hasattr(theirs, "nested_row_splits"):
            for splits in theirs.nested_row_splits:
                self.assertIsInstance(ours, rp.Ragged, path)
                np.testing.assert_array_equal(ours.row_splits, np.asarray(splits), path)
                ours = ours.values
            self.compare(ours, np.asarray(theirs.flat_values), path)
        elif isinstance(theirs, (np.ndarray, np.generic)) and np.asarray(theirs).dtype != object:
            self.assertEqual(ours.dtype, theirs.dtype, path)
            self.assertEqual(ours.shape, theirs.shape, path)
            self.assertEqual(ours.tobytes(), theirs.tobytes(), path)
        elif isinstance(theirs, np.ndarray):
            self.assertEqual(ours.shape, theirs.shape, path)
            self.assertEqual(ours.tolist(), theirs.tolist(), path)
        elif isinstance(theirs, bytes):
            self.assertEqual(ours, theirs, path)
        else:
            self.compare_steps(ours, list(theirs), path)

    def compare_steps(self, ours, steps, path):
        """A Dataset feature: here, its steps are stacked."""
        if isinstance(ours, dict):
            for name, value in ours.items():
                self.compare_steps(value, [step[name] for step in steps], f"{path}/{name}")
            return
        self.assertEqual(len(ours), len(steps), path)
        for i, step in enumerate(steps):
            self.compare(ours[i], step, f"{path}[{i}]")


class Features(Equality):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def check(self, name, missing="fill"):
        build(name, self.folder)
        builder = tfds.builder_from_directory(self.folder / name / "1.0.0")
        for split in ("train", "val"):
            theirs = list(read(builder, split))
            ours = rp.tfds(self.folder / name, split, missing=missing)
            self.assertEqual(len(ours), len(theirs))
            for i, (example, expected) in enumerate(zip(ours, theirs, strict=True)):
                self.compare(example, expected, f"{name}/{split}[{i}]")
                self.compare(ours[i], expected, f"{name}/{split}[{i}], by number")
            self.check_batches(ours, theirs)
        self.check_labels(builder)

    def check_batches(self, ours, theirs):
        """Rows of batches are the elements."""
        at = 0
        for batch in ours.batch(4):
            for row in range(min(4, len(theirs) - at)):
                self.compare_row(batch, row, ours[at + row], "batch")
            at += row + 1
        self.assertEqual(at, len(theirs))

    def compare_row(self, column, row, expected, path):
        if isinstance(expected, dict):
            for name, value in expected.items():
                self.compare_row(column[name], row, value, f"{path}/{name}")
        elif isinstance(expected, rp.Ragged):
            self.assertEqual(column[row].to_list(), expected.to_list(), path)
        elif isinstance(expected, list):
            self.assertEqual(len(column[row]), len(expected))
            for ours, step in zip(column[row], expected, strict=True):
                np.testing.assert_array_equal(ours, step, path)
        else:
            np.testing.assert_array_equal(column[row], expected, path)

    def check_labels(self, builder):
        info = rp.tfds_info(self.folder / builder.name)
        self.assertEqual(set(info.features.features), set(builder.info.features))

        def walk(feature, path):
            if isinstance(feature, (F.ClassLabel, F.LabeledImage)):
                self.assertEqual(info.features[path].num_classes, feature.num_classes or 0)
                if info.features[path].names:
                    self.assertEqual(list(info.features[path].names), feature.names)
            for name in feature if isinstance(feature, F.FeaturesDict) else ():
                walk(feature[name], f"{path}/{name}".removeprefix("/"))

        walk(builder.info.features, "")

    def test_optionals_masked(self):
        """None where TFDS fills; masks in batches."""
        build("optionals", self.folder / "masked")
        theirs = list(read(tfds.builder_from_directory(
            self.folder / "masked/optionals/1.0.0"), "train"))
        ours = rp.tfds(self.folder / "masked/optionals")
        nones = 0
        for example, expected in zip(ours, theirs, strict=True):
            for name, value in example.items():
                if name == "group":
                    continue
                if value is None:
                    nones += 1
                    least = np.asarray(expected[name]).ravel()[0]
                    filled = (b"", False) if name in ("text", "scalar_bool", "tensor_bool") else (
                        -np.inf if least.dtype == np.float64  # parsed as a float
                        else np.finfo(least.dtype).min if least.dtype.kind == "f"
                        else np.iinfo(least.dtype).min,)
                    self.assertIn(least, filled, name)
                else:
                    self.compare(value, expected[name], name)
        self.assertGreater(nones, 10)
        batch = next(iter(ours.batch(EXAMPLES)))
        for i in range(EXAMPLES):
            for name, value in ours[i].items():
                if f"{name}_mask" in batch:
                    self.assertEqual(bool(batch[f"{name}_mask"][i]), value is not None)
                    if value is None and name != "text":
                        self.assertFalse(np.any(batch[name][i]))
        self.assertIn("inner_mask", batch["group"])
        self.assertNotIn("always_mask", batch)

    def test_images_left_encoded(self):
        builder = build("images", self.folder / "encoded")
        skip = F.FeaturesDict(SETS["images"]()[0])
        decoders = {name: tfds.decode.SkipDecoding() for name in skip}
        theirs = builder.as_dataset(split="train", read_config=ORDER, decoders=decoders)
        ours = rp.tfds(self.folder / "encoded/images", decode_images=False)
        for example, expected in zip(ours, tfds.as_numpy(theirs), strict=True):
            self.compare(example, expected)
        some = rp.tfds(self.folder / "encoded/images", decode_images={"jpeg": False})[0]
        self.assertIsInstance(some["jpeg"], bytes)
        self.assertEqual(some["png"].ndim, 3)


for _name in SETS:
    def _test(self, name=_name):
        self.check(name)
    setattr(Features, f"test_{_name}", _test)


class LegacyFeatures(Equality):
    """features.json with "type" and "content", as TFDS wrote it before 2022, and may read it."""

    def test_the_same_elements(self):
        with tempfile.TemporaryDirectory() as folder:
            features = {name: F.FeaturesDict(SETS[name]()[0]) for name in ("sequences", "images")}
            for name, tree in features.items():
                build(name, folder)
                path = pathlib.Path(folder, name, "1.0.0")
                before = list(rp.tfds(path))
                (path / "features.json").write_text(json.dumps(tree.to_json()))
                for example, expected in zip(rp.tfds(path), before, strict=True):
                    np.testing.assert_equal(str(example), str(expected))

    def test_the_oldest(self):
        tensor = "tensorflow_datasets.core.features.feature.Tensor"
        module = "tensorflow_datasets.core.features"
        old = {
            "type": f"{module}.features_dict.FeaturesDict",
            "content": {
                "image": {
                    "type": f"{module}.image_feature.Image",
                    "content": {"shape": [None, None, 3], "dtype": "uint8",
                                "encoding_format": "png"},
                },
                "label": {
                    "type": f"{module}.class_label_feature.ClassLabel",
                    "content": {"num_classes": 3},
                },
                "words": {
                    "type": f"{module}.sequence_feature.Sequence",
                    "content": {
                        "feature": {"type": tensor, "content": {"shape": [], "dtype": "int32"}},
                        "length": None,
                    },
                },
                "text": {"type": f"{module}.text_feature.Text", "content": {}},
            },
        }
        theirs = F.FeaturesDict.from_json(json.loads(json.dumps(old)))
        example = {"image": pixels(4, 5, 3, 1), "label": 2, "words": [3, 4], "text": "hello"}
        with tempfile.TemporaryDirectory() as folder:
            write_set(folder, old, [theirs.serialize_example(theirs.encode_example(example))])
            (ours,) = list(rp.tfds(folder))
            np.testing.assert_array_equal(ours["image"], example["image"])
            self.assertEqual(ours["label"], 2)
            self.assertEqual(ours["words"].tolist(), [3, 4])
            self.assertEqual(ours["words"].dtype, np.int32)
            self.assertEqual(ours["text"], b"hello")


def write_set(folder, features, records, shard_lengths=None):
    """A data set with one split, "train"."""
    folder = pathlib.Path(folder)
    lengths = shard_lengths or [len(records)]
    (folder / "features.json").write_text(json.dumps(features))
    (folder / "dataset_info.json").write_text(
        json.dumps({
            "name": "made", "version": "1.0.0", "fileFormat": "tfrecord",
            "splits": [{"name": "train", "shardLengths": [str(n) for n in lengths],
                        "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"}],
        }))
    at = 0
    for i, length in enumerate(lengths):
        path = folder / f"made-train.tfrecord-{i:05d}-of-{len(lengths):05d}"
        with tf.io.TFRecordWriter(str(path)) as writer:
            for record in records[at:at + length]:
                writer.write(record)
        at += length


class Splits(unittest.TestCase):
    """The slicing syntax beside TFDS's, for random expressions."""

    LENGTHS = {"train": [7, 0, 30, 13, 1, 9], "val": [3, 2], "tiny": [1], "hundred": [60, 77]}

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)
        splits = [{"name": name, "shardLengths": [str(n) for n in lengths],
                   "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"}
                  for name, lengths in self.LENGTHS.items()]
        (self.folder / "dataset_info.json").write_text(
            json.dumps({"name": "made", "version": "1.0.0", "fileFormat": "tfrecord",
                        "splits": splits}))
        features = F.FeaturesDict({"x": np.int64})
        (self.folder / "features.json").write_text(json.dumps(features.to_json()))
        self.info = rp.tfds_info(self.folder)
        template = tfds.core.ShardedFileTemplate(
            data_dir=self.folder, dataset_name="made", filetype_suffix="tfrecord")
        self.splits = tfds.core.SplitDict(
            tfds.core.SplitInfo(name=name, shard_lengths=lengths, num_bytes=0,
                                filename_template=template.replace(split=name))
            for name, lengths in self.LENGTHS.items())

    def theirs(self, instruction):
        ranges = tfds.core.splits._make_absolute_instructions(self.splits.values(), instruction)
        result = []
        for each in ranges:
            size = sum(self.LENGTHS[each.splitname])
            begin, end = each.from_ or 0, size if each.to is None else each.to
            if begin < end:
                result.append((each.splitname, begin, end))
        return result

    def expression(self, draw):
        def end():
            kind = draw.randrange(8)
            sign = draw.choice(["", "", "-"])
            if kind == 0:
                return ""
            if kind <= 2:
                return f"{sign}{draw.randrange(0, 70)}"
            if kind <= 5:
                percent = draw.choice([draw.randrange(0, 101), draw.randrange(0, 200) / 2,
                                       draw.randrange(0, 1000) / 10, 33.3333])
                return f"{sign}{percent}%"
            return f"{sign}{draw.randrange(0, 8)}shard"

        def one():
            name = draw.choice([*self.LENGTHS, "train", "train", "none"])
            match draw.randrange(8):
                case 0:
                    return name
                case 1:
                    return "all"
                case 2:
                    return f"{name}[{end()}]"
                case _:
                    return f"{name}[{end()}:{end()}]"

        return draw.choice(["+", " + "]).join(one() for _ in range(draw.choice([1, 1, 2, 3])))

    def test_random_expressions(self):
        draw = random.Random(7)
        valid = 0
        for _ in range(20_000):
            text = self.expression(draw)
            try:
                expected = self.theirs(text)
            except (ValueError, NotImplementedError):
                with self.assertRaises(rp.InvalidArgumentError, msg=text):
                    self.info.ranges(text)
                continue
            self.assertEqual(self.info.ranges(text), expected, text)
            valid += 1
        self.assertGreater(valid, 5_000)

    def test_every_percent_of_every_size(self):
        """Rounding, a half to even."""
        for percent in range(0, 201):
            text = f"train[:{percent / 2}%]+hundred[{percent / 2}%:]"
            self.assertEqual(self.info.ranges(text), self.theirs(text), text)

    def test_the_other_rounding(self):
        for begin in range(-100, 101, 7):
            instruction = tfds.core.ReadInstruction(
                "hundred", from_=begin, to=None, unit="%", rounding="pct1_dropremainder")
            ours = self.info.ranges(f"hundred[{begin}%:]", rounding="pct1_dropremainder")
            self.assertEqual(ours, self.theirs(instruction))
        with self.assertRaisesRegex(rp.InvalidArgumentError, "less than 100"):
            self.info.ranges("train[:10%]", rounding="pct1_dropremainder")

    def test_the_examples_are_those(self):
        """Slices of shards: the right records of the right files."""
        features = F.FeaturesDict({"x": np.int64})
        for name, lengths in self.LENGTHS.items():
            at = 0
            for i, length in enumerate(lengths):
                path = self.folder / f"made-{name}.tfrecord-{i:05d}-of-{len(lengths):05d}"
                with tf.io.TFRecordWriter(str(path)) as writer:
                    for x in range(at, at + length):
                        writer.write(features.serialize_example(features.encode_example({"x": x})))
                at += length
        builder = tfds.builder_from_directory(self.folder)
        for text in ("train", "train[5:40]", "train[6:8]+val[-1:]", "train[2shard:]",
                     "train[37:50]+train[:1]", "all", "train[-3shard:-1shard]"):
            theirs = [int(e["x"]) for e in read(builder, text)]
            ours = rp.tfds(self.folder, text)
            self.assertEqual([int(e["x"]) for e in ours], theirs, text)
            self.assertEqual([int(ours[i]["x"]) for i in range(len(ours))], theirs, text)
            shuffled = [int(e["x"]) for e in ours.shuffle(seed=3)]
            self.assertEqual(sorted(shuffled), sorted(theirs), text)


@unittest.skipUnless(BUILD_TFDS.exists(), f"there is no {BUILD_TFDS}")
class SharedSets(Equality):
    """The data sets of build_tfds, and what TFDS read when they were made."""

    def test_equal(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, BUILD_TFDS, folder], check=True,
                           stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            for name in ("arm_episodes", "pictures", "tensors"):
                expected = dict(np.load(f"{folder}/{name}.npz", allow_pickle=True))
                ours = {}
                for i, example in enumerate(rp.tfds(f"{folder}/{name}")):
                    self.flatten(str(i), example, ours)
                self.assertEqual(set(ours), set(expected))
                for key, value in expected.items():
                    self.assertEqual(np.asarray(ours[key]).dtype.kind in "OS",
                                     value.dtype.kind in "OS", key)
                    np.testing.assert_array_equal(ours[key], value, key)

    def flatten(self, prefix, value, into):
        if isinstance(value, dict):
            for name, each in value.items():
                self.flatten(f"{prefix}/{name}", each, into)
        else:
            into[prefix] = value


if __name__ == "__main__":
    unittest.main()
