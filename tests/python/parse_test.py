"""parse() and batch(): values, shapes, types, defaults and errors."""

import pickle
import unittest

import numpy as np
import recordpipe as rp
import records
from arrow_c import Stream, StreamError
from support import FilesTest, example_values

FEATURES = {
    "name": rp.FixedLenFeature([], "bytes"),
    "id": rp.FixedLenFeature([], "int64"),
    "box": rp.FixedLenFeature([2], "float32"),
    "tokens": rp.RaggedFeature("int64"),
}


class Parse(FilesTest):
    def test_a_batch_is_a_dict_of_columns(self):
        dataset = rp.tfrecords(self.examples(10)).parse(FEATURES).batch(4)
        batches = list(dataset)
        self.assertEqual([len(batch["id"]) for batch in batches], [4, 4, 2])
        batch = batches[1]
        self.assertEqual(list(batch), list(FEATURES))
        self.assertEqual(batch["id"].dtype, np.int64)
        self.assertEqual(batch["id"].tolist(), [4, 5, 6, 7])
        self.assertEqual(batch["box"].dtype, np.float32)
        self.assertEqual(batch["box"].tolist(), [[i + 0.25, i + 0.5] for i in range(4, 8)])
        self.assertEqual(batch["name"].tolist(), [f"name {i}".encode() for i in range(4, 8)])
        self.assertEqual(batch["tokens"].to_list(), [list(range(i % 4)) for i in range(4, 8)])

    def test_ignore_errors_leaves_out_rows_that_cannot_be_parsed(self):
        path = self.folder / "some"
        examples = [records.example({"a": [i]} if i % 10 else {"b": [i]}) for i in range(100)]
        records.write(path, examples)
        dataset = rp.tfrecords(path).parse({"a": rp.FixedLenFeature([], "int64")})
        expected = [i for i in range(100) if i % 10]
        skipping = dataset.ignore_errors()
        self.assertEqual([row["a"] for row in skipping], expected)
        for threads in (1, 3):
            iterator = iter(skipping.shuffle(16, seed=7).batch(25).with_options(threads=threads))
            batches = [batch["a"].tolist() for batch in iterator]
            self.assertEqual([len(batch) for batch in batches], [25, 25, 25, 15])
            self.assertEqual(sorted(label for batch in batches for label in batch), expected)
            stats = iterator.stats()
            self.assertEqual(stats["skipped"], 10)
            self.assertEqual(
                stats["first_skipped"][0], (str(path), 0, "feature 'a' is missing in the record")
            )
        with self.assertRaisesRegex(rp.LimitExceededError, "max_count=5"):
            list(dataset.ignore_errors(max_count=5).batch(10))
        # A batch with a failed row is left out as a whole.
        self.assertEqual(list(dataset.batch(10).ignore_errors()), [])

    def test_a_row_is_a_dict_of_values(self):
        rows = list(rp.tfrecords(self.examples(5)).parse(FEATURES))
        for i, row in enumerate(rows):
            expected = example_values(i)
            self.assertEqual(row["id"], i)
            self.assertEqual(row["name"], expected["name"][0])
            self.assertEqual(row["box"].tolist(), expected["box"])
            self.assertEqual(row["tokens"].tolist(), expected["tokens"])

    def test_rows_batched_in_python_equal_batches(self):
        dataset = rp.tfrecords(self.examples(9)).parse(
            {name: FEATURES[name] for name in ("id", "name", "box")}
        )
        expected = list(dataset.batch(4))
        stacked = list(dataset.map(lambda row: row).batch(4))
        self.assertEqual(len(stacked), len(expected))
        for a, b in zip(expected, stacked, strict=True):
            for name in a:
                self.assertEqual(a[name].dtype, b[name].dtype)
                np.testing.assert_array_equal(a[name], b[name])

    def test_order_operators_keep_the_columns(self):
        dataset = (
            rp.tfrecords(self.examples(20))
            .parse(FEATURES)
            .shuffle(seed=3)
            .repeat(2)
            .shard(2, 1)
            .skip(1)
            .take(15)
            .batch(4)
            .prefetch()
        )
        ids = np.concatenate([batch["id"] for batch in dataset])
        plain = (
            rp.tfrecords(self.folder / "examples.tfrecord")
            .shuffle(seed=3)
            .repeat(2)
            .shard(2, 1)
            .skip(1)
            .take(15)
        )
        names = [record for record in plain]
        self.assertEqual(len(ids), 15)
        self.assertEqual([records.example(example_values(int(i))) for i in ids], names)

    def test_names_of_dtypes(self):
        path = self.examples(3)
        for dtype in ("int64", np.int64, np.dtype("int64"), int):
            batch = next(
                iter(rp.tfrecords(path).parse({"id": rp.FixedLenFeature([], dtype)}).batch(3))
            )
            self.assertEqual(batch["id"].tolist(), [0, 1, 2])
        for dtype in ("bytes", "string", bytes):
            batch = next(
                iter(rp.tfrecords(path).parse({"name": rp.FixedLenFeature([], dtype)}).batch(1))
            )
            self.assertEqual(batch["name"].tolist(), [b"name 0"])
        with self.assertRaisesRegex(ValueError, "int32"):
            rp.tfrecords(path).parse({"id": rp.FixedLenFeature([], "int32")})

    def test_default_values(self):
        path = self.examples(2)
        dataset = (
            rp.tfrecords(path)
            .parse(
                {
                    "weight": rp.FixedLenFeature([], "float32", default_value=0.5),
                    "pair": rp.FixedLenFeature([2], "int64", default_value=[7, 8]),
                    "same": rp.FixedLenFeature([3], "int64", default_value=1),
                    "text": rp.FixedLenFeature([], "bytes", default_value=b"none"),
                }
            )
            .batch(2)
        )
        batch = next(iter(dataset))
        self.assertEqual(batch["weight"].tolist(), [0.5, 0.5])
        self.assertEqual(batch["pair"].tolist(), [[7, 8], [7, 8]])
        self.assertEqual(batch["same"].tolist(), [[1, 1, 1], [1, 1, 1]])
        self.assertEqual(batch["text"].tolist(), [b"none", b"none"])

    def test_exceptions_of_functions_name_the_record(self):
        def fail(row):
            raise KeyError(row["id"])

        path = self.examples(10)
        dataset = rp.tfrecords(path).parse({"id": rp.FixedLenFeature([], "int64")}).skip(5)
        for failing in (
            dataset.map(fail),
            dataset.filter(fail),
            dataset.shuffle(1, seed=7).map(fail),
        ):
            with self.assertRaises(KeyError) as raised:
                next(iter(failing))
            (note,) = raised.exception.__notes__
            self.assertRegex(note, f"the record of {path} at offset [1-9]")

    def test_a_missing_feature_names_the_record(self):
        path = records.write(
            self.folder / "f.tfrecord", [records.example({"a": [1]}), records.example({"b": [2]})]
        )
        with self.assertRaises(rp.NotFoundError) as raised:
            list(rp.tfrecords(path).parse({"a": rp.FixedLenFeature([], "int64")}).batch(2))
        self.assertNotIsInstance(raised.exception, FileNotFoundError)  # the file is there
        self.assertEqual(raised.exception.path, str(path))
        self.assertEqual(raised.exception.offset, len(records.frame(records.example({"a": [1]}))))
        self.assertIn("'a'", str(raised.exception))

    def test_a_missing_feature_is_answered_by_those_that_there_are(self):
        path = self.examples(1)
        for name, nearest in (("ids", "id"), ("nam", "name")):
            dataset = rp.tfrecords(path).parse({name: rp.FixedLenFeature([], "int64")})
            with self.assertRaisesRegex(
                rp.NotFoundError,
                rf"feature '{name}' is missing.*there are {nearest}, .*; did you mean {nearest}\?",
            ):
                list(dataset)
        lists = {"frames": rp.FixedLenSequenceFeature([], "int64")}
        with self.assertRaisesRegex(rp.NotFoundError, "feature list 'frames'.*there are .*name"):
            list(rp.tfrecords(path).parse_sequence_example({}, lists))

    def test_parse_comes_once_and_before_functions(self):
        dataset = rp.tfrecords(self.examples(2))
        with self.assertRaisesRegex(rp.InvalidArgumentError, "once"):
            dataset.parse(FEATURES).parse(FEATURES)
        with self.assertRaisesRegex(TypeError, "bytes of a record, not int"):
            list(dataset.map(len).parse(FEATURES))

    def test_raw_arrays(self):
        for dtype in ("uint8", "int16", ">i2", "float16", "float64", bool):
            if dtype == ">i2":
                with self.assertRaisesRegex(ValueError, "little-endian"):
                    rp.RawFeature([1], dtype)._native("x")
                continue
            arrays = [(np.arange(12).reshape(2, 3, 2) * i).astype(dtype) for i in range(5)]
            path = records.write(
                self.folder / "raw.tfrecord",
                [records.example({"x": [array.tobytes()]}) for array in arrays],
            )
            dataset = rp.tfrecords(path).parse({"x": rp.RawFeature([2, 3, 2], dtype)})
            batch = next(iter(dataset.batch(5)))["x"]
            self.assertEqual(batch.dtype, np.dtype(dtype))
            np.testing.assert_array_equal(batch, np.stack(arrays))
            np.testing.assert_array_equal(dataset[3]["x"], arrays[3])
        with self.assertRaisesRegex(rp.UnsupportedError, "12 bytes, not 11"):
            list(rp.tfrecords(path).parse({"x": rp.RawFeature([11], "uint8")}).batch(1))

    def test_big_endian_arrays(self):
        for dtype in ("uint8", ">i2", ">f4", ">u8", ">f8", bool):
            array = (np.arange(6).reshape(2, 3) * 37).astype(dtype)
            example = records.example({"x": [array.tobytes()]})
            path = records.write(self.folder / "raw.tfrecord", [example] * 2)
            feature = rp.RawFeature([2, 3], array.dtype.name, big_endian=True)
            dataset = rp.tfrecords(path).parse({"x": feature})
            batch = next(iter(dataset.batch(2)))["x"]
            self.assertEqual(batch.dtype, array.dtype.newbyteorder("="))
            np.testing.assert_array_equal(batch, np.stack([array, array]))
            np.testing.assert_array_equal(dataset[1]["x"], array)
        with self.assertRaisesRegex(rp.UnsupportedError, "holds 6 bytes, not 5"):
            list(rp.tfrecords(path).parse({"x": rp.RawFeature([5], bool, big_endian=True)}))

    def test_raw_arrays_of_any_first_dimension(self):
        arrays = [np.arange(n * 80).reshape(n, 80).astype("float32") for n in (2, 0, 3)]
        for big_endian in (False, True):
            order = ">f4" if big_endian else "<f4"
            examples = [records.example({"x": [a.astype(order).tobytes()]}) for a in arrays]
            path = records.write(self.folder / "raw.tfrecord", examples)
            feature = rp.RawFeature([None, 80], "float32", big_endian)
            dataset = rp.tfrecords(path).parse({"x": feature})
            batch = next(iter(dataset.batch(3)))["x"]
            self.assertEqual(batch.row_splits.tolist(), [0, 2, 2, 5])
            np.testing.assert_array_equal(batch.values, np.concatenate(arrays))
            self.assertEqual(batch.to_padded(-1).shape, (3, 3, 80))
            np.testing.assert_array_equal(dataset[2]["x"], arrays[2])
            padded = next(iter(dataset.padded_batch(3)))["x"]
            self.assertEqual(np.asarray(padded).shape, (3, 3, 80))
        other = rp.tfrecords(path).parse({"x": rp.RawFeature([None, 7], "float32")})
        with self.assertRaisesRegex(
            rp.UnsupportedError, "'x' holds 640 bytes, not a multiple of 28"
        ):
            list(other.batch(3))
        for values, reason in (([], "0 values, not one array"), ([b"a", b"b"], "2 values")):
            broken = records.write(self.folder / "b", [records.example({"x": values})])
            if not values:
                broken.write_bytes(records.frame(records.field(1, records.entries({"x": b"\n\0"}))))
            with self.assertRaisesRegex(rp.UnsupportedError, reason):
                list(rp.tfrecords(broken).parse({"x": rp.RawFeature([None], "uint8")}))
        missing = records.write(self.folder / "m", [records.example({"y": [1]})])
        with self.assertRaisesRegex(rp.NotFoundError, "'x' is missing"):
            list(rp.tfrecords(missing).parse({"x": feature}))
        for shape in ([2, None], None, [None, None]):
            with self.assertRaisesRegex(ValueError, "only the first dimension may be None"):
                rp.RawFeature(shape, "uint8")._native("x")

    def test_arrays_of_other_types_or_shapes_are_not_mixed(self):
        path = records.write(self.folder / "x.tfrecord", [records.example({"x": [b"\xff" * 6]})])
        first = rp.tfrecords(path).parse({"x": rp.RawFeature([6], "uint8")})
        second = rp.tfrecords(path).parse({"x": rp.RawFeature([2, 3], "int8")})
        rows = [row["x"] for row in first.concatenate(second)]
        self.assertEqual([row.dtype for row in rows], [np.uint8, np.int8])
        self.assertEqual([row.shape for row in rows], [(6,), (2, 3)])
        same = first.concatenate(rp.tfrecords(path).parse({"x": rp.RawFeature([6], "uint8")}))
        self.assertEqual(next(iter(same.batch(2)))["x"].shape, (2, 6))

    def test_names_of_features(self):
        path = records.write(
            self.folder / "names.tfrecord", [records.example({"a\0b": [1], "a": [2], "": [3]})]
        )
        self.assertEqual(rp.tfrecords(path).parse()[0], {"a\0b": 1, "a": 2, "": 3})
        with self.assertRaisesRegex(rp.UnsupportedError, "null bytes"):
            rp.tfrecords(path).parse().__arrow_c_schema__()
        with self.assertRaisesRegex(ValueError, "Unicode text"):
            rp.tfrecords(path).parse({"\udc80": rp.FixedLenFeature([], "int64")})

    def test_dimensions_are_those_that_numpy_has(self):
        path = records.write(self.folder / "x.tfrecord", [records.example({"x": [1]})])
        for rank in (31, 32, 100):
            features = {"x": rp.FixedLenFeature([1] * rank, "int64")}
            if rank > 31:
                with self.assertRaisesRegex(ValueError, "at most 31 dimensions"):
                    rp.tfrecords(path).parse(features)
                continue
            batch = next(iter(rp.tfrecords(path).parse(features).batch(1)))
            self.assertEqual(batch["x"].shape, (1,) * (rank + 1))

    def test_ragged(self):
        batch = next(
            iter(
                rp.tfrecords(self.examples(4)).parse({"tokens": rp.RaggedFeature("int64")}).batch(4)
            )
        )
        ragged = batch["tokens"]
        self.assertEqual(len(ragged), 4)
        self.assertEqual(ragged.row_splits.tolist(), [0, 0, 1, 3, 6])
        self.assertEqual(ragged.values.tolist(), [0, 0, 1, 0, 1, 2])
        self.assertEqual(ragged[-1].tolist(), [0, 1, 2])
        self.assertEqual(ragged.to_padded().tolist(), [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 2]])
        self.assertEqual(
            ragged.to_padded(-1, length=2).tolist(), [[-1, -1], [0, -1], [0, 1], [0, 1]]
        )
        self.assertEqual(pickle.loads(pickle.dumps(ragged)), ragged)
        with self.assertRaises(IndexError):
            ragged[4]


