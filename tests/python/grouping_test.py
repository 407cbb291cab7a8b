"""bucket_by_sequence_length(), pack_sequences(), choose_from_datasets()."""

import json
import pickle
import unittest

import numpy as np
import recordpipe as rp
import records
from support import FilesTest

BOUNDARIES, SIZES = [4, 8, 16], [5, 4, 3, 2]


def lengths(count):
    return [(8 * i) % 21 for i in range(count)]


def naive_buckets(sequences, boundaries, sizes, drop_remainder=False):
    """The batches, as lists of sequences."""
    buckets = [[] for _ in sizes]
    for sequence in sequences:
        at = sum(len(sequence) >= boundary for boundary in boundaries)
        buckets[at].append(sequence)
        if len(buckets[at]) == sizes[at]:
            yield buckets[at]
            buckets[at] = []
    if not drop_remainder:
        yield from (bucket for bucket in buckets if bucket)


def naive_rows(sequences, length, open_rows):
    """The packed rows, as lists of sequences."""
    rows = []
    for sequence in sequences:
        for row in rows:
            if sum(map(len, row)) + len(sequence) <= length:
                break
        else:
            if len(rows) == open_rows:
                yield rows.pop(0)
            row = []
            rows.append(row)
        row.append(sequence)
        if sum(map(len, row)) == length:
            rows.remove(row)
            yield row
    yield from rows


class GroupingTest(FilesTest):
    def tokens(self, count=60):
        """A file of sequences of tokens, with their numbers."""
        sequences = [[100 * i + k for k in range(size)] for i, size in enumerate(lengths(count))]
        path = records.write(
            self.folder / "tokens.tfrecord",
            [
                records.example({"id": [i], "tokens": sequence})
                for i, sequence in enumerate(sequences)
            ],
        )
        features = {
            "id": rp.FixedLenFeature([], "int64"),
            "tokens": rp.RaggedFeature("int64"),
        }
        return rp.tfrecords(path).parse(features), sequences

    def assert_resumes_anywhere(self, dataset):
        whole = [repr(element) for element in dataset.epoch(1)]
        for place in range(len(whole) + 1):
            with self.subTest(place=place):
                iterator = iter(dataset.epoch(1))
                for _ in range(place):
                    next(iterator)
                text = json.dumps(iterator.state_dict())
                other = iter(dataset.with_options(threads=1 + place % 3, chunk_size=1 + place % 7))
                other.load_state_dict(json.loads(text))
                self.assertEqual([repr(element) for element in other], whole[place:])


