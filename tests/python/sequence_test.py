"""parse_sequence_example(): context and feature lists, in batches and one by one."""

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

    def test_rows_of_raggeds_are_not_stacked(self):
        dataset = rp.tfrecords(self.path).parse_sequence_example({}, {"words": LISTS["words"]})
        with self.assertRaisesRegex(ValueError, "words.*Raggeds"):
            list(dataset.map(lambda row: row).batch(2))

    def test_missing_lists(self):
        def parsed(**options):
            feature = rp.FixedLenSequenceFeature([], "int64", **options)
            return rp.tfrecords(self.path).parse_sequence_example({}, {"missing": feature}).batch(4)

        ((_, lists),) = parsed(allow_missing=True)
        self.assertEqual(lists["missing"].to_list(), [[], [], [], []])
        with self.assertRaisesRegex(rp.NotFoundError, "missing"):
            list(parsed())


if __name__ == "__main__":
    unittest.main()
