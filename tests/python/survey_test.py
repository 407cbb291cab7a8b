"""schema() and stats(): what features records have, and which values."""

import pickle
import unittest

import numpy as np
import recordpipe as rp
import records
from support import FilesTest, example_values


def sequence_example(i):
    """A SequenceExample with i steps of two floats, and every other time a list of words."""
    lists = {"frames": [[step + 0.5, -1.0] for step in range(i)]}
    if i % 2:
        lists["words"] = [[b"a"] * (1 + step) for step in range(i)]
    entries = b"".join(
        records.field(
            1,
            records.field(1, name.encode())
            + records.field(2, b"".join(records.field(1, records.feature(step)) for step in steps)),
        )
        for name, steps in lists.items()
    )
    context = records.example({"label": [i]})[2:]  # the Features in the Example, below 128 bytes
    return records.field(1, context) + records.field(2, entries)


# An Event of TensorBoard: a wall time, and a step.
EVENT = b"\x09" + bytes(8) + b"\x10\x01"


class SchemaTest(FilesTest):
    def write(self, name, *examples):
        return records.write(self.folder / name, examples)

    def test_features_are_those_that_parse_takes(self):
        path = self.examples(100)
        schema = rp.schema(path)
        self.assertEqual(
            schema.features(),
            {
                "box": rp.FixedLenFeature([2], "float32"),
                "id": rp.FixedLenFeature([], "int64"),
                "name": rp.FixedLenFeature([], "bytes"),
                "tokens": rp.RaggedFeature("int64"),
            },
        )
        self.assertEqual([name for name, one in schema.fields.items() if one.text], ["name"])
        self.assertEqual(schema.features(for_table=True)["name"], rp.FixedLenFeature([], "string"))
        (batch,) = rp.tfrecords(path).parse(schema.features()).batch(100)
        self.assertEqual(batch["id"].tolist(), list(range(100)))
        self.assertEqual(
            batch["tokens"].to_list(), [example_values(i)["tokens"] for i in range(100)]
        )
        self.assertEqual(
            (schema.records, schema.kind, schema.kinds), (100, "Example", {"Example": 100})
        )
        self.assertEqual(schema.fields["tokens"], rp.FeatureSchema("int64", 100, 1.0, (0, 3), None))
        self.assertIn('"box": rp.FixedLenFeature([2], "float32")', schema.python)
        self.assertIn("recordpipe::ExampleSchema", schema.cpp)
        self.assertIn("tokens  int64  0 to 3 values  100 %", repr(schema))
        self.assertEqual(pickle.loads(pickle.dumps(schema)), schema)

    def test_features_that_vary(self):
        path = self.write(
            "a",
            records.example({"often": [1], "mixed": [1], "empty": []}),
            records.example({"mixed": [b"b"], "empty": []}),
            records.example({"often": [2], "none": []}),
        )
        schema = rp.schema(path)
        often = schema.fields["often"]
        self.assertEqual((often.records, often.values, often.fixed), (2, (1, 1), None))
        self.assertAlmostEqual(often.share, 2 / 3)
        self.assertEqual(schema.fields["mixed"].kind, "mixed")
        self.assertIsNone(schema.fields["mixed"].feature)
        self.assertEqual(
            schema.features(),
            {
                **dict.fromkeys(("empty", "none"), rp.RaggedFeature("int64")),
                "often": rp.FixedLenFeature([], "int64", optional=True),
            },
        )

    def test_sequence_examples(self):
        path = self.write("s", *map(sequence_example, range(4)))
        schema = rp.schema(path)
        self.assertEqual(schema.kind, "SequenceExample")
        self.assertEqual(schema.features(), {"label": rp.FixedLenFeature([], "int64")})
        self.assertEqual(
            schema.feature_lists(),
            {
                "frames": rp.FixedLenSequenceFeature([2], "float32"),
                "words": rp.RaggedFeature("bytes"),
            },
        )
        words = schema.list_fields["words"]
        self.assertEqual((words.records, words.steps, words.share), (2, (1, 3), 0.5))
        dataset = rp.tfrecords(path).parse_sequence_example(
            schema.features(), schema.feature_lists()
        )
        self.assertEqual([len(lists["frames"]) for _, lists in dataset], [0, 1, 2, 3])

    def test_records_without_features_have_no_features_to_parse(self):
        events = rp.schema(self.write("e", EVENT))
        self.assertEqual((events.kind, events.fields), ("Event", {}))
        mixed = rp.schema(self.write("m", EVENT, records.example({"a": [1]})))
        self.assertEqual((mixed.kind, mixed.kinds), ("mixed", {"Example": 1, "Event": 1}))
        for schema in (events, mixed):
            with self.assertRaises(rp.UnsupportedError) as raised:
                schema.features()
            self.assertEqual(raised.exception.kind, "unsupported")
        self.assertEqual(rp.schema(self.write("none")).features(), {})

    def test_names_of_any_text_are_shown_in_one_line(self):
        path = self.write("n", records.example({"": [1], "a\nb": [1], "ü" * 200: [1]}))
        schema = rp.schema(path)
        self.assertEqual(list(schema.features()), ["", "a\nb", "ü" * 200])
        for shown in (repr(schema), repr(rp.stats(path))):
            self.assertEqual(len(shown.splitlines()), 4)
            self.assertIn("'a\\nb'", shown)
            self.assertLess(max(map(len, shown.splitlines())), 140)


