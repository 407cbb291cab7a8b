"""parse_sequence_example() and parse_example_list(): context and feature lists, in batches and one
by one; and records of other types."""

import unittest

import numpy as np
import recordpipe as rp
import records
from support import FilesTest


def sequence(i):
    """The values of SequenceExample i: i steps of frames, the words of each step."""
    return {
        "frames": [[step + 0.5, step - 0.5] for step in range(i)],
        "words": [list(range(step)) for step in range(i)],
    }


def encoded(i):
    return records.sequence_example({"label": [i]}, sequence(i))


CONTEXT = {"label": rp.FixedLenFeature([], "int64")}
LISTS = {
    "frames": rp.FixedLenSequenceFeature([2], "float32"),
    "words": rp.RaggedFeature("int64"),
}


class Sequences(FilesTest):
    def setUp(self):
        super().setUp()
        self.path = records.write(self.folder / "s.tfrecord", [encoded(i) for i in range(4)])

    def test_batches(self):
        dataset = rp.tfrecords(self.path).parse_sequence_example(CONTEXT, LISTS).batch(4)
        ((context, lists),) = dataset
        self.assertEqual(context["label"].tolist(), [0, 1, 2, 3])
        self.assertEqual(lists["frames"].to_list(), [sequence(i)["frames"] for i in range(4)])
        self.assertEqual(lists["frames"].to_padded().shape, (4, 3, 2))
        self.assertEqual(lists["words"].to_list(), [sequence(i)["words"] for i in range(4)])
        self.assertEqual(lists["words"].to_padded(-1)[3].tolist(), [[-1, -1], [0, -1], [0, 1]])
        self.assertEqual(lists["words"][1:3].to_list(), [[[]], [[], [0]]])

    def test_raw_arrays_of_steps(self):
        # As in YouTube-8M (rgb, audio), and spectrograms of any length.
        steps = [np.arange(n * 6, dtype=">i2").reshape(n, 2, 3) for n in (3, 0, 1)]
        ragged = [[np.arange(n * 2, dtype="u1").reshape(n, 2) for n in range(k)] for k in (3, 0, 2)]
        path = records.write(
            self.folder / "raw.tfrecord",
            [
                records.sequence_example(
                    {}, {"rgb": [[a.tobytes()] for a in all_], "any": [[b.tobytes()] for b in some]}
                )
                for all_, some in zip(steps, ragged, strict=True)
            ],
        )
        lists = {
            "rgb": rp.RawFeature([2, 3], "int16", big_endian=True),
            "any": rp.RawFeature([None, 2], "uint8"),
        }
        dataset = rp.tfrecords(path).parse_sequence_example({}, lists)
        ((_, batch),) = dataset.batch(3)
        self.assertEqual(batch["rgb"].to_list(), [a.tolist() for a in steps])
        self.assertEqual(batch["rgb"].to_padded().shape, (3, 3, 2, 3))
        self.assertEqual(batch["any"].to_list(), [[b.tolist() for b in row] for row in ragged])
        self.assertEqual(batch["any"].to_padded().shape, (3, 3, 2, 2))
        for i, (_, row) in enumerate(dataset):
            np.testing.assert_array_equal(row["rgb"], steps[i])
            self.assertEqual(row["any"].to_list(), [b.tolist() for b in ragged[i]])
        other = {"rgb": rp.RawFeature([5], "uint8")}
        with self.assertRaisesRegex(rp.UnsupportedError, "'rgb' holds 12 bytes, not 5.*at step 0"):
            list(rp.tfrecords(path).parse_sequence_example({}, other))
        other = {"none": rp.RawFeature([5], "uint8")}
        with self.assertRaisesRegex(rp.NotFoundError, "'none' is missing"):
            list(rp.tfrecords(path).parse_sequence_example({}, other))

    def test_what_is_written_to_a_batch_does_not_reach_the_next(self):
        dataset = rp.tfrecords(self.path).parse_sequence_example(CONTEXT, LISTS).repeat(10).batch(2)
        expected = [(lists["frames"].to_list(), lists["words"].to_list()) for _, lists in dataset]
        for (_, lists), values in zip(dataset, expected, strict=True):
            frames, words = lists["frames"], lists["words"]
            self.assertEqual((frames.to_list(), words.to_list()), values)
            steps = words.values
            for array in (frames.values, steps.values, steps.row_splits, words.row_splits):
                array[...] = 99
            frames.row_splits[...] = 99

    def test_rows(self):
        dataset = rp.tfrecords(self.path).parse_sequence_example(CONTEXT, LISTS)
        for i, (context, lists) in enumerate(dataset):
            self.assertEqual(context["label"], i)
            self.assertEqual(lists["frames"].shape, (i, 2))
            self.assertEqual(lists["frames"].tolist(), sequence(i)["frames"])
            self.assertEqual(lists["words"].to_list(), sequence(i)["words"])
            np.testing.assert_array_equal(dataset[i][1]["frames"], lists["frames"])
            self.assertEqual(dataset.__getitems__([i])[0][1]["words"], lists["words"])

    def test_rows_of_raggeds_become_a_ragged(self):
        dataset = rp.tfrecords(self.path).parse_sequence_example({}, {"words": LISTS["words"]})
        for found, expected in rp.zip(dataset.map(lambda row: row).batch(2), dataset.batch(2)):
            self.assertEqual(found[1]["words"], expected[1]["words"])

    def test_missing_lists(self):
        def parsed(**options):
            feature = rp.FixedLenSequenceFeature([], "int64", **options)
            return rp.tfrecords(self.path).parse_sequence_example({}, {"missing": feature}).batch(4)

        ((_, lists),) = parsed(allow_missing=True)
        self.assertEqual(lists["missing"].to_list(), [[], [], [], []])
        with self.assertRaisesRegex(rp.NotFoundError, "missing"):
            list(parsed())


