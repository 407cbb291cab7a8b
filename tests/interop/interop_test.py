#!/usr/bin/env python3
"""Tests the exchange of files between recordpipe and TensorFlow, TensorBoard and the packages
tfrecord and safetensors.

Run by ./run, which sets RECORDPIPE_TFRECORD, RECORDPIPE_GENERATE, RECORDPIPE_WRITE_EVENTS and
RECORDPIPE_CIFAR10_TRAIN, the programs.
"""
import base64
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import unittest

import numpy as np
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / "data"), str(ROOT / "tests/cli")]
import make_tensorflow_files as golden  # noqa: E402
import small_archives  # noqa: E402
from checkpoint_files_test import CheckpointFiles  # noqa: E402,F401 (run by unittest.main)
from event_files_test import EventFiles  # noqa: E402,F401 (run by unittest.main)
from object_store_test import ObjectStores  # noqa: E402,F401 (run by unittest.main)
from other_messages_test import NearExamples, OtherMessages  # noqa: E402,F401 (run by unittest.main)
from python_package_test import PythonPackage  # noqa: E402,F401 (run by unittest.main)
from tfrecord_test_case import TfrecordTest  # noqa: E402
from webdataset_test import WebDataset  # noqa: E402,F401 (run by unittest.main)

COMPRESSIONS = {"none": "", "gzip": "GZIP", "zlib": "ZLIB"}


def comparable(value):
    """Converts JSON into a form in which all NaNs are equal, and floats are compared as float32."""
    if isinstance(value, dict):
        return {name: comparable(of) for name, of in value.items()}
    if isinstance(value, list):
        return [comparable(of) for of in value]
    if isinstance(value, float):
        return "NaN" if value != value else "float " + struct.pack("<f", value).hex()
    return value


def random_examples(seed, count):
    """The contents of tf.train.Examples: {name: values}."""
    draw = random.Random(seed)

    def values():
        size = draw.choice([1, 1, 1, 2, 5, 40])
        match draw.randrange(3):
            case 0:
                return [draw.randbytes(draw.choice([0, 1, 10, 300])) for _ in range(size)]
            case 1:
                floats = (struct.pack("<I", draw.randrange(2**32)) for _ in range(size))
                return [struct.unpack("<f", four)[0] for four in floats]
            case _:
                return [draw.randrange(-2**63, 2**63) >> draw.randrange(64) for _ in range(size)]

    def name():
        return "".join(draw.choice("ab/_ 9é鍵\"\\") for _ in range(draw.randrange(12)))

    return [{name(): values() for _ in range(draw.randrange(8))} for _ in range(count)]


def written(values):
    return tf.train.Example(features=golden.features(values)).SerializeToString()


def create_index(path, index):
    """Uses the package tfrecord in another process: its messages conflict with TensorFlow's."""
    subprocess.run([sys.executable, "-m", "tfrecord.tools.tfrecord2idx", path, index], check=True)


def tensorflow_records(path, compression=""):
    """Returns the records that tf.data reads, and whether it fails after them."""
    records = []
    try:
        for record in tf.data.TFRecordDataset(str(path), compression):
            records.append(record.numpy())
    except tf.errors.DataLossError:
        return records, True
    return records, False


class Interop(TfrecordTest):
    def write_with_tensorflow(self, name, payloads, compression=""):
        path = self.folder / name
        with tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions(compression)) as writer:
            for payload in payloads:
                writer.write(payload)
        return path

    def shown(self, path):
        return [comparable(line["features"]) for line in self.json("show", "--json", path)]


