"""TensorFeature, parse_tensor() and serialize_tensor() beside TensorFlow's own."""

import pathlib
import sys
import tempfile
import unittest

import numpy as np
import recordpipe as rp

sys.path.append(str(pathlib.Path(__file__).parents[1]))
import records

try:
    import tensorflow as tf
except ImportError:
    tf = None

TYPES = [
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "bool"),
]
SHAPES = [(), (1,), (5,), (2, 3), (0,), (3, 0, 2), (2, 1, 300)]


def arrays():
    rng = np.random.default_rng(1)
    for dtype in TYPES:
        for shape in SHAPES:
            values = rng.integers(-100 if np.dtype(dtype).kind in "ifc" else 0, 100, shape)
            yield np.asarray(values).astype(dtype)


@unittest.skipUnless(tf, "TensorFlow is not installed")
class TensorFlow(unittest.TestCase):
    def same(self, ours, theirs):
        self.assertEqual(ours.dtype, theirs.dtype)
        self.assertEqual(ours.shape, theirs.shape)
        np.testing.assert_array_equal(ours, theirs)

    def test_serialize_tensor_has_the_same_bytes(self):
        for array in arrays():
            self.assertEqual(
                rp.serialize_tensor(array), tf.io.serialize_tensor(tf.constant(array)).numpy()
            )

    def test_parse_tensor_reads_all_forms(self):
        for array in arrays():
            type_ = tf.as_dtype(array.dtype)
            one = array.dtype.type(1) if array.size else []
            repeated = tf.make_tensor_proto(one, dtype=type_, shape=array.shape)
            for proto in (
                tf.io.serialize_tensor(tf.constant(array)).numpy(),
                tf.make_tensor_proto(array).SerializeToString(),
                tf.make_tensor_proto(
                    array.tolist(), dtype=type_, shape=array.shape
                ).SerializeToString(),
                repeated.SerializeToString(),
            ):
                self.same(rp.parse_tensor(proto), tf.io.parse_tensor(proto, type_).numpy())

    def test_bfloat16(self):
        value = tf.constant([1.0, -2.5, 3e38], tf.bfloat16)
        for proto in (
            tf.io.serialize_tensor(value).numpy(),
            tf.make_tensor_proto([1.0, -2.5, 3e38], tf.bfloat16).SerializeToString(),
        ):
            ours = rp.parse_tensor(proto)
            np.testing.assert_array_equal(ours.view(value.numpy().dtype), value.numpy())

    def test_a_batch(self):
        masks = [np.full((rows, 7), rows, np.float32) for rows in (2, 0, 3)]
        with tempfile.TemporaryDirectory() as folder:
            path = records.write(
                pathlib.Path(folder) / "f.tfrecord",
                [
                    records.example({"mask": [tf.io.serialize_tensor(mask).numpy()]})
                    for mask in masks
                ],
            )
            dataset = rp.tfrecords(path).parse({"mask": rp.TensorFeature([None, 7], tf.float32)})
            ragged = next(iter(dataset.batch(3)))["mask"]
        for row, mask in zip(ragged, masks, strict=True):
            self.same(row, mask)

    def test_refused_by_both(self):
        good = tf.io.serialize_tensor(tf.constant([1, 2, 3])).numpy()
        for proto in (good[:-1], b"", good.replace(b"\x08\x03", b"\x08\x00", 1), good[:-4]):
            with self.assertRaises(rp.Error):
                rp.parse_tensor(proto)
            with self.assertRaises(tf.errors.InvalidArgumentError):
                tf.io.parse_tensor(proto, tf.int32)

    def test_defaults_and_shapes_are_refused_by_both(self):
        example = records.example({"other": [1]})
        for shape, dtype, default in (([2, 2], "int64", [1, 2]), ([], "int64", 1.5)):
            with self.assertRaises((ValueError, TypeError)):
                rp.tfrecords(__file__).parse({"k": rp.FixedLenFeature(shape, dtype, default)})
            with self.assertRaises((ValueError, TypeError, tf.errors.InvalidArgumentError)):
                tf.io.parse_example([example], {"k": tf.io.FixedLenFeature(shape, dtype, default)})

    def test_defaults_accepted_by_both(self):
        example = records.example({"other": [1]})
        with tempfile.TemporaryDirectory() as folder:
            path = records.write(pathlib.Path(folder) / "f.tfrecord", [example])
            for shape, dtype, default in (
                ([2, 2], "int64", [1, 2, 3, 4]),
                ([2, 2], "float32", [[1, 2], [3, 4]]),
                ([1], "int64", 5),
                ([], "string", b"x"),
            ):
                theirs = tf.io.parse_example(
                    [example], {"k": tf.io.FixedLenFeature(shape, dtype, default)}
                )["k"].numpy()
                ours = rp.tfrecords(path).parse({"k": rp.FixedLenFeature(shape, dtype, default)})
                np.testing.assert_array_equal(next(iter(ours.batch(1)))["k"], theirs)


if __name__ == "__main__":
    unittest.main()