class Buckets(GroupingTest):
    def test_parsed_features_are_padded_to_the_longest_row(self):
        dataset, sequences = self.tokens()
        expected = list(naive_buckets(sequences, BOUNDARIES, SIZES))
        batches = list(dataset.bucket_by_sequence_length("tokens", BOUNDARIES, SIZES))
        self.assertEqual(len(batches), len(expected))
        for batch, rows in zip(batches, expected, strict=True):
            longest = max(map(len, rows))
            padded = [row + [0] * (longest - len(row)) for row in rows]
            np.testing.assert_array_equal(
                batch["tokens"], np.array(padded, np.int64).reshape(len(rows), longest)
            )
            self.assertEqual(batch["tokens"].dtype, np.int64)
            self.assertEqual(batch["id"].shape, (len(rows),))

    def test_all_ways_yield_the_same(self):
        dataset, _ = self.tokens()
        arguments = (BOUNDARIES, SIZES)
        for keywords in ({}, {"pad_to_bucket_boundary": True}, {"drop_remainder": True}):
            if "pad_to_bucket_boundary" in keywords:
                arguments = ([4, 8, 21], SIZES)
            native = dataset.bucket_by_sequence_length(
                "tokens", *arguments, padding_values={"tokens": -1}, **keywords
            )
            for other, length in (
                (dataset, lambda row: len(row["tokens"])),
                (dataset.map(dict), "tokens"),
            ):
                batches = other.bucket_by_sequence_length(
                    length, *arguments, padding_values={"tokens": -1}, **keywords
                )
                for a, b in zip(native, batches, strict=True):
                    np.testing.assert_array_equal(a["id"], b["id"])
                    np.testing.assert_array_equal(a["tokens"], b["tokens"])

    def test_no_padding(self):
        dataset, sequences = self.tokens()
        batches = dataset.bucket_by_sequence_length("tokens", BOUNDARIES, SIZES, no_padding=True)
        expected = list(naive_buckets(sequences, BOUNDARIES, SIZES))
        self.assertEqual([batch["tokens"].to_list() for batch in batches], expected)
        # Elements of one length, such as single lengths of each bucket, are stacked.
        equal = rp.from_list([[1], [2, 3], [4], [5, 6]]).map(np.array)
        rows = equal.bucket_by_sequence_length(len, [2], [2, 2], no_padding=True)
        self.assertEqual([row.tolist() for row in rows], [[[1], [4]], [[2, 3], [5, 6]]])

    def test_batches_are_padded_to_their_boundary(self):
        dataset, _ = self.tokens()
        batches = dataset.bucket_by_sequence_length(
            "tokens", [4, 8, 21], SIZES, pad_to_bucket_boundary=True
        )
        self.assertEqual({batch["tokens"].shape[1] for batch in batches}, {3, 7, 20})
        short = dataset.bucket_by_sequence_length(
            "tokens", [4, 8], [2, 2, 2], pad_to_bucket_boundary=True
        )
        with self.assertRaisesRegex(ValueError, "where at most 7 fit"):
            list(short)
        shapes = {batch["tokens"].shape[1] for batch in short.ignore_errors()}
        self.assertEqual(shapes, {3, 7})

    def test_padded_shapes(self):
        dataset, _ = self.tokens()
        batches = dataset.bucket_by_sequence_length(
            "tokens", [8], [4, 4], padded_shapes={"tokens": [32], "id": []}
        )
        self.assertEqual({batch["tokens"].shape[1] for batch in batches}, {32})
        with self.assertRaisesRegex(ValueError, "key 'tokens': a row of 1. values, padded to 10"):
            list(dataset.bucket_by_sequence_length("tokens", [8], [4, 4], {"tokens": 10}))
        arrays = rp.from_list([np.ones((2, 3)), np.ones((4, 1))])
        (batch,) = arrays.bucket_by_sequence_length(len, [8], [2, 2], {"": [None, 5]})
        self.assertEqual(batch.shape, (2, 4, 5))

    def test_a_state_goes_on_anywhere(self):
        dataset, _ = self.tokens()
        for length in ("tokens", lambda row: len(row["tokens"])):
            self.assert_resumes_anywhere(
                dataset.shuffle(20, seed=1).bucket_by_sequence_length(length, BOUNDARIES, SIZES)
            )

    def test_sequence_examples_are_measured_by_their_steps(self):
        path = records.write(
            self.folder / "episodes.tfrecord",
            [
                records.sequence_example({"id": [i]}, {"action": [[float(i)]] * size})
                for i, size in enumerate([3, 1, 5, 2])
            ],
        )
        dataset = rp.tfrecords(path).parse_sequence_example(
            {"id": rp.FixedLenFeature([], "int64")},
            {"action": rp.FixedLenSequenceFeature([1], "float32")},
        )
        batches = dataset.bucket_by_sequence_length("action", [3], [2, 2])
        shapes = [(context["id"].tolist(), lists["action"].shape) for context, lists in batches]
        self.assertEqual(shapes, [([0, 2], (2, 5, 1)), ([1, 3], (2, 2, 1))])

    def test_errors(self):
        dataset, _ = self.tokens()
        with self.assertRaisesRegex(ValueError, "'id' is not a feature of sequences"):
            dataset.bucket_by_sequence_length("id", [8], [4, 4])
        with self.assertRaisesRegex(ValueError, "one batch size more"):
            dataset.bucket_by_sequence_length("tokens", [8], [4])
        with self.assertRaisesRegex(ValueError, "no_padding excludes"):
            dataset.bucket_by_sequence_length(
                "tokens", [8], [4, 4], pad_to_bucket_boundary=True, no_padding=True
            )
        failing = rp.from_list([[1], 7, [2]]).bucket_by_sequence_length(len, [8], [2, 2])
        with self.assertRaisesRegex(TypeError, "has no len"):
            list(failing)
        negative = rp.from_list([1]).bucket_by_sequence_length(lambda _: -1, [8], [2, 2])
        with self.assertRaisesRegex(ValueError, "negative length"):
            list(negative)

    def test_a_state_of_other_arguments_is_refused(self):
        dataset, _ = self.tokens()
        for source in (dataset, dataset.map(dict)):
            buckets = source.bucket_by_sequence_length("tokens", BOUNDARIES, SIZES)
            state = iter(buckets).state_dict()
            iter(source.bucket_by_sequence_length("tokens", BOUNDARIES, SIZES)).load_state_dict(
                state
            )
            for arguments, keywords in (
                ((BOUNDARIES, [1, *SIZES[1:]]), {}),
                ((BOUNDARIES, SIZES), {"padding_values": -1}),
                ((BOUNDARIES, SIZES), {"drop_remainder": True}),
                ((BOUNDARIES, SIZES), {"pad_to_bucket_boundary": True}),
            ):
                other = source.bucket_by_sequence_length("tokens", *arguments, **keywords)
                with self.subTest(keywords), self.assertRaises(ValueError):
                    iter(other).load_state_dict(state)

    def test_pickles(self):
        dataset, _ = self.tokens()
        buckets = dataset.bucket_by_sequence_length("tokens", BOUNDARIES, SIZES)
        again = pickle.loads(pickle.dumps(buckets))
        self.assertEqual([repr(batch) for batch in again], [repr(batch) for batch in buckets])