class ReadHere(Interop):
    """Reads files of TensorFlow with recordpipe."""

    def test_every_kind_of_example(self):
        golden.make(self.folder / "golden")
        expected = comparable([golden.features_json(values) for values in golden.EXAMPLES])
        for suffix in ("", ".gz", ".zz"):
            self.assertEqual(self.shown(f"golden/examples.tfrecords{suffix}"), expected)
            self.assertEqual(self.shown(f"golden/empty.tfrecords{suffix}"), [])

    def test_sequence_examples(self):
        golden.make(self.folder / "golden")
        values = json.loads((self.folder / "golden/values.json").read_text())["sequences"]
        for suffix in ("", ".gz", ".zz"):
            lines = self.json("show", "--json", f"golden/sequences.tfrecords{suffix}")
            # The last message has no feature lists, so it looks like an Example.
            self.assertEqual([line.get("context", line.get("features")) for line in lines],
                             [value["context"] for value in values])
            self.assertEqual([line.get("feature_lists", {}) for line in lines],
                             [value["feature_lists"] for value in values])

    def test_random_examples(self):
        examples = random_examples(1, 500)
        path = self.write_with_tensorflow("random", map(written, examples))
        shown = self.shown(path)
        self.assertEqual(len(shown), len(examples))
        for number, values in enumerate(examples):
            self.assertEqual(shown[number], comparable(golden.features_json(values)), number)

    def test_big_records(self):
        big = [written({"image": [random.Random(i).randbytes(20_000_000)]}) for i in range(3)]
        for name, compression in COMPRESSIONS.items():
            path = self.write_with_tensorflow(name, big, compression)
            self.assertEqual(self.json("verify", "--json", path)[0]["records"], 3)
            raw = self.start("show", "--record", "1", "--format", "raw", path).stdout
            self.assertEqual(raw, big[1])

    def test_zero_length_records(self):
        path = self.write_with_tensorflow("zero", [b"", b"", b""])
        self.assertEqual(self.shown(path), [{}, {}, {}])