class OptionalFeatures(FilesTest):
    """Records 0, 3, 6, ... lack the features, and record 1 has them without values."""

    def setUp(self):
        super().setUp()
        self.path = self.folder / "o.tfrecord"
        rows = [
            {"id": [i]} | ({"n": [i], "v": [i / 2, 1.5], "t": [b"t%d" % i]} if i % 3 else {})
            for i in range(8)
        ]
        rows[1] |= {"n": [], "v": [], "t": []}
        records.write(self.path, map(records.example, rows))
        self.features = {
            "n": rp.FixedLenFeature([], "int64", optional=True),
            "v": rp.FixedLenFeature([2], "float32", optional=True),
            "t": rp.FixedLenFeature([], "bytes", optional=True),
            "id": "int64",
        }
        self.has = [False, False, True, False, True, True, False, True]

    def test_masks(self):
        ds = rp.tfrecords(self.path).parse(self.features)
        for batch in (*ds.batch(8), *ds.filter(lambda _: True).batch(8), *ds.map(dict).batch(8)):
            keys = ["n", "n_mask", "v", "v_mask", "t", "t_mask", "id"]
            self.assertEqual([*batch], keys)
            for name in ("n", "v", "t"):
                mask = batch[f"{name}_mask"]
                self.assertEqual((mask.dtype, mask.tolist()), (bool, self.has))
            numbers = [i if has else 0 for i, has in enumerate(self.has)]
            self.assertEqual(batch["n"].tolist(), numbers)
            self.assertEqual(batch["v"].tolist(), [[i / 2, 1.5 * (i > 0)] for i in numbers])
            self.assertEqual(batch["t"].tolist(), [b"t%d" % i if i else b"" for i in numbers])
        for single in (list(ds), [ds[i] for i in range(8)], list(ds.batch(3).unbatch())):
            self.assertEqual([row["n_mask"].item() for row in single], self.has)
            self.assertEqual([row["n"].item() for row in single], numbers)
        batches = list(ds.shuffle(seed=3).batch(3))  # whose memory is used again
        for batch in batches:
            self.assertEqual(batch["n_mask"].tolist(), [self.has[i] for i in batch["id"]])

    def test_context_of_sequence_examples(self):
        path = self.folder / "s.tfrecord"
        records.write(path, [records.example({"n": [7]}), records.example({})])
        ds = rp.tfrecords(path).parse_sequence_example({"n": self.features["n"]}, {})
        ((context, _),) = ds.batch(2)
        self.assertEqual(
            (context["n"].tolist(), context["n_mask"].tolist()), ([7, 0], [True, False])
        )

    def test_what_is_refused(self):
        ds = rp.tfrecords(self.path)
        with self.assertRaisesRegex(
            rp.InvalidArgumentError, "'n_mask' is a feature, and the mask of"
        ):
            ds.parse({**self.features, "n_mask": "int64"})
        both = rp.FixedLenFeature([], "int64", default_value=1, optional=True)
        with self.assertRaisesRegex(ValueError, "'n': optional, and with a default_value"):
            ds.parse({"n": both})

    def test_found_features(self):
        rp.write_tfrecords(self.path, [{"n": 1, "n_mask": 2}, {"n_mask": 3}, {"n_mask": 4}])
        found = rp.tfrecords(self.path).parse().features  # another feature has the mask's name
        self.assertEqual(found["n"], rp.RaggedFeature("int64"))
        rp.write_tfrecords(self.path, [{"n": 1, "v": [1, 2]}, {"id": 1}])
        found = rp.tfrecords(self.path).parse()
        self.assertEqual(found.features, rp.schema(self.path).features())
        self.assertTrue(repr(found.features["n"]).endswith("default_value=None, optional=True)"))
        names = {}
        exec(rp.schema(self.path).python, names)
        self.assertIn("    n_mask: npt.NDArray[np.bool_]", rp.schema(self.path).to_code())
        self.assertEqual(names["features"], found.features)
        self.assertEqual(
            [*next(iter(found.batch(2)))], ["id", "id_mask", "n", "n_mask", "v", "v_mask"]
        )


