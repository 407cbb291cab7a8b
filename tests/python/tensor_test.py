"""TensorFeature, parse_tensor() and serialize_tensor(): values, shapes, types and hostile bytes."""

import contextlib
import pickle
import random
import re
import struct
import unittest

import numpy as np
import recordpipe as rp
import records
from support import FilesTest

# TensorFlow's numbers of types, the field of their values in a TensorProto, and how one is written.
TYPES = {
    "float32": (1, 5, lambda value: struct.pack("<f", value)),
    "float64": (2, 6, lambda value: struct.pack("<d", value)),
    "int32": (3, 7, lambda value: records.varint(int(value))),
    "uint8": (4, 7, lambda value: records.varint(int(value))),
    "int16": (5, 7, lambda value: records.varint(int(value))),
    "int8": (6, 7, lambda value: records.varint(int(value))),
    "complex64": (8, 9, lambda value: struct.pack("<ff", value.real, value.imag)),
    "int64": (9, 10, lambda value: records.varint(int(value))),
    "bool": (10, 11, lambda value: records.varint(int(value))),
    "uint16": (17, 7, lambda value: records.varint(int(value))),
    "complex128": (18, 12, lambda value: struct.pack("<dd", value.real, value.imag)),
    "float16": (19, 13, lambda value: records.varint(int(value.view(np.uint16)))),
    "uint32": (22, 16, lambda value: records.varint(int(value))),
    "uint64": (23, 17, lambda value: records.varint(int(value))),
}


def head(number, shape):
    sizes = b"".join(
        records.field(2, records.varint(1 << 3) + records.varint(size)) for size in shape
    )
    return records.varint(1 << 3) + records.varint(number) + records.field(2, sizes)


def with_content(array):
    return head(TYPES[array.dtype.name][0], array.shape) + records.field(4, array.tobytes())


def with_values(array, count=None):
    """The list form, of the first `count` elements."""
    number, field, write = TYPES[array.dtype.name]
    values = b"".join(write(value) for value in array.ravel()[:count])
    return head(number, array.shape) + records.field(field, values)


def array_of(dtype, shape, seed=0):
    return (np.random.default_rng(seed).random(shape) * 100).astype(dtype)


