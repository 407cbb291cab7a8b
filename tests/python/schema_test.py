"""parse() without features, Dataset.features, and the checks of features."""

import collections
import pickle
import typing
import unittest
import warnings

import numpy as np
import numpy.typing as npt
import recordpipe as rp
import records
from arrow_c import Stream, StreamError
from support import FilesTest


class FoundFeatures(FilesTest):
    def write(self, examples, name="f.tfrecord"):
        return records.write(
            self.folder / name, [records.example(features) for features in examples]
        )

    def test_fixed_if_all_have_as_many_values_else_ragged(self):
        path = self.write(
            {
                "label": [i],
                "box": [0.5, i + 0.25],
                "words": [b"w"] * (1 + i % 3),
                **({"sometimes": [1]} if i else {}),
            }
            for i in range(10)
        )
        dataset = rp.tfrecords(path).parse()
        self.assertEqual(
            dataset.features,
            {
                "label": rp.FixedLenFeature([], "int64"),
                "box": rp.FixedLenFeature([2], "float32"),
                "words": rp.RaggedFeature("bytes"),
                "sometimes": rp.FixedLenFeature([], "int64", optional=True),
            },
        )
        batch = next(iter(dataset.batch(10)))
        self.assertEqual(batch["label"].tolist(), list(range(10)))
        self.assertEqual(batch["box"].shape, (10, 2))
        self.assertEqual(batch["sometimes"].tolist(), [0] + [1] * 9)
        self.assertEqual(batch["sometimes_mask"].tolist(), [False] + [True] * 9)
        self.assertEqual(dataset[3]["words"].tolist(), [b"w"])

    def test_it_equals_parse_with_the_found_features(self):
        path = self.examples(6)
        found = rp.tfrecords(path).parse().batch(2)
        given = rp.tfrecords(path).parse(rp.schema(path).features()).batch(2)
        self.assertEqual(found.explain(), given.explain())
        iterator = iter(found)
        next(iterator)
        other = iter(given)
        other.load_state_dict(iterator.state_dict())
        self.assertEqual(next(other)["id"].tolist(), [2, 3])

    def test_a_pickled_dataset_does_not_look_again(self):
        path = self.write([{"a": [1]}] * 3)
        dataset = rp.tfrecords(path).parse().batch(1)
        state = iter(dataset).state_dict()
        pickled = pickle.dumps(dataset)
        self.write([{"b": [b"x"]}] * 3)
        again = pickle.loads(pickled)
        self.assertEqual(again.features, {"a": rp.FixedLenFeature([], "int64")})
        self.assertEqual(again.explain(), dataset.explain())
        path.unlink()
        self.assertEqual(pickle.loads(pickled).features, again.features)
        self.write([{"a": [1]}] * 3)
        restored = iter(again)
        restored.load_state_dict(state)
        self.assertEqual(next(restored)["a"].tolist(), [1])

    def test_only_the_first_thousand_records_are_looked_into(self):
        path = self.write([{"a": [1]}] * 1000 + [{"a": [1, 2]}])
        dataset = rp.tfrecords(path).parse()
        self.assertEqual(dataset.features, {"a": rp.FixedLenFeature([], "int64")})
        with self.assertRaisesRegex(rp.UnsupportedError, "holds 2 values, not 1"):
            list(dataset.batch(100))
        # One record earlier, it is seen.
        path = self.write([{"a": [1]}] * 999 + [{"a": [1, 2]}])
        self.assertEqual(rp.tfrecords(path).parse().features, {"a": rp.RaggedFeature("int64")})

    def test_only_the_first_64_mib_are_looked_into(self):
        large = records.frame(records.example({"a": [bytes(1 << 20)]}), crc=False)
        path = self.write([{"b": [1]}])
        path.write_bytes(large * 64 + path.read_bytes())
        features = rp.tfrecords(path, check_crc=False).parse().features
        self.assertEqual(features, {"a": rp.FixedLenFeature([], "bytes")})

    def test_behind_operators_that_order(self):
        path = self.examples(30)
        plain = rp.tfrecords(path)
        dataset = plain.shuffle(8, seed=1).repeat(2).shard(2, 1).skip(1).take(20).prefetch().parse()
        self.assertEqual(dataset.features, plain.parse().features)
        self.assertEqual(len(next(iter(dataset.batch(20)))["id"]), 20)
        self.assertIsNone(plain.features)
        for behind in (dataset.shuffle(2), dataset.batch(3).prefetch(), dataset.epoch(2)):
            self.assertEqual(behind.features, dataset.features)
        self.assertIsNone(dataset.map(dict).features)
        with self.assertRaisesRegex(TypeError, r"not behind from_list\(\); pass the features"):
            rp.from_list([b""]).parse()
        with self.assertRaisesRegex(TypeError, r"not behind map\(\)"):
            plain.map(bytes).parse()
        with self.assertRaisesRegex(TypeError, r"not behind zip\(\)"):
            rp.zip(plain, plain).parse()

    def test_options_of_the_source_hold(self):
        good = records.frame(records.example({"a": [1]}))
        path = self.folder / "damaged.tfrecord"
        path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]) + good)
        with self.assertRaises(rp.DataLossError):
            rp.tfrecords(path).parse()
        features = {"a": rp.FixedLenFeature([], "int64")}
        self.assertEqual(rp.tfrecords(path, check_crc=False).parse().features, features)
        self.assertEqual(rp.tfrecords(path).ignore_errors().parse().features, features)

    def test_records_without_features(self):
        with self.assertRaisesRegex(rp.NotFoundError, "no records"):
            rp.tfrecords(self.write([])).parse()
        with self.assertRaisesRegex(rp.UnsupportedError, "without features"):
            rp.tfrecords(self.numbered(3)).parse()
        untyped = records.field(1, records.field(1, b"a") + records.field(2, b""))
        for record in (b"", records.example({}), records.field(1, untyped)):
            path = records.write(self.folder / "empty.tfrecord", [record] * 2)
            with self.assertRaisesRegex(ValueError, "first 2 records .* may be empty, or no tf.tr"):
                rp.tfrecords(path).parse()
        lists = records.field(1, records.field(1, b"x") + records.field(2, b""))
        path = records.write(self.folder / "s.tfrecord", [records.field(2, lists)])
        with self.assertRaisesRegex(rp.UnsupportedError, "parse_sequence_example"):
            rp.tfrecords(path).parse()

    def test_features_of_several_types_are_left_out_with_a_warning(self):
        path = self.write([{"a": [1], "b": [1]}, {"a": [b"x"], "b": [2]}])
        with self.assertWarnsRegex(UserWarning, "several types: a$"):
            dataset = rp.tfrecords(path).parse()
        self.assertEqual([row["b"] for row in dataset], [1, 2])

    def test_repr_is_code_for_parse(self):
        path = self.examples(3)
        text = repr(rp.tfrecords(path).parse().batch(2))
        self.assertIn("tfrecords(", text)
        code = text[text.index("\nfeatures={") + len("\nfeatures=") : -1]
        names = {name: getattr(rp, name) for name in ("FixedLenFeature", "RaggedFeature")}
        self.assertEqual(eval(code, names), rp.tfrecords(path).parse().features)