def elwc(examples, context=None):
    """An ExampleListWithContext of TensorFlow Ranking."""
    fields = [records.field(1, records.example(one)) for one in examples]
    if context is not None:
        fields.append(records.field(2, records.example(context)))
    return b"".join(fields)


class ExampleLists(FilesTest):
    """parse_example_list()"""

    def setUp(self):
        super().setUp()
        self.path = records.write(
            self.folder / "elwc.tfrecord",
            [
                elwc(
                    [{"clicks": [1], "tokens": [b"a", b"b"]}, {"clicks": [0]}],
                    {"query": [b"shoes"]},
                ),
                elwc([{"clicks": [2], "tokens": [b"c"]}], {"query": [b"hats"]}),
            ],
        )

    def test_batch(self):
        dataset = rp.tfrecords(self.path).parse_example_list(
            {"query": rp.FixedLenFeature([], "string")},
            {
                "clicks": rp.FixedLenSequenceFeature([], "int64"),
                "tokens": rp.RaggedFeature("bytes"),
            },
        )
        ((context, lists),) = dataset.batch(2)
        self.assertEqual(context["query"].tolist(), [b"shoes", b"hats"])
        self.assertEqual(lists["clicks"].to_list(), [[1, 0], [2]])
        self.assertEqual(lists["tokens"].to_list(), [[[b"a", b"b"], []], [[b"c"]]])
        rows = [lists["clicks"].tolist() for _, lists in dataset]
        self.assertEqual(rows, [[1, 0], [2]])

    def test_features_that_schema_finds(self):
        schema = rp.schema(self.path)
        self.assertEqual(schema.kind, "ExampleListWithContext")
        self.assertRegex(str(schema), "clicks.*  in each of 1 to 2 examples\n")
        self.assertRegex(str(schema), "tokens.*  in 66.7 % of 1 to 2 examples")
        self.assertEqual(schema.list_fields["tokens"].step_share, 2 / 3)
        self.assertEqual((schema.cpp, schema.python), ("", ""))
        dataset = rp.tfrecords(self.path).parse_example_list(
            schema.features(), schema.feature_lists()
        )
        (_, lists), _ = dataset
        self.assertEqual(lists["clicks"].tolist(), [1, 0])
        for parse in (rp.Dataset.parse, rp.Dataset.parse_sequence_example):
            with self.assertRaisesRegex(rp.UnsupportedError, r"call parse_example_list\(\)"):
                parse(rp.tfrecords(self.path))
        for features in ({"clicks": rp.FixedLenFeature([], "int64")}, schema.features()):
            with self.assertRaisesRegex(
                rp.Error, "an ExampleListWithContext where .*parse_example_list .* reads it"
            ):
                list(rp.tfrecords(self.path).parse(features))

    def test_without_features(self):
        """They are found as those of parse(), and later records are watched for others."""
        schema = rp.schema(self.path)
        passed = rp.tfrecords(self.path).parse_example_list(
            schema.features(), schema.feature_lists()
        )
        ((context, lists),) = rp.tfrecords(self.path).parse_example_list().batch(2)
        ((context_passed, lists_passed),) = passed.batch(2)
        self.assertEqual(context["query"].tolist(), context_passed["query"].tolist())
        self.assertEqual(lists, lists_passed)
        late = elwc([{"clicks": [1], "rank": [2.0]}], {"query": [b"x"], "user": [7]})
        first = elwc([{"clicks": [1]}], {"query": [b"x"]})
        path = records.write(self.folder / "late.tfrecord", [*[first] * 1000, late])
        with self.assertRaisesRegex(rp.UnsupportedError, r'parse_example_list\(unseen="warn"\)'):
            list(rp.tfrecords(path).parse_example_list().batch(100))
        with self.assertWarnsRegex(
            UserWarning, "feature 'user' of 1 record.*feature list 'rank' of 1"
        ):
            self.assertEqual(
                len(list(rp.tfrecords(path).parse_example_list(unseen="warn").batch(100))), 11
            )
        with self.assertRaisesRegex(ValueError, "features were passed"):
            rp.tfrecords(path).parse_example_list({}, unseen="warn")
        with self.assertRaisesRegex(TypeError, r"parse_example_list\(\) without features.*map\("):
            rp.tfrecords(path).map(bytes).parse_example_list()

    def test_sequences_without_features(self):
        path = records.write(
            self.folder / "s.tfrecord", [records.sequence_example({"id": [1]}, {"words": [[b"a"]]})]
        )
        ((context, lists),) = rp.tfrecords(path).parse_sequence_example()
        self.assertEqual(context["id"], 1)
        self.assertEqual(lists["words"].tolist(), [b"a"])
        with self.assertRaisesRegex(rp.UnsupportedError, r"call parse_sequence_example\(\)"):
            rp.tfrecords(path).parse_example_list()
        with self.assertRaisesRegex(rp.UnsupportedError, r"call parse\(\)"):
            rp.tfrecords(
                records.write(self.folder / "e.tfrecord", [records.example({"id": [1]})])
            ).parse_example_list()

    def test_an_example_without_a_fixed_feature(self):
        dataset = rp.tfrecords(self.path).parse_example_list(
            examples={"tokens": rp.FixedLenSequenceFeature([], "bytes")}
        )
        with self.assertRaisesRegex(rp.UnsupportedError, "tokens"):
            list(dataset)

    def test_plan(self):
        """A state of one parser is none of the other."""
        examples = {"clicks": rp.RaggedFeature("int64")}
        of_lists = rp.tfrecords(self.path).parse_example_list(examples=examples).batch(1)
        of_sequences = rp.tfrecords(self.path).parse_sequence_example(feature_lists=examples)
        with iter(of_lists) as iterator:
            next(iterator)
            state = iterator.state_dict()
        with iter(of_lists) as iterator:
            iterator.load_state_dict(state)
            self.assertEqual(next(iterator)[1]["clicks"].to_list(), [[[2]]])
        with iter(of_sequences.batch(1)) as iterator, self.assertRaises(rp.Error):
            iterator.load_state_dict(state)