class Packing(GroupingTest):
    def test_rows_are_those_of_the_naive_packer(self):
        dataset, sequences = self.tokens(200)
        for open_rows in (1, 3, 64):
            expected = list(naive_rows(sequences, 32, open_rows))
            parsed = dataset_of(dataset, "tokens").pack_sequences(32, open_rows=open_rows)
            objects = rp.from_list(sequences).pack_sequences(32, open_rows=open_rows)
            named = rp.from_list([{"tokens": np.array(s, np.int64)} for s in sequences])
            named = named.pack_sequences({"tokens": 32}, open_rows=open_rows, padding_values=0)
            for row, other, plain, members in zip(parsed, named, objects, expected, strict=True):
                values = [token for sequence in members for token in sequence]
                ids = [i + 1 for i, sequence in enumerate(members) for _ in sequence]
                positions = [k for sequence in members for k in range(len(sequence))]
                fill = [0] * (32 - len(values))
                self.assertEqual(row["tokens"].tolist(), values + fill)
                self.assertEqual(row["tokens_segment_ids"].tolist(), ids + fill)
                self.assertEqual(row["tokens_positions"].tolist(), positions + fill)
                self.assertEqual(row["tokens_positions"].dtype, np.int32)
                self.assertEqual(repr(other), repr(row))
                self.assertEqual(plain["segment_ids"].tolist(), ids + fill)

    def test_features_of_an_element_stay_together(self):
        path = records.write(
            self.folder / "pairs.tfrecord",
            [
                records.example({"source": [1, 2, 3], "target": [0.5]}),
                records.example({"source": [4], "target": [0.25, 0.75]}),
                records.example({"source": [5]}),
            ],
        )
        pairs = rp.tfrecords(path).parse(
            {"source": rp.RaggedFeature("int64"), "target": rp.RaggedFeature("float32")}
        )
        rows = list(pairs.pack_sequences({"source": 5, "target": 2}, padding_values={"target": -1}))
        self.assertEqual(
            [row["source"].tolist() for row in rows], [[4, 0, 0, 0, 0], [1, 2, 3, 5, 0]]
        )
        self.assertEqual([row["target"].tolist() for row in rows], [[0.25, 0.75], [0.5, -1]])
        (batch,) = pairs.pack_sequences({"source": 5, "target": 2}).batch(2)
        self.assertEqual(batch["source_segment_ids"].tolist(), [[1, 0, 0, 0, 0], [1, 1, 1, 2, 0]])

    def test_what_is_too_long_fails_or_is_cut(self):
        dataset, sequences = self.tokens()
        tokens = dataset_of(dataset, "tokens")
        with self.assertRaisesRegex(ValueError, "where at most 10 fit"):
            list(tokens.pack_sequences(10))
        kept = sum(len(s) for s in sequences if len(s) <= 10)
        cut = sum(min(len(s), 10) for s in sequences)
        skipping = tokens.pack_sequences(10).ignore_errors()
        self.assertEqual(sum((row["tokens_segment_ids"] > 0).sum() for row in skipping), kept)
        for source in (tokens, tokens.map(dict)):
            rows = source.pack_sequences({"tokens": 10}, too_long="truncate")
            self.assertEqual(sum((row["tokens_segment_ids"] > 0).sum() for row in rows), cut)

    def test_a_state_goes_on_anywhere(self):
        dataset, _ = self.tokens(100)
        tokens = dataset_of(dataset, "tokens").shuffle(20, seed=1)
        self.assert_resumes_anywhere(tokens.pack_sequences(40, open_rows=3))
        self.assert_resumes_anywhere(tokens.map(dict).pack_sequences({"tokens": 40}).batch(2))

    def test_errors(self):
        dataset, _ = self.tokens()
        with self.assertRaisesRegex(ValueError, "'id' is not a feature of sequences"):
            dataset.pack_sequences(30)
        with self.assertRaisesRegex(ValueError, "parse.. only the features"):
            dataset.pack_sequences({"tokens": 30})
        with self.assertRaisesRegex(ValueError, "too_long"):
            dataset.pack_sequences(30, too_long="split")
        with self.assertRaisesRegex(ValueError, "the keys .'a', 'b'., and lengths of .'a'."):
            list(rp.from_list([{"a": [1], "b": [2]}]).pack_sequences({"a": 4}))
        with self.assertRaisesRegex(ValueError, "'a_positions' is a feature"):
            rp.from_list([]).pack_sequences({"a": 4, "a_positions": 4})