class UnseenFeatures(FilesTest):
    """Features that only records behind the first 1,000 have."""

    def setUp(self):
        super().setUp()
        first, second = self.folder / "a.tfrecord", self.folder / "b.tfrecord"
        rp.write_tfrecords(first, [{"id": i} for i in range(1000)])
        last = ({"id": 1000 + i, **({"clicked": [i]} if i % 2 else {})} for i in range(6))
        rp.write_tfrecords(second, last)
        self.second = str(second)
        self.offset = 1 * len(records.frame(records.example({"id": [1000]})))
        self.records = rp.tfrecords([first, second])
        self.features = {"id": rp.FixedLenFeature([], "int64")}

    def passes(self, dataset):
        """Passes of all kinds over the elements of a Dataset, and their ids."""
        yield "rows", lambda: [int(row["id"]) for row in dataset]
        yield "threads", lambda: [int(row["id"]) for row in dataset.with_options(threads=4)]
        yield "map", lambda: list(dataset.map(lambda row: int(row["id"])))
        yield "batches", lambda: np.concatenate([b["id"] for b in dataset.batch(64)]).tolist()
        yield "pickled", lambda: [int(row["id"]) for row in pickle.loads(pickle.dumps(dataset))]
        yield "shuffle", lambda: sorted(int(row["id"]) for row in dataset.shuffle(seed=1))
        twice = dataset.concatenate(dataset.take(0))
        yield "concatenate", lambda: [int(row["id"]) for row in twice]

    def test_they_are_errors(self):
        dataset = self.records.parse()
        self.assertEqual(dataset.features, self.features)
        for name, run in self.passes(dataset):
            with self.subTest(name), self.assertRaises(rp.UnsupportedError) as raised:
                run()
            error = raised.exception
            self.assertEqual((error.path, error.offset), (self.second, self.offset))
            self.assertRegex(str(error), "feature 'clicked', .* first 1,000 records, is in the rec")
            for way_out in ("pass parse", "recordpipe.schema", 'unseen="warn"'):
                self.assertIn(way_out, error.hint)
        for read in (lambda: dataset[1001], lambda: dataset[999:1003]):
            with self.assertRaisesRegex(rp.UnsupportedError, "'clicked'") as raised:
                read()
            error = raised.exception
            self.assertEqual((error.path, error.offset), (self.second, self.offset))
        self.assertEqual(dataset[1002]["id"], 1002)

    def test_ignore_errors_keeps_their_records(self):
        with self.assertRaisesRegex(rp.UnsupportedError, "'clicked'"):
            list(self.records.parse().ignore_errors())
        dataset = self.records.parse(unseen="warn").ignore_errors()
        with self.assertWarnsRegex(UserWarning, "'clicked' of 3 records"):
            self.assertEqual(len(list(dataset)), 1006)

    def test_a_warning_counts_them(self):
        dataset = self.records.parse(unseen="warn")
        for name, run in self.passes(dataset):
            with self.subTest(name), self.assertWarns(UserWarning) as warned:
                self.assertEqual(run(), list(range(1006)))
            text = str(warned.warning)
            place = (
                f"feature 'clicked' of 3 records, first in {self.second} at offset {self.offset}"
            )
            self.assertIn(place, text) if name != "shuffle" else self.assertIn("of 3 records", text)
            self.assertIn("recordpipe.schema", text)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaisesRegex(UserWarning, "clicked"):
                list(dataset)
            list(dataset.take(1000))
            list(self.records.parse(self.features))  # which were passed

    def test_warnings_behind_one_that_is_an_error_wait(self):
        parsed = [self.records.parse(unseen="warn") for _ in range(2)]
        iterator = iter(rp.zip(*parsed))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaisesRegex(UserWarning, "'clicked' of 3 records"):
                collections.deque(iterator, 0)
        with self.assertWarnsRegex(UserWarning, "'clicked' of 3 records"):
            del iterator

    def test_a_pass_that_ends_early_warns_too(self):
        iterator = iter(self.records.parse(unseen="warn").batch(1005))
        next(iterator)
        with self.assertWarnsRegex(UserWarning, "clicked"):
            del iterator

    def test_features_in_records_of_other_encodings_and_kinds(self):
        untyped = records.field(1, records.field(1, b"never") + records.field(2, b""))
        split = records.field(2, records.field(3, b"")) + records.field(1, b"late")
        lists = records.field(
            1, records.field(1, b"frames") + records.field(2, records.field(1, b""))
        )
        example = records.example({"id": [1]})
        for name, last, met in (
            ("no list", records.field(1, untyped), None),
            ("value before key", records.field(1, records.field(1, split)), "feature 'late'"),
            ("feature lists", records.field(2, lists), "feature list 'frames'"),
        ):
            path = records.write(self.folder / "c.tfrecord", [example] * 1000 + [example + last])
            dataset = rp.tfrecords(path).parse().batch(100)
            with self.subTest(name):
                if met is None:
                    self.assertEqual(len(list(dataset)), 11)
                else:
                    with self.assertRaisesRegex(rp.UnsupportedError, met):
                        list(dataset)

    def test_fields_that_no_message_has(self):
        example, other = records.example({"id": [1]}), b"\x2a\x01x"
        value = records.feature([1]) + b"\x28\x01"
        feature = records.field(1, records.field(1, b"id") + records.field(2, value))
        step = records.sequence_example({"id": [1]}, {"s": [[1]]})
        elwc = records.field(1, example)
        for first, last, method, what in (
            (example, example + other, "parse", "field 5 of an Example"),
            (example, example + records.field(1, feature), "parse", "field 5 of a Feature"),
            (step, step + other, "parse_sequence_example", "field 5 of a SequenceExample"),
            (elwc, elwc + other, "parse_example_list", "field 5 of an ExampleListWithContext"),
            (elwc, elwc + records.field(1, example + other), "parse_example_list", "5 of an Exam"),
        ):
            path = records.write(self.folder / "c.tfrecord", [first] * 1000 + [last])
            parse = getattr(rp.tfrecords(path), method)
            for made in (parse(), parse().batch(64)):
                refused = rf"{what}.*, which was not found in the first 1,000 records, is in the "
                with self.subTest(what), self.assertRaisesRegex(rp.UnsupportedError, refused):
                    list(made)
            with self.assertWarnsRegex(UserWarning, f"{what}.* of 1 record, in .*c.tfrecord at "):
                self.assertEqual(len(list(parse(unseen="warn"))), 1001)

    def test_tables(self):
        refused = self.assertRaisesRegex(StreamError, "'clicked'.*first 1,000 records")
        with Stream(self.records.parse()) as stream, refused:
            stream.rows()
        warned = self.assertWarnsRegex(UserWarning, "'clicked' of 3 records")
        with Stream(self.records.parse(unseen="warn")) as stream, warned:
            self.assertEqual(stream.rows(), {"id": list(range(1006))})

    def test_arguments(self):
        with self.assertRaisesRegex(ValueError, "features were passed"):
            self.records.parse(self.features, unseen="warn")
        with self.assertRaisesRegex(ValueError, '"error" or "warn"'):
            self.records.parse(unseen="ignore")


