"""Parsed Datasets as Arrow streams, read with ctypes: types, values, nulls, errors."""

import errno
import unittest

import numpy as np
import recordpipe as rp
import records
from arrow_c import Stream, StreamError
from support import FilesTest


def rows_of(dataset):
    with Stream(dataset) as stream:
        return stream.rows()


class Reading(FilesTest):
    def test_a_feature_that_no_record_has(self):
        """A mistyped name would be a column of nulls."""
        steps = rp.FixedLenSequenceFeature([], "int64")
        rows = [{"label": [1]}, {"image": [b"x"]}, {"lable": [1]}]
        refused = "no record has a feature named lable; there are label.*did you mean label"
        for one in (rp.FixedLenFeature([], "int64"), rp.RaggedFeature("int64")):
            dataset = self.dataset(rows[:2], {"label": one, "lable": one})
            for made in (dataset, dataset.batch(1), dataset.shuffle(seed=1)):
                with Stream(made) as stream:
                    if isinstance(one, rp.RaggedFeature):  # a file of many may lack it
                        with self.assertWarnsRegex(UserWarning, refused):
                            self.assertEqual(stream.rows()["lable"], [None, None])
                    else:
                        with self.assertRaisesRegex(StreamError, f"{refused}.*optional=True"):
                            stream.rows()
            # These tables are of a part of the records, or of none.
            whole = self.dataset(rows, {"lable": one}, "whole")
            part = whole.batch(2, drop_remainder=True)
            for made in (dataset.take(1), dataset.skip(1), dataset.shard(2, 0), part):
                self.assertEqual({*rows_of(made)["lable"]}, {None})
            empty = self.dataset([], {"lable": one}, "empty")
            self.assertEqual(rows_of(empty), {"lable": []})
        optional = rp.FixedLenFeature([], "int64", optional=True)
        self.assertEqual(rows_of(self.dataset(rows, {"a": optional})), {"a": [None] * 3})
        path = records.write(self.folder / "s", [records.sequence_example({}, {"s": [[1]]})])
        lists = rp.tfrecords(path).parse_sequence_example({}, {"t": steps})
        with Stream(lists) as stream, self.assertRaisesRegex(StreamError, "named t; there is s"):
            stream.rows()

    def dataset(self, examples, features, name="read.tfrecord"):
        path = records.write(self.folder / name, [records.example(e) for e in examples])
        return rp.tfrecords(path).parse(features)

    def test_types_and_values(self):
        pixels = np.arange(6, dtype="<u2")
        dataset = self.dataset(
            [
                {
                    "id": [-(2**63)],
                    "weight": [0.5],
                    "blob": [b"\xff"],
                    "text": ["ü".encode()],
                    "box": [1.0, 2.0, 3.0, 4.0],
                    "words": [b"a", b""],
                    "tokens": [7, 8, 9],
                    "pixels": [pixels.tobytes()],
                    "flags": [b"\1\0\2"],
                }
            ]
            * 3,
            {
                "id": rp.FixedLenFeature([], "int64"),
                "weight": rp.FixedLenFeature([], "float32"),
                "blob": rp.FixedLenFeature([], "bytes"),
                "text": rp.FixedLenFeature([], "string"),
                "box": rp.FixedLenFeature([2, 2], "float32"),
                "words": rp.RaggedFeature(str),
                "tokens": rp.RaggedFeature("int64"),
                "pixels": rp.RawFeature([2, 3], "uint16"),
                "flags": rp.RawFeature([3], "bool"),
            },
        )
        with Stream(dataset) as stream:
            self.assertEqual(
                stream.columns(),
                {
                    "id": b"l",
                    "weight": b"f",
                    "blob": b"Z",
                    "text": b"U",
                    "box": b"+w:2",
                    "words": b"+L",
                    "tokens": b"+L",
                    "pixels": b"+w:2",
                    "flags": b"+w:3",
                },
            )
            rows = stream.rows()
        self.assertEqual(
            {name: column[2] for name, column in rows.items()},
            {
                "id": -(2**63),
                "weight": 0.5,
                "blob": b"\xff",
                "text": "ü",
                "box": [[1.0, 2.0], [3.0, 4.0]],
                "words": ["a", ""],
                "tokens": [7, 8, 9],
                "pixels": [[0, 1, 2], [3, 4, 5]],
                "flags": [True, False, True],
            },
        )
        self.assertEqual(len(rows["id"]), 3)

    def test_missing_features_are_null_unless_they_have_a_default(self):
        full = {"n": [1], "box": [1.0, 2.0], "raw": [b"ab"], "text": [b"x"], "list": [5], "d": [9]}
        examples = [full if i % 9 == 0 else {} for i in range(20)]
        examples[3] = {**full, "list": []}
        dataset = self.dataset(
            examples,
            {
                "n": rp.FixedLenFeature([], "int64"),
                "box": rp.FixedLenFeature([2], "float32"),
                "raw": rp.RawFeature([2], "uint8"),
                "text": rp.FixedLenFeature([], "bytes"),
                "list": rp.RaggedFeature("int64"),
                "d": rp.FixedLenFeature([], "int64", 4),
            },
        )
        present = {"n": 1, "box": [1, 2], "raw": [97, 98], "text": b"x", "list": [5], "d": 9}
        for read in (dataset, dataset.batch(7), dataset.batch(20).prefetch()):
            rows = rows_of(read)
            for name, value in present.items():
                absent = 4 if name == "d" else None
                expected = [value if i % 9 == 0 or i == 3 else absent for i in range(20)]
                if name == "list":
                    expected[3] = []
                self.assertEqual(rows[name], expected, name)
        with self.assertRaisesRegex(rp.NotFoundError, "missing"):
            list(dataset)
        alone = {"n": rp.FixedLenFeature([], "int64", optional=True)}
        nulls = rows_of(self.dataset([{}] * 3, alone, "nulls.tfrecord"))
        self.assertEqual(nulls, {"n": [None] * 3})

    def test_an_empty_list_of_a_fixed_feature_is_null(self):
        dataset = self.dataset(
            [{"n": [], "raw": [], "d": []}, {"n": [1], "raw": [b"ab"], "d": [2]}],
            {
                "n": rp.FixedLenFeature([], "int64"),
                "raw": rp.RawFeature([2], "uint8"),
                "d": rp.FixedLenFeature([], "int64", 9),
            },
        )
        self.assertEqual(rows_of(dataset), {"n": [None, 1], "raw": [None, [97, 98]], "d": [9, 2]})
        with self.assertRaisesRegex(rp.UnsupportedError, "holds 0 values"):
            list(dataset)

    def test_raw_arrays_of_any_length_and_of_steps(self):
        dataset = self.dataset(
            [{"x": [b"\0\1\0\2"]}, {"x": []}, {}, {"x": [b""]}],
            {"x": rp.RawFeature([None, 1], "int16", big_endian=True)},
        )
        self.assertEqual(rows_of(dataset), {"x": [[[1], [2]], None, None, []]})
        path = records.write(
            self.folder / "steps",
            [
                records.sequence_example({}, {"f": [[b"ab"], [b"cd"]], "g": [[b"abc"], [b""]]}),
                records.sequence_example({}, {}),
            ],
        )
        lists = {"f": rp.RawFeature([2], "uint8"), "g": rp.RawFeature([None], "uint8")}
        dataset = rp.tfrecords(path).parse_sequence_example({}, lists)
        expected = {"f": [[[97, 98], [99, 100]], None], "g": [[[97, 98, 99], []], None]}
        self.assertEqual(rows_of(dataset), expected)

    def test_no_rows(self):
        features = {
            "n": rp.FixedLenFeature([], "int64"),
            "list": rp.RaggedFeature("bytes"),
            "raw": rp.RawFeature([2], "bool"),
        }
        empty = {"n": [], "list": [], "raw": []}
        dataset = self.dataset([], features)
        self.assertEqual(rows_of(dataset), empty)
        self.assertEqual(rows_of(dataset.batch(3)), empty)
        nothing = rp.tfrecords(self.folder / "read.tfrecord").parse({})
        for dataset in (nothing, nothing.batch(2), rp.sample_from_datasets([nothing, nothing])):
            with self.assertRaisesRegex(rp.UnsupportedError, "need a column"):
                rows_of(dataset)

    def test_operators_between_parse_and_batch(self):
        one, optional = (rp.FixedLenFeature([], "int64", optional=x) for x in (False, True))
        feature = {"id": one, "x": optional}
        dataset = self.dataset([{"id": [i]} for i in range(10)], feature)
        self.assertEqual(
            rows_of(dataset.skip(2).shard(2, 1).repeat(2).cache().batch(3).take(2))["id"],
            [3, 5, 7, 9, 3, 5],
        )
        self.assertEqual(rows_of(dataset.concatenate(dataset.take(1)))["id"], [*range(10), 0])
        both = rp.sample_from_datasets([dataset.batch(2), dataset.batch(2)], seed=1)
        self.assertEqual(sorted(rows_of(both)["id"]), sorted([*range(10)] * 2))
        shuffled = dataset.shuffle(seed=3)
        self.assertEqual(rows_of(shuffled), rows_of(shuffled))
        self.assertEqual(rows_of(shuffled)["x"], [None] * 10)
        self.assertNotEqual(rows_of(shuffled)["id"], rows_of(shuffled.epoch(1))["id"])
        self.assertNotEqual(rows_of(shuffled)["id"], list(range(10)))

    def test_sequence_examples(self):
        def sequence(context, lists):
            body = b"".join(
                records.field(
                    1,
                    records.field(1, name.encode())
                    + records.field(2, b"".join(records.field(1, step) for step in steps)),
                )
                for name, steps in lists.items()
            )
            return records.example(context) + records.field(2, body)

        path = records.write(
            self.folder / "s.tfrecord",
            [
                sequence(
                    {"id": [1]},
                    {
                        "f": [records.feature([1.0, 2.0]), records.feature([3.0, 4.0])],
                        "w": [records.feature([b"a"]), b""],
                    },
                ),
                sequence({"id": [2]}, {}),
                sequence({}, {"f": [], "w": [records.feature([b"b", b"c"])]}),
            ],
        )
        context = {"id": rp.FixedLenFeature([], "int64")}
        dataset = rp.tfrecords(path).parse_sequence_example(
            context,
            {"f": rp.FixedLenSequenceFeature([2], "float32"), "w": rp.RaggedFeature("string")},
        )
        expected = {
            "id": [1, 2, None],
            "f": [[[1, 2], [3, 4]], None, []],
            "w": [[["a"], []], None, [["b", "c"]]],
        }
        self.assertEqual(rows_of(dataset), expected)
        self.assertEqual(rows_of(dataset.batch(2)), expected)
        twice = rp.tfrecords(path).parse_sequence_example(
            context, {"id": rp.RaggedFeature("int64")}
        )
        with self.assertRaisesRegex(rp.UnsupportedError, "'id'"):
            twice.__arrow_c_schema__()

    def test_text_must_be_utf8_in_arrow_only(self):
        examples = [{"t": [b"ok"]}] * 5 + [{"t": [b"fine", b"\xc3("]}]
        dataset = self.dataset(examples, {"t": rp.RaggedFeature("string")})
        self.assertEqual(dataset[5]["t"].tolist(), [b"fine", b"\xc3("])
        with Stream(dataset) as stream, self.assertRaises(StreamError) as caught:
            stream.rows()
        for part in ("read.tfrecord", "'t'", "UTF-8", " at "):
            self.assertIn(part, str(caught.exception))
        path = self.folder / "read.tfrecord"
        binary = rp.tfrecords(path).parse({"t": rp.RaggedFeature("bytes")})
        self.assertEqual(rows_of(binary)["t"][5], [b"fine", b"\xc3("])
        with self.assertRaisesRegex(rp.InvalidArgumentError, "UTF-8"):
            rp.tfrecords(path).parse(
                {"t": rp.FixedLenFeature([], "string", b"\xff")}
            ).__arrow_c_stream__()

    def test_a_type_named_string_by_a_library_is_bytes(self):
        class TensorFlowsString:
            name = "string"

        dataset = self.dataset([{"t": [b"\xff"]}], {"t": rp.RaggedFeature(TensorFlowsString())})
        self.assertEqual(rows_of(dataset), {"t": [[b"\xff"]]})

    def test_errors_in_the_middle(self):
        examples = [{"n": [i]} for i in range(30)]
        examples[25] = {"n": [b"text"]}
        dataset = self.dataset(examples, {"n": rp.FixedLenFeature([], "int64")}).batch(10)
        with Stream(dataset) as stream:
            for _ in range(2):
                array = stream.next()
                self.assertEqual(array.length, 10)
                array.release(array)
            for _ in range(2):
                with self.assertRaises(StreamError) as caught:
                    stream.next()
                self.assertEqual(caught.exception.code, errno.EINVAL)
                self.assertRegex(str(caught.exception), "read.tfrecord.*'n'.*at [0-9]+")
        path = self.folder / "none"
        path.touch()
        missing = rp.tfrecords(path).parse({"n": rp.RaggedFeature("int64")})
        path.unlink()
        with Stream(missing) as stream, self.assertRaises(StreamError) as caught:
            stream.next()
        self.assertEqual(caught.exception.code, errno.ENOENT)

    def test_elements_without_columns(self):
        dataset = self.dataset([{"n": [1]}], {"n": rp.FixedLenFeature([], "int64")})
        for other in (
            rp.tfrecords(self.folder / "read.tfrecord"),
            dataset.map(dict),
            rp.from_list([1]),
            dataset.window(2),
        ):
            for method in (other.__arrow_c_schema__, other.__arrow_c_stream__):
                with self.assertRaisesRegex(rp.UnsupportedError, "parse"):
                    method()
        wide = self.dataset([], {"n": rp.TensorFeature([], "complex64")})
        with self.assertRaisesRegex(rp.UnsupportedError, "'n'"):
            wide.__arrow_c_stream__()


if __name__ == "__main__":
    unittest.main()