def dataset_of(dataset, *names):
    """The same records with only these features parsed."""
    features = dataset.features
    return dataset._first(0).parse({name: features[name] for name in names})


class Choosing(GroupingTest):
    def test_follows_the_choices(self):
        inputs = [rp.from_list([0, 1, 2]), rp.from_list([10]), rp.from_list(range(20, 30))]

        def chosen(choices, **keywords):
            return list(rp.choose_from_datasets(inputs, rp.from_list(choices), **keywords))

        self.assertEqual(chosen([0, 2, 2, 1, 0]), [0, 20, 21, 10, 1])
        self.assertEqual(chosen([0, 1, 1, 2]), [0, 10])
        self.assertEqual(chosen([0, 1, 1, 2], stop_on_empty_dataset=False), [0, 10, 20])
        self.assertEqual(chosen(np.array([0, 1])), [0, 10])
        with self.assertRaisesRegex(ValueError, "index 3 of 3 datasets"):
            chosen([0, 3])
        with self.assertRaises(TypeError):
            chosen([0, 0.5])

    def test_parsed_records_stay_parsed(self):
        dataset, _ = self.tokens()
        mixed = rp.choose_from_datasets(
            [dataset.take(5), dataset.skip(50)], rp.from_list([0, 1] * 5)
        )
        (batch,) = mixed.batch(20)
        self.assertEqual(batch["id"].tolist(), [0, 50, 1, 51, 2, 52, 3, 53, 4, 54])
        self.assert_resumes_anywhere(mixed)
        self.assertEqual(len(list(pickle.loads(pickle.dumps(mixed)))), 10)


class Dtypes(unittest.TestCase):
    def test_do_not_depend_on_the_company(self):
        packed = rp.from_list([[2**62 + 1, 2, 3, 4], []]).pack_sequences(4, open_rows=1)
        batch = next(iter(packed.batch(2)))
        self.assertEqual(batch["values"].dtype, np.int64)
        self.assertEqual(batch["values"][0, 0], 2**62 + 1)
        with self.assertRaisesRegex(ValueError, "float64 and int64"):
            list(rp.from_list([[1], [1.5]]).pack_sequences(4))
        with self.assertRaisesRegex(ValueError, "padding"):
            list(rp.from_list([[1]]).pack_sequences(4, padding_values=1.5))


if __name__ == "__main__":
    unittest.main()