class ReadThere(Interop):
    """Reads files of recordpipe with TensorFlow."""

    def test_every_compression(self):
        payloads = [*map(written, random_examples(2, 300)), b"", b"not an Example"]
        self.write_with_tensorflow("plain", payloads)
        for name, compression in COMPRESSIONS.items():
            self.run_it("convert", "plain", "-o", name, "--compression", name)
            self.assertEqual(tensorflow_records(self.folder / name, compression),
                             (payloads, False))

    def test_gzip_of_several_members(self):
        """The content is larger than one compressed unit."""
        payloads = [random.Random(i).randbytes(300_000) for i in range(40)]
        self.write_with_tensorflow("plain", payloads)
        self.run_it("convert", "plain", "-o", "packed", "--compression", "gzip")
        self.assertEqual(tensorflow_records(self.folder / "packed", "GZIP"), (payloads, False))

    def test_created_from_json_and_parsed_in_batches(self):
        rows = [{"label": i, "weight": i / 8, "name": f"größer {i}",
                 "image": {"base64": base64.b64encode(bytes([i, 255])).decode()},
                 "ids": list(range(i))} for i in range(20)]
        (self.folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.run_it("create", "rows.jsonl", "-o", "created")
        spec = {"label": tf.io.FixedLenFeature([], tf.int64),
                "weight": tf.io.FixedLenFeature([], tf.float32),
                "name": tf.io.FixedLenFeature([], tf.string),
                "image": tf.io.FixedLenFeature([], tf.string),
                "ids": tf.io.VarLenFeature(tf.int64)}
        dataset = tf.data.TFRecordDataset(str(self.folder / "created")).batch(20)
        parsed = tf.io.parse_example(next(iter(dataset)), spec)
        self.assertEqual(parsed["label"].numpy().tolist(), list(range(20)))
        self.assertEqual(parsed["weight"].numpy().tolist(), [i / 8 for i in range(20)])
        self.assertEqual(parsed["name"].numpy()[3].decode(), "größer 3")
        self.assertEqual(parsed["image"].numpy()[7], bytes([7, 255]))
        ids = tf.RaggedTensor.from_sparse(parsed["ids"]).to_list()
        self.assertEqual(ids, [row["ids"] for row in rows])

    def test_the_schema_parses_the_file(self):
        payloads = [written({"label": [i], "weights": [0.5, 1.5], "ids": [1] * (i % 3)} if i % 3
                            else {"label": [i], "weights": [0.5, 1.5]}) for i in range(10)]
        path = self.write_with_tensorflow("file", payloads)
        names = {"tf": tf}
        exec(self.run_it("schema", "--tensorflow", path), names)  # pylint: disable=exec-used
        (spec,) = [value for value in names.values()
                   if isinstance(value, dict) and "label" in value]
        parsed = tf.io.parse_example(payloads, spec)
        self.assertEqual(parsed["label"].numpy().tolist(), list(range(10)))
        self.assertEqual(parsed["weights"].shape, (10, 2))

    def test_generated_cifar10(self):
        archive = self.folder / "python.tar.gz"
        small_archives.write_archive(archive, small_archives.python_members(3))
        for name, compression in COMPRESSIONS.items():
            subprocess.run([os.environ["RECORDPIPE_GENERATE"], "--quiet", "--archive", archive,
                            "--data-dir", self.folder / name, "--compression", name], check=True)
            records, damaged = tensorflow_records(self.folder / name / "eval.tfrecords",
                                                  compression)
            self.assertFalse(damaged)
            parsed = tf.io.parse_example(records, {
                "image": tf.io.FixedLenFeature([], tf.string),
                "label": tf.io.FixedLenFeature([], tf.int64)})
            expected = small_archives.batch("test_batch", 3)
            self.assertEqual(list(zip(parsed["label"].numpy().tolist(), parsed["image"].numpy())),
                             expected)


class Numpy(Interop):
    """Files of NumPy are read here, and vice versa."""
    ARRAYS = {
        "bytes": np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4),
        "float64": np.array([[0.5, -1e30], [np.nan, np.inf]]),
        "größe": np.array([-2**63, 2**63 - 1]),
        "half": np.array([0.5, 65504], np.float16),
        "big-endian": np.array([1, 2], ">i4"),
        "flag": np.array([True, False]),
        "text": np.array(["é", "鍵x"]),
        "strings": np.array([b"a", b"bc"]),
    }

    def test_arrays_become_records(self):
        for save in (np.savez, np.savez_compressed):
            save(self.folder / "a.npz", **self.ARRAYS)
            self.run_it("create", "a.npz", "-o", "a")
            features = [row["features"] for row in self.json("show", "--json", "a")]
            for i, row in enumerate(features):
                self.assertEqual(row["größe"], [int(self.ARRAYS["größe"][i])])
                self.assertEqual(row["half"], [float(self.ARRAYS["half"][i])])
                self.assertEqual(row["big-endian"], [i + 1])
                self.assertEqual(row["flag"], [1 - i])
                self.assertEqual(row["text"], [str(self.ARRAYS["text"][i])])
                self.assertEqual(row["strings"], [self.ARRAYS["strings"][i].decode()])
            self.assertEqual(features[0]["bytes"], [{"base64": base64.b64encode(bytes(range(12))).decode()}])
            self.assertEqual(comparable(features[1]["float64"]),
                             comparable([float("nan"), float("inf")]))
        np.save(self.folder / "b.npy", np.array([1e300]))
        self.expect_failure("out of the range of float", "create", "b.npy", "-o", "a")

    def test_records_become_arrays(self):
        rows = [{"x": [float(i), 0.5], "größe": [i], "pixels": [bytes([i]) * 12], "name": [b"n" * i]}
                for i in range(1, 5)]
        with tf.io.TFRecordWriter(str(self.folder / "a")) as writer:
            for row in rows:
                writer.write(written(row))
        self.run_it("export", "a", "-o", "a.npz", "--shape", "2x2x3")
        with np.load(self.folder / "a.npz", allow_pickle=False) as arrays:
            self.assertEqual(sorted(arrays), ["größe", "name", "pixels", "x"])
            np.testing.assert_array_equal(arrays["größe"], np.arange(1, 5))
            np.testing.assert_array_equal(arrays["x"], np.array([row["x"] for row in rows], "<f4"))
            np.testing.assert_array_equal(arrays["name"], [b"n", b"nn", b"nnn", b"nnnn"])
            self.assertEqual(arrays["pixels"].shape, (4, 2, 2, 3))
            self.assertTrue((arrays["pixels"][2] == 3).all())