class Undecided(FilesTest):
    def test_parse_without_features(self):
        path = records.write(
            self.folder / "x.tfrecord", [records.example({"label": [1]}) + b"\x2a\x01x"]
        )
        undecided = "1 undecided, the first an Example except"
        with self.assertRaisesRegex(rp.UnsupportedError, undecided) as raised:
            rp.tfrecords(path).parse()
        way_out = 'parse(recordpipe.schema(paths, kind="example").features())'
        self.assertIn(way_out, raised.exception.hint)
        for found in (rp.schema(path), rp.stats(path)):
            self.assertIn("undecided: 1, the first an Example except", str(found))
        self.assertEqual(rp.schema(path, kind="example").kind, "Example")
        features = rp.schema(path, kind="example").features()
        (element,) = rp.tfrecords(path).parse(features)
        self.assertEqual(element["label"], 1)
        with self.assertRaisesRegex(ValueError, "kind is one of 'example'"):
            rp.schema(path, kind="Example")

    def test_the_way_out_keeps_the_lists(self):
        step = records.sequence_example({"id": [1]}, {"s": [[1]]})
        elwc = records.field(1, records.example({"s": [1]}))
        for message, kind, method in (
            (step, "sequence_example", "parse_sequence_example"),
            (elwc, "elwc", "parse_example_list"),
        ):
            path = records.write(self.folder / "x.tfrecord", [message + b"\x2a\x01x"])
            with self.assertRaises(rp.UnsupportedError) as raised:
                getattr(rp.tfrecords(path), method)()
            call, made = raised.exception.hint.split(": ", 1)[1].split(" of found = ")
            names = {"recordpipe": rp, "paths": path}
            names["found"] = eval(made, names)
            self.assertIn(f'kind="{kind}"', made)
            (element,) = eval(f"recordpipe.tfrecords(paths).{call}", names)
            self.assertEqual(element[1]["s"].tolist(), [1])


if __name__ == "__main__":
    unittest.main()