class Code(FilesTest):
    """Types of batches: the code runs, and says what batches are."""

    def write(self, rows):
        path = self.folder / "rows.tfrecord"
        rp.write_tfrecords(path, rows)
        return path

    def types(self, code, name):
        namespace = {"__name__": "pasted"}
        exec(code, namespace)
        return typing.get_type_hints(namespace[name])

    def expect_types_of(self, hints, batch):
        self.assertEqual(hints.keys(), batch.keys())
        for key, hint in hints.items():
            value = batch[key]
            if hint is rp.Ragged:
                self.assertIsInstance(value, rp.Ragged)
            else:
                self.assertEqual(hint, npt.NDArray[value.dtype.type])

    def test_a_class_of_the_batches(self):
        path = self.write([{"id": [i], "box": [0.5, 1.5], "tag": [b"x"] * i} for i in range(3)])
        found = rp.schema(path)
        code = found.to_code("Boxes")
        self.assertIn(
            "class Boxes(TypedDict):\n    box: npt.NDArray[np.float32]  # [batch, 2]", code
        )
        batch = next(iter(rp.tfrecords(path).parse(found.features()).batch(3)))
        self.expect_types_of(self.types(code, "Boxes"), batch)

    def test_names_that_are_no_identifiers(self):
        path = self.write(
            [{"image/encoded": [b"x"], "class": [1], "__x": [2], "a\"\n'b": [1.0]}] * 2
        )
        found = rp.schema(path)
        batch = next(iter(rp.tfrecords(path).parse(found.features()).batch(2)))
        self.expect_types_of(self.types(found.to_code(), "Batch"), batch)
        for name in ("class", "a b", "x;import os"):
            with self.assertRaisesRegex(ValueError, "for a class"):
                found.to_code(name)