class Damage(Interop):
    """recordpipe and TensorFlow read the same records of a damaged file, and then both fail."""

    def expect_same(self, content, what):
        path = self.folder / "damaged"
        path.write_bytes(content)
        records, fails = tensorflow_records(path)
        result = self.start("show", "--json", path)
        self.assertEqual(len(result.stdout.splitlines()), len(records), what)
        self.assertEqual(result.returncode, 2 if fails else 0, what)

    def setUp(self):
        super().setUp()
        path = self.write_with_tensorflow("whole", [written({"label": [i]}) for i in range(3)])
        self.whole = path.read_bytes()

    def test_a_flipped_bit_anywhere(self):
        for at in range(0, len(self.whole)):
            flipped = bytearray(self.whole)
            flipped[at] ^= 1 << at % 8
            self.expect_same(bytes(flipped), f"bit {at % 8} of byte {at}")

    def test_a_cut_anywhere(self):
        size = len(self.whole) // 3
        for length in range(len(self.whole)):
            # A torn header is a clean end for TensorFlow, and an error for recordpipe.
            if 0 < length % size < 12:
                path = self.folder / "torn"
                path.write_bytes(self.whole[:length])
                self.assertEqual(tensorflow_records(path)[1], False)
                self.assertEqual(self.start("verify", path).returncode, 1)
            else:
                self.expect_same(self.whole[:length], f"cut at {length}")

    def test_what_is_salvaged_is_sound_there(self):
        damaged = bytearray(self.whole)
        damaged[len(self.whole) // 3 + 14] ^= 1
        (self.folder / "damaged").write_bytes(damaged)
        self.start("salvage", "damaged", "-o", "saved")
        self.assertEqual(tensorflow_records(self.folder / "saved"),
                         ([written({"label": [0]}), written({"label": [2]})], False))


class Index(Interop):
    def test_is_that_of_the_package_tfrecord(self):
        sizes = [0, 1, 100, 70_000, 5, 0]
        for name, payloads in (("some", [bytes(size) for size in sizes]), ("none", []),
                               ("examples", map(written, random_examples(3, 200)))):
            path = self.write_with_tensorflow(name, payloads)
            self.run_it("index", path)
            create_index(path, self.folder / "theirs")
            self.assertEqual((self.folder / f"{name}.idx").read_bytes(),
                             (self.folder / "theirs").read_bytes())


class Events(Interop):
    def setUp(self):
        super().setUp()
        golden.write_events(self.folder)
        self.path = self.folder / "events.out.tfevents.golden"

    def loss(self, folder):
        events = EventAccumulator(str(folder))
        events.Reload()
        return [(event.step, event.tensor_proto.float_val[:] or event.tensor_proto.tensor_content)
                for event in events.Tensors("loss")]

    def test_are_known_for_what_they_are(self):
        (info,) = self.json("info", "--json", self.path)
        self.assertEqual(info["kind"], "Event")
        self.assertEqual(info["records"], len(tensorflow_records(self.path)[0]))

    def test_still_open_in_tensorboard_when_they_were_rewritten(self):
        expected = self.loss(self.folder)
        self.assertEqual(len(expected), 2)
        for name in ("convert", "salvage"):
            (self.folder / name).mkdir()
            self.run_it(name, self.path, "-o", self.folder / name / self.path.name)
            self.assertEqual(self.loss(self.folder / name), expected)


if __name__ == "__main__":
    unittest.main()