class StatsTest(FilesTest):
    def test_numbers_are_those_of_numpy(self):
        rng = np.random.default_rng(7)
        floats = rng.normal(size=(50, 40)).astype(np.float32)
        ints = rng.integers(-(2**40), 2**40, 50)
        path = records.write(
            self.folder / "a",
            [
                records.example({"f": row.tolist(), "i": [int(i)]})
                for row, i in zip(floats, ints, strict=True)
            ],
        )
        stats = rp.stats(path)
        self.assertEqual((stats.records, stats.with_features), (50, 50))
        self.assertEqual(stats["f"].values, (40, 40))
        for found, values in ((stats["f"].float, floats.ravel()), (stats["i"].int64, ints)):
            exact = values.astype(np.float64)
            self.assertEqual(found.count, len(values))
            self.assertEqual((np.float32(found.min), found.nan), (np.float32(values.min()), 0))
            np.testing.assert_allclose([found.mean, found.sd], [exact.mean(), exact.std()], 1e-9)
            places = sorted(found.quantiles)
            self.assertEqual(places, [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
            np.testing.assert_allclose(
                [found.quantiles[place] for place in places], np.quantile(exact, places), 1e-9
            )
            self.assertEqual(found.quantiles_within, 0)
            self.assertEqual(found.histogram.counts, tuple(np.histogram(exact, 16)[0]))

    def test_frequent_values_and_shares(self):
        path = records.write(
            self.folder / "a",
            [records.example({"label": [i % 3]} if i % 2 else {"other": []}) for i in range(12)],
        )
        stats = rp.stats(path)
        self.assertEqual(stats["label"].share, 0.5)
        values = np.float32([-400.08984375, 0.1])
        path = self.folder / "floats"
        rp.write_tfrecords(path, [{"x": value} for value in values])
        floats = rp.stats(path)["x"].float
        self.assertEqual((floats.min, floats.max), tuple(values.astype(float)))
        self.assertEqual({value for value, _ in floats.most_frequent}, {*values.astype(float)})
        self.assertEqual(stats["label"].int64.most_frequent, ((0, 2), (1, 2), (2, 2)))
        self.assertEqual(stats["label"].int64.distinct, 3)
        self.assertEqual(stats["other"].values, (0, 0))
        self.assertIsNone(stats["other"].int64)
        self.assertIn("label  int64  6 values", repr(stats))

    def test_feature_lists(self):
        path = records.write(self.folder / "s", map(sequence_example, range(4)))
        frames = rp.stats(path)["frames"]
        self.assertEqual((frames.records, frames.share, frames.values), (6, None, (2, 2)))
        self.assertEqual((frames.float.min, frames.float.max), (-1.0, 2.5))


if __name__ == "__main__":
    unittest.main()