class Tensors(FilesTest):
    def dataset(self, tensors, feature):
        path = records.write(
            self.folder / "tensors.tfrecord",
            [records.example({"mask": [tensor]}) for tensor in tensors],
        )
        return rp.tfrecords(path).parse({"mask": feature})

    def test_all_types_in_both_forms(self):
        for dtype in TYPES:
            arrays = [array_of(dtype, (2, 3), seed) for seed in range(4)]
            if dtype.startswith(("float", "int", "complex")):
                arrays[0] = -arrays[0]
            tensors = [with_content(arrays[0]), with_values(arrays[1])]
            tensors += [with_content(arrays[2]), rp.serialize_tensor(arrays[3])]
            dataset = self.dataset(tensors, rp.TensorFeature([2, 3], dtype))
            batch = next(iter(dataset.batch(4)))["mask"]
            self.assertEqual(batch.dtype, np.dtype(dtype))
            np.testing.assert_array_equal(batch, np.stack(arrays))
            np.testing.assert_array_equal(dataset[1]["mask"], arrays[1])
            for tensor, array in zip(tensors, arrays, strict=True):
                parsed = rp.parse_tensor(tensor)
                self.assertEqual(parsed.dtype, array.dtype)
                np.testing.assert_array_equal(parsed, array)

    def test_serialize_tensor_writes_tensorflows_bytes(self):
        # tf.io.serialize_tensor(tf.constant([[1, 2, 3], [4, 5, 6]], tf.int16))
        self.assertEqual(
            rp.serialize_tensor(np.array([[1, 2, 3], [4, 5, 6]], np.int16)),
            bytes.fromhex("0805 1208 1202 0802 1202 0803 220c 010002000300040005000600"),
        )
        big_endian = np.array([1, 2], ">i4")
        np.testing.assert_array_equal(rp.parse_tensor(rp.serialize_tensor(big_endian)), [1, 2])
        for array in (np.float64(2.5), np.zeros((0, 3), np.int8), np.ones((200, 2), bool).T):
            back = rp.parse_tensor(rp.serialize_tensor(array))
            self.assertEqual(back.shape, np.shape(array))
            np.testing.assert_array_equal(back, array)
        with self.assertRaisesRegex(TypeError, "numbers or bools"):
            rp.serialize_tensor(["text"])

    def test_a_first_dimension_of_none_is_ragged(self):
        arrays = [array_of("float32", (rows, 7), rows) for rows in (3, 0, 1, 2)]
        dataset = self.dataset(
            [with_content(array) if len(array) else head(1, (0, 7)) for array in arrays],
            rp.TensorFeature([None, 7], "float32"),
        )
        ragged = next(iter(dataset.batch(4)))["mask"]
        self.assertIsInstance(ragged, rp.Ragged)
        self.assertEqual(ragged.values.shape, (6, 7))
        self.assertEqual(ragged.row_splits.tolist(), [0, 3, 3, 4, 6])
        self.assertEqual(repr(ragged), "Ragged(4 rows, 6 values of float32[7])")
        for row, array in zip(ragged, arrays, strict=True):
            np.testing.assert_array_equal(row, array)
        padded = ragged.to_padded()
        self.assertEqual(padded.shape, (4, 3, 7))
        np.testing.assert_array_equal(padded[3, :2], arrays[3])
        self.assertEqual(padded[3, 2].tolist(), [0] * 7)
        for padding in (1e39, 1e-60):  # an infinity, and 0, of float32
            with self.assertRaisesRegex(
                ValueError, re.escape(f"padding {padding} is no float32 value")
            ):
                ragged.to_padded(padding)
        self.assertEqual(pickle.loads(pickle.dumps(ragged)), ragged)
        for i, array in enumerate(arrays):
            np.testing.assert_array_equal(dataset[i]["mask"], array)
        np.testing.assert_array_equal(dataset[2:4][1]["mask"], arrays[3])

    def test_a_scalar_and_a_list_of_any_length(self):
        dataset = self.dataset([with_content(np.array(2.5))], rp.TensorFeature([], "float64"))
        self.assertEqual(next(iter(dataset.batch(1)))["mask"].tolist(), [2.5])
        self.assertEqual(dataset[0]["mask"], 2.5)
        dataset = self.dataset(
            [with_values(np.arange(n, dtype=np.int64)) for n in (1, 3)],
            rp.TensorFeature([None], np.int64),
        )
        self.assertEqual(next(iter(dataset.batch(2)))["mask"].to_list(), [[0], [0, 1, 2]])

    def test_the_compressed_form_repeats_the_last_value(self):
        array = np.array([[1, 7, 7], [7, 7, 7]], np.float32)
        dataset = self.dataset(
            [with_values(array, 2), head(1, (2, 3))], rp.TensorFeature([2, 3], "float32")
        )
        batch = next(iter(dataset.batch(2)))["mask"]
        np.testing.assert_array_equal(batch, [array, np.zeros((2, 3))])

    def test_bfloat16_has_the_bits(self):
        tensor = head(14, (2,)) + records.field(4, b"\x80\x3f\x00\xc0")
        batch = next(iter(self.dataset([tensor], rp.TensorFeature([2], "bfloat16")).batch(1)))
        self.assertEqual(batch["mask"].tolist(), [[0x3F80, 0xC000]])
        self.assertEqual(rp.parse_tensor(tensor).dtype, np.uint16)

    def test_batches_survive_the_iterator(self):
        arrays = [array_of("int32", (5, 2), seed) for seed in range(64)]
        dataset = self.dataset([with_content(a) for a in arrays], rp.TensorFeature([5, 2], "int32"))
        kept = [batch["mask"] for batch in dataset.batch(4).prefetch()]
        np.testing.assert_array_equal(np.concatenate(kept), np.stack(arrays))
        self.assertTrue(all(array.flags.writeable for array in kept))
        self.assertTrue(all(array.ctypes.data % 64 == 0 for array in kept))

    def test_splits_that_a_user_changes_stay_in_their_batch(self):
        arrays = [np.full((i % 3, 2), i, np.float32) for i in range(400)]
        dataset = self.dataset(
            [rp.serialize_tensor(array) for array in arrays], rp.TensorFeature([None, 2], "float32")
        )
        for i, batch in enumerate(dataset.batch(4).with_options(threads=1)):
            ragged = batch["mask"]
            self.assertEqual(ragged.to_list(), [array.tolist() for array in arrays[4 * i :][:4]])
            ragged.row_splits[:] = 10**15
            del batch, ragged

    def test_the_same_batches_and_errors_at_any_number_of_threads(self):
        arrays = [array_of("float32", (i % 5, 7), i) for i in range(300)]
        tensors = [with_content(a) if len(a) else head(1, (0, 7)) for a in arrays]
        feature = rp.TensorFeature([None, 7], "float32")
        dataset = self.dataset(tensors, feature).shuffle(50, seed=1).batch(8)
        batches = [list(dataset.with_options(threads=threads, chunk_size=3)) for threads in (1, 4)]
        self.assertEqual(*([batch["mask"] for batch in pass_] for pass_ in batches))
        tensors[100], tensors[200] = b"\x08", head(1, (-1, 7))
        for threads in (1, 4):
            dataset = self.dataset(tensors, feature).batch(8).with_options(threads=threads)
            iterator, rows = iter(dataset), 0
            with self.assertRaisesRegex(rp.DataLossError, "varint that doesn't end"):
                for batch in iterator:
                    rows += len(batch["mask"])
            self.assertEqual(rows, 96)

    def test_the_plan_names_type_and_shape(self):
        dataset = self.dataset([], rp.TensorFeature([None, 7], "float32")).batch(2)
        self.assertIn("'mask': float32 [None, 7]", dataset.explain())
        again = pickle.loads(pickle.dumps(dataset))
        self.assertEqual(again.explain(), dataset.explain())

    def test_in_the_context_of_a_sequence_example(self):
        path = records.write(
            self.folder / "s.tfrecord",
            [records.example({"mask": [with_content(np.arange(3))]})],
        )
        dataset = rp.tfrecords(path).parse_sequence_example({"mask": rp.TensorFeature([3], int)})
        self.assertEqual(next(iter(dataset.batch(1)))[0]["mask"].tolist(), [[0, 1, 2]])

    def test_errors_name_key_record_and_reason(self):
        good = with_content(np.zeros((2, 7), np.float32))
        bad = {
            "not float32": with_content(np.zeros((2, 7), np.float64)),
            r"float32\[2, 8\], not float32\[\?, 7\]": with_content(np.zeros((2, 8), np.float32)),
            r"float32\[7\], not": with_content(np.zeros(7, np.float32)),
            "not a TensorProto": good[:-1],
            "bytes of content": head(1, (3, 7)) + records.field(4, bytes(4)),
            "too large": head(1, (2**62, 7)),
            "dimension of -5": head(1, (-5, 7)),
            "unknown rank": b"\x08\x01" + records.field(2, b"\x18\x01"),
            "repeats one value": head(1, (2**40, 7)),
            "strings": head(7, (1,)) + records.field(8, b"text"),
        }
        for reason, tensor in bad.items():
            dataset = self.dataset([good, tensor], rp.TensorFeature([None, 7], "float32"))
            with self.assertRaisesRegex(rp.Error, reason) as raised:
                list(dataset.batch(2))
            self.assertIn("'mask'", str(raised.exception))
            self.assertEqual(raised.exception.path, str(self.folder / "tensors.tfrecord"))
            self.assertEqual(
                raised.exception.offset, len(records.frame(records.example({"mask": [good]})))
            )
        for value, reason in (([1], "holds int64s"), ([good, good], "2 values, not one tensor")):
            path = records.write(self.folder / "x.tfrecord", [records.example({"mask": value})])
            dataset = rp.tfrecords(path).parse({"mask": rp.TensorFeature([None, 7], "float32")})
            with self.assertRaisesRegex(rp.UnsupportedError, reason):
                list(dataset.batch(1))
        with self.assertRaisesRegex(rp.NotFoundError, "'other'"):
            list(rp.tfrecords(path).parse({"other": rp.TensorFeature([1], "int8")}).batch(1))

    def test_what_parse_tensor_refuses(self):
        for tensor, error in (
            (b"", rp.DataLossError),
            (b"\xff" * 40, rp.DataLossError),
            (head(7, (1,)), rp.UnsupportedError),
            (head(1, (2**40,)), rp.LimitExceededError),
            (head(2, (2**56, 0, 2**56)), rp.DataLossError),
        ):
            with self.assertRaises(error):
                rp.parse_tensor(tensor)
        zeros = head(4, (2**25,))
        with self.assertRaisesRegex(rp.LimitExceededError, "max_repeated_bytes"):
            rp.parse_tensor(zeros)
        self.assertEqual(rp.parse_tensor(zeros, max_repeated_bytes=2**25).shape, (2**25,))

    def test_damaged_tensors_are_read_or_refused(self):
        rng = random.Random(5)
        good = with_values(array_of("int16", (3, 2)))
        for _ in range(3000):
            tensor = bytearray(good)
            for _ in range(rng.randint(1, 3)):
                tensor[rng.randrange(len(tensor))] = rng.randrange(256)
            with contextlib.suppress(rp.Error):
                rp.parse_tensor(bytes(tensor), max_repeated_bytes=2**16)

    def test_invalid_features(self):
        for shape, dtype, error, reason in (
            ([None, None], "int8", ValueError, "only the first dimension"),
            ([2, None], "int8", ValueError, "only the first dimension"),
            (None, "int8", ValueError, "only the first dimension"),
            ([1], None, ValueError, "type of numbers"),
            ([0], "int8", ValueError, "1 or more"),
            ([-1, 7], "int8", ValueError, "1 or more"),
            ([2**40, 7], "int8", ValueError, "larger than any record"),
            ([1.5], "int8", TypeError, "integers"),
            ([1] * 32, "int8", ValueError, "at most 31 dimensions"),
            ([1], "bytes", ValueError, "type of numbers"),
            ([1], ">i2", ValueError, "little-endian"),
            ([1], np.longdouble, ValueError, "type of numbers"),
        ):
            with self.assertRaisesRegex(error, reason):
                rp.tfrecords(__file__).parse({"mask": rp.TensorFeature(shape, dtype)})


if __name__ == "__main__":
    unittest.main()