class OtherMessages(FilesTest):
    """A record of another message is not taken for an Example without features."""

    OPTIONAL = (
        {"a": rp.FixedLenFeature([], "int64", 0)},
        {"a": rp.RaggedFeature("int64")},
        {"a": rp.FixedLenFeature([2], "float32", 0.0), "b": rp.RaggedFeature("bytes")},
    )

    def test_other_messages_are_refused(self):
        field = records.field
        example = records.example({"label": [1]})
        frame = (
            field(1, field(1, b"12306251798468767010_560_000_580_000"))
            + b"\x10\x07"
            + field(4, b"image")
        )
        event = b"\x09" + bytes(8) + b"\x10\x05"
        for other, what in (
            (event, "of type Event"),
            (frame, "except for field"),
            (field(1, example), "of type ExampleListWithContext"),
            (field(7, b"x"), "of type unknown"),
            (example + b"\x2a\x01x", "an Example except for field 5"),
        ):
            path = records.write(self.folder / "mixed", [example, b"", example, other])
            ds = rp.tfrecords(path)
            for features in self.OPTIONAL:
                parsed = ds.parse(features)
                lists = ds.parse_sequence_example(features, {"s": rp.RaggedFeature("int64")})
                last = (parsed.skip(3).batch(4), lists.skip(3).batch(4))
                for made in (parsed, lists, parsed.shard(2, 1), *last):
                    no = rf"no (Sequence)?Example \(.*{what}.* and has none of the features"
                    with (
                        self.subTest(what, features=features, made=made.explain()),
                        self.assertRaisesRegex(rp.UnsupportedError, no) as e,
                    ):
                        list(made)
                    self.assertEqual(e.exception.path, str(path))
                    self.assertEqual(e.exception.offset, path.stat().st_size - len(other) - 16)
                self.assertEqual(len([*parsed.ignore_errors()]), 3)
                (batch,) = parsed.ignore_errors().batch(4)
                self.assertEqual(len(batch["a"]), 3)

    def test_examples_may_lack_all_features(self):
        twice = records.example({"c": [1]}) + records.example({"c": [2]})
        path = records.write(self.folder / "x", [b"", records.example({"c": [1]}), twice])
        for features in self.OPTIONAL:
            parsed = rp.tfrecords(path).parse(features)
            self.assertEqual(len([*parsed]), 3)
            self.assertEqual(len(next(iter(parsed.batch(3)))["a"]), 3)

    def test_every_row_of_batches_and_tables_is_looked_at(self):
        example = records.example({"a": [1]})
        steps = records.sequence_example({}, {"s": [[1]]})
        event = b"\x09" + bytes(8) + b"\x10\x05"
        for other, what in ((steps, "SequenceExample"), (event, "Event")):
            path = records.write(self.folder / "x", [example] * 70 + [other, example])
            no = rf"no Example \(of type {what}\) and has none of the features"
            for features in (*self.OPTIONAL[:2], {"a": "int64"}):
                ds = rp.tfrecords(path).parse(features)
                for made in (ds, ds.batch(64), ds.padded_batch(72)):
                    if features != {"a": "int64"}:  # whose absence is an error of its own
                        with self.subTest(made=made), self.assertRaisesRegex(rp.Error, no):
                            list(made)
                for made in (ds, ds.batch(64)):
                    with Stream(made) as stream, self.assertRaisesRegex(StreamError, no):
                        stream.rows()

    def test_lists_of_examples(self):
        one = records.field(1, records.example({"a": [1]}))
        frame = (
            records.field(1, records.field(1, b"12306251798468767010_560_000_580_000"))
            + b"\x10\x07"
        )
        lists = {"a": rp.RaggedFeature("int64")}
        for other, what in ((frame, "except for field"), (b"\x10\x07", "of type unknown")):
            path = records.write(self.folder / "x", [one] * 3 + [other, b"", one])
            ds = rp.tfrecords(path).parse_example_list(examples=lists)
            no = rf"no ExampleListWithContext \(.*{what}.* and has none of the features"
            for made in (ds, ds.batch(6)):
                with self.assertRaisesRegex(rp.UnsupportedError, no):
                    list(made)
            self.assertEqual(len([*ds.ignore_errors()]), 5)

    def test_a_feature_of_a_message_with_more_is_read(self):
        path = records.write(self.folder / "x", [records.example({"a": [5]}) + b"\x2a\x01x"] * 2)
        for made in (rp.tfrecords(path).parse(self.OPTIONAL[0]),):
            self.assertEqual([int(row["a"]) for row in made], [5, 5])


if __name__ == "__main__":
    unittest.main()