class Features(unittest.TestCase):
    def parse(self, feature):
        return rp.tfrecords(__file__).parse({"k": feature})

    def test_default_values_have_the_shape_or_fill_it(self):
        def default(*arguments):
            return rp.FixedLenFeature(*arguments)._native("k")[4]

        self.assertEqual(default([2, 2], "int64", [[1, 2], [3, 4]]), [1, 2, 3, 4])
        self.assertEqual(default([2, 2], "int64", [1, 2, 3, 4]), [1, 2, 3, 4])
        self.assertEqual(default([2, 2], "int64", 7), [7] * 4)
        self.assertEqual(default([2], "float32", [1]), [1, 1])
        self.assertEqual(default([], "float32", np.float64(0.5)), [0.5])
        self.assertEqual(default([], "int64", True), [True])
        self.assertEqual(default([2], "bytes", ["é", b"x\0"]), ["é".encode(), b"x\0"])
        self.assertEqual(default([], "bytes", ""), [b""])
        for shape, dtype, value, error in (
            ([2, 2], "int64", [1, 2], ValueError),  # no broadcasting of rows
            ([2], "int64", [], ValueError),
            ([], "int64", 1.5, TypeError),  # would lose its fraction
            ([], "int64", "7", TypeError),
            ([], "int64", 2**63, ValueError),
            ([], "int64", 2**64, TypeError),
            ([], "float32", b"x", TypeError),
            ([], "bytes", 1, TypeError),
        ):
            with self.assertRaisesRegex(error, "'k'", msg=(shape, dtype, value)):
                self.parse(rp.FixedLenFeature(shape, dtype, value))

    def test_shapes(self):
        self.assertEqual(rp.FixedLenFeature(3, "int64")._native("k")[3], [3])
        self.assertEqual(rp.RawFeature((2, np.int64(3)), "uint8")._native("k")[3], [2, 3])
        for shape in ([None], [2.0], None, "3"):
            with self.assertRaisesRegex(TypeError, "list of integers", msg=shape):
                self.parse(rp.FixedLenFeature(shape, "int64"))
        for shape in ([0], [-1], [3, 0]):
            with self.assertRaisesRegex(ValueError, "1 or more", msg=shape):
                self.parse(rp.FixedLenFeature(shape, "int64"))

    def test_sizes_do_not_overflow(self):
        for feature in (
            rp.RawFeature([2**62, 4], "uint8"),
            rp.RawFeature([2**28], "float64"),
            rp.TensorFeature([2**62, 4], "uint8"),
            rp.TensorFeature([None, 2**31], "uint8"),
            rp.FixedLenFeature([2**62, 4], "int64"),
        ):
            with self.assertRaisesRegex(ValueError, "'k'.*larger than any", msg=feature):
                self.parse(feature)

    def test_what_is_no_feature(self):
        with self.assertRaisesRegex(TypeError, "use RaggedFeature"):
            self.parse(rp.FixedLenSequenceFeature([], "int64", allow_missing=True))
        for feature in (3, None, ["int64"]):
            with self.assertRaisesRegex(TypeError, "'k' is one of FixedLenFeature", msg=feature):
                self.parse(feature)
        for feature in (rp.FixedLenFeature([], "int64"), rp.TensorFeature([1], "uint8")):
            with self.assertRaisesRegex(TypeError, "FixedLenSequenceFeature, RaggedFeature, Raw"):
                rp.tfrecords(__file__).parse_sequence_example(feature_lists={"k": feature})
        with self.assertRaisesRegex(TypeError, "name of a feature must be a string, not 1"):
            rp.tfrecords(__file__).parse({1: rp.RaggedFeature("int64")})


class Raggeds(unittest.TestCase):
    def ragged(self, rows, dtype=np.int64):
        splits = np.cumsum([0, *map(len, rows)])
        return rp.Ragged(np.array([value for row in rows for value in row], dtype), splits)

    def test_equality(self):
        rows = self.ragged([[1], [], [2, 3]])
        self.assertEqual(rows, self.ragged([[1], [], [2, 3]]))
        self.assertNotEqual(rows, self.ragged([[1], [2], [3]]))
        self.assertNotEqual(rows, self.ragged([[1], [], [2, 4]]))
        self.assertNotEqual(rows, [[1], [], [2, 3]])
        self.assertNotEqual(rows, None)
        nested = rp.Ragged(rows, np.array([0, 2, 3]))
        self.assertEqual(nested, rp.Ragged(self.ragged([[1], [], [2, 3]]), np.array([0, 2, 3])))
        self.assertNotEqual(nested, rp.Ragged(np.arange(3), np.array([0, 2, 3])))
        self.assertNotEqual(rp.Ragged(np.arange(3), np.array([0, 2, 3])), nested)
        with self.assertRaises(TypeError):
            hash(rows)

    def test_repr_counts_rows_and_values(self):
        rows = self.ragged([[1], [], [2, 3]])
        self.assertEqual(repr(rows), "Ragged(3 rows, 3 values of int64)")
        self.assertEqual(
            repr(rp.Ragged(rows, np.array([0, 2, 3]))),
            "Ragged(2 rows of 3 rows, 3 values of int64)",
        )

    def test_numpy_arrays_are_asked_for(self):
        for rows in ([[1], [2]], [[1], []]):
            for convert in (np.asarray, np.array, lambda r: np.asarray(r, np.float32)):
                with self.assertRaisesRegex(TypeError, "to_padded"):
                    convert(self.ragged(rows))

    def test_a_pickled_slice_holds_its_own_rows_only(self):
        whole = self.ragged([range(1000)] * 100)
        part = whole[50:51]
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            pickled = pickle.dumps(part, protocol)
            self.assertLess(len(pickled), 9000)
            self.assertEqual(pickle.loads(pickled), part)
        strings = rp.Ragged(np.array([b"x" * 1000] * 100, object), np.array([0, 99, 100]))
        self.assertLess(len(pickle.dumps(strings[1:])), 2000)

    def test_slices_and_indexes(self):
        rows = self.ragged([[1], [], [2, 3], [4]])
        self.assertEqual(rows[1:3].to_list(), [[], [2, 3]])
        self.assertEqual(rows[3:1].to_list(), [])
        self.assertEqual(rows[np.int64(2)].tolist(), [2, 3])
        self.assertEqual(rows[-1].tolist(), [4])
        with self.assertRaises(TypeError):
            rows[1.5]
        with self.assertRaises(IndexError):
            rows[4]
        with self.assertRaises(ValueError):
            rows[::2]


if __name__ == "__main__":
    unittest.main()
