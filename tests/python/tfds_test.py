"""tfds(): data sets in the format of TensorFlow Datasets, written by hand; NumPy only.

Equality with TFDS itself is tested by tests/interop/tfds_test.py.
"""

import gc
import json
import pickle
import unittest

import numpy as np
import recordpipe as rp
import records
import tfds_sets as sets
from tfds_case import TfdsTest


class Elements(TfdsTest):
    def test_elements(self):
        folder = sets.write_all(self.folder)
        self.assert_elements(rp.tfds(folder), range(20))
        self.assert_elements(rp.tfds(folder.parent, "val"), range(20, 25))
        self.assert_elements(rp.tfds(folder, "all").with_options(threads=3), range(25))

    def test_by_number(self):
        ds = rp.tfds(sets.write_all(self.folder), "train[3:15]+val[-1:]")
        self.assertEqual(len(ds), 13)
        self.assert_elements([ds[i] for i in range(13)], [*range(3, 15), 24])
        self.assert_elements([ds[-1]], [24])
        self.assert_elements(ds[2:5], [5, 6, 7])
        self.assert_elements(ds.__getitems__([11, 0]), [14, 3])
        with self.assertRaises(IndexError):
            ds[13]

    def test_by_number_of_two_plans_of_one_source(self):
        ds = rp.tfds(sets.write_all(self.folder))
        self.assert_elements([ds.with_options(threads=1)[3], ds[3]], [3, 3])

    def test_batches(self):
        ds = rp.tfds(sets.write_all(self.folder))
        at = 0
        for batch in ds.batch(7):
            expected = [sets.values(at + i) for i in range(len(batch["id"]))]
            self.check_batch(batch, expected)
            at += len(expected)
        self.assertEqual(at, 20)

    def check_batch(self, batch, expected):
        dense = ("thumbnail", "label", "id", "weight", "flag", "packed")
        for name in dense:
            stacked = np.stack([row[name] for row in expected])
            self.assertEqual((batch[name].dtype, batch[name].shape), (stacked.dtype, stacked.shape))
            np.testing.assert_array_equal(batch[name], stacked, name)
        self.assertEqual(batch["name"].tolist(), [row["name"] for row in expected])
        self.assertEqual(batch["maybe"].dtype, np.uint8)
        self.assertEqual(batch["maybe"].tolist(), [int(row["maybe"] or 0) for row in expected])
        self.assertEqual(
            batch["maybe_mask"].tolist(), [row["maybe"] is not None for row in expected]
        )
        for name in ("image", "any_shape"):  # any size: lists
            self.assertIsInstance(batch[name], list)
            for ours, row in zip(batch[name], expected, strict=True):
                np.testing.assert_array_equal(ours, row[name])
        ragged = {
            "tokens": batch["tokens"],
            "box": batch["objects"]["box"],
            "action": batch["steps"]["action"],
            "view": batch["steps"]["view"],
            "note": batch["steps"]["note"],
        }
        for i, row in enumerate(expected):
            values = {"tokens": row["tokens"]} | row["objects"] | row["steps"]
            for name, column in ragged.items():
                self.assertIsInstance(column, rp.Ragged)
                np.testing.assert_array_equal(column[i], values[name], name)
            words = batch["objects"]["words"][i]
            self.assertEqual([word.tolist() for word in words], values["words"])

    def test_text_of_no_record(self):
        folder = sets.write(self.folder, sets.tree(x=sets.text()), {"train": [[]]})
        self.assertEqual(list(rp.tfds(folder)), [])
        self.assertEqual(list(rp.tfds(folder).batch(3)), [])
        self.assertEqual(len(rp.tfds(folder)), 0)

    def test_images_left_encoded(self):
        folder = sets.write_all(self.folder)
        encoded = rp.tfds(folder, decode_images=False)[5]
        self.assertTrue(encoded["image"].startswith(b"\x89PNG"))
        self.assertEqual(encoded["steps"]["view"].dtype, object)
        batch = next(iter(rp.tfds(folder, decode_images=False).batch(4)))
        self.assertEqual(batch["image"].shape, (4,))
        self.assertIsInstance(batch["steps"]["view"], rp.Ragged)
        some = rp.tfds(folder, decode_images={"steps/view": False, "image": True})[5]
        self.assertEqual(some["steps"]["view"].dtype, object)
        self.assertEqual(some["image"].ndim, 3)
        with self.assertRaisesRegex(rp.InvalidArgumentError, 'no image "label"'):
            rp.tfds(folder, decode_images={"label": False})

    def test_missing_values_filled(self):
        features = sets.tree(
            i=sets.scalar("int8", optional=True),
            f=sets.tensor("float32", 2, optional=True),
            b=sets.scalar("bool", optional=True),
        )
        folder = sets.write(
            self.folder, features, {"train": [[records.example({}), records.example({"i": [5]})]]}
        )
        first, second = rp.tfds(folder, missing="fill")
        self.assertEqual(first["i"], -128)
        self.assertEqual(second["i"], 5)
        np.testing.assert_array_equal(first["f"], [np.finfo(np.float32).min] * 2)
        self.assertIs(first["b"], np.False_)
        batch = next(iter(rp.tfds(folder, missing="fill").batch(2)))
        self.assertEqual(set(batch), {"i", "f", "b"})
        masked = next(iter(rp.tfds(folder).batch(2)))
        self.assertEqual(masked["i"].tolist(), [0, 5])
        self.assertEqual(masked["i_mask"].tolist(), [False, True])

    def test_an_empty_list_is_not_missing(self):
        features = sets.tree(i=sets.scalar("int8", optional=True))
        folder = sets.write(self.folder, features, {"train": [[records.example({"i": []})]]})
        with self.assertRaisesRegex(rp.UnsupportedError, '"i": 0 values, for the shape'):
            list(rp.tfds(folder))


class Pipelines(TfdsTest):
    def ids(self, dataset):
        return [int(element["id"]) for element in dataset]

    def test_order(self):
        folder = sets.write_all(self.folder)
        ds = rp.tfds(folder)
        self.assertEqual(self.ids(ds.skip(3).take(5)), [3, 4, 5, 6, 7])
        self.assertEqual(self.ids(ds.shard(3, 1)), [1, 4, 7, 10, 13, 16, 19])
        for shuffled in (ds.shuffle(seed=3), ds.shuffle(8, seed=3)):
            first, second = self.ids(shuffled.epoch(0)), self.ids(shuffled.epoch(1))
            self.assertEqual(sorted(first), list(range(20)))
            self.assertNotEqual(first, second)
            self.assert_elements(shuffled.epoch(0), first)
        numbered = list(ds.enumerate().map(lambda pair: (pair[0], int(pair[1]["id"]))))
        self.assertEqual(numbered, [(i, i) for i in range(20)])
        self.assertEqual(self.ids(ds.cache().repeat(2).prefetch()), [*range(20), *range(20)])

    def test_by_length(self):
        ds = rp.tfds(sets.write_all(self.folder))
        self.assertIn("bucket", ds.bucket_by_sequence_length("tokens", [2], [4, 4]).explain())
        rows = ds.map(lambda element: {"id": element["id"], "tokens": element["tokens"]})
        batches = list(rows.bucket_by_sequence_length("tokens", [2], [4, 4]))
        self.assertEqual(sorted(int(i) for batch in batches for i in batch["id"]), [*range(20)])
        self.assertEqual({batch["tokens"].shape[1] for batch in batches}, {1, 3})
        tokens = rows.map(lambda row: {"tokens": row["tokens"]})
        (row,) = tokens.pack_sequences({"tokens": 100})
        self.assertEqual(int((row["tokens_segment_ids"] > 0).sum()), sum(i % 4 for i in range(20)))

    def test_states(self):
        folder = sets.write_all(self.folder)
        ds = rp.tfds(folder, "train[2:]+val").shuffle(seed=3).repeat(2).batch(4).prefetch()
        whole = [batch["id"].tolist() for batch in ds]
        for place in range(len(whole) + 1):
            iterator = iter(ds)
            for _ in range(place):
                next(iterator)
            state = json.dumps(iterator.state_dict())
            other = iter(ds.with_options(threads=1 + place % 3))
            other.load_state_dict(json.loads(state))
            self.assertEqual([batch["id"].tolist() for batch in other], whole[place:])

    def test_states_of_other_plans_are_refused(self):
        folder = sets.write_all(self.folder)
        iterator = iter(rp.tfds(folder).batch(4))
        next(iterator)
        state = iterator.state_dict()
        for other in (
            rp.tfds(folder, decode_images=False),
            rp.tfds(folder, "train[1:]"),
            rp.tfds(folder, missing="fill"),
            rp.tfds(folder).resize("thumbnail", (3, 3)),
        ):
            with self.assertRaises(rp.Error):
                iter(other.batch(4)).load_state_dict(state)

    def test_pickles(self):
        folder = sets.write_all(self.folder)
        ds = rp.tfds(folder, "train[:50%]", decode_images={"image": False}, missing="fill").shuffle(
            seed=1
        )
        other = pickle.loads(pickle.dumps(ds))
        self.assertEqual(self.ids(other), self.ids(ds))
        self.assertEqual(other.explain(), ds.explain())
        self.assertIsInstance(next(iter(other))["image"], bytes)
        self.assertEqual(int(pickle.loads(pickle.dumps(rp.tfds(folder)))[7]["id"]), 7)

    def test_the_plan(self):
        folder = sets.write_all(self.folder)
        text = rp.tfds(folder, max_pixels=99).shuffle(seed=1).explain()
        called = f"tfds({str(folder)!r}, split='train', max_pixels=99)\nshuffle(seed=1)\n"
        self.assertEqual(text, called)
        self.assertIn("tfds(", repr(rp.tfds(folder)))
        self.assertIn("tfds(", rp.tfds(folder)._repr_html_())

    def test_several_data_sets(self):
        a = rp.tfds(sets.write_all(self.folder, name="a"))
        b = rp.tfds(sets.write_all(self.folder, name="b", lengths=(3,)))
        mixed = rp.sample_from_datasets([a, b], [1, 1], seed=1)
        self.assertEqual(sorted(self.ids(mixed)), sorted([*range(20), *range(3)]))
        batch = next(iter(a.concatenate(b).batch(23)))
        self.assertEqual(batch["id"].tolist(), [*range(20), *range(3)])
        self.assertIsInstance(batch["tokens"], rp.Ragged)
        pairs = [(int(x["id"]), int(y["id"])) for x, y in rp.zip(a, b)]
        self.assertEqual(pairs, [(0, 0), (1, 1), (2, 2)])

    def test_functions(self):
        ds = rp.tfds(sets.write_all(self.folder))
        lengths = list(ds.filter(lambda x: x["flag"]).map(lambda x: len(x["tokens"])))
        self.assertEqual(lengths, [i % 4 for i in range(1, 20, 2)])

    def test_calls_that_make_no_sense(self):
        ds = rp.tfds(sets.write_all(self.folder))
        with self.assertRaisesRegex(rp.InvalidArgumentError, r"tfds\(\) has parsed"):
            ds.parse({"id": rp.FixedLenFeature([], "int64")})
        with self.assertRaisesRegex(rp.UnsupportedError, "Arrow"):
            ds.__arrow_c_stream__()
        self.assertIsNone(ds.features)
        for images in ds, rp.tfds(ds._source.folder, decode_images=False):
            with self.assertRaisesRegex(rp.InvalidArgumentError, 'no image "imge".*mean image\\?'):
                images.decode_image("imge")


class Images(TfdsTest):
    def twins(self, folder, name, operate, dct="accurate"):
        """The images of a batch, by tfds() and by parse() of the same files."""
        ours = operate(rp.tfds(folder, dct=dct))
        files = sorted(folder.glob("made-train*"))
        parsed = rp.tfrecords(files).parse(
            {"id": rp.FixedLenFeature([], "int64"), name: rp.FixedLenFeature([], "bytes")}
        )
        return ours, operate(parsed.decode_image(name, dct=dct))

    def test_operators_are_those_of_parse(self):
        folder = sets.write_all(self.folder)
        operators = {
            "resize": lambda d: d.resize("image", (8, 9)),
            "center": lambda d: d.resize("image", 9).center_crop("image", 7),
            "random": lambda d: d.random_resized_crop("image", 8, seed=3),
            "normalize": lambda d: (
                d.random_resized_crop("image", 8, seed=3)
                .normalize("image", 0.5, 0.25, scale=1 / 255)
                .image_format("image", layout="NCHW")
            ),
            "half": lambda d: d.resize("image", (8, 9)).image_format("image", "float16"),
            "pad": lambda d: d.pad_crop_flip("thumbnail", 2, seed=5),
        }
        for what, operate in operators.items():
            name = "thumbnail" if what == "pad" else "image"
            with self.subTest(what=what):
                ours, theirs = self.twins(folder, name, operate)
                ours, theirs = ours.shuffle(seed=2), theirs.shuffle(seed=2)
                for a, b in zip(ours.batch(6).epoch(1), theirs.batch(6).epoch(1), strict=True):
                    self.assertEqual(a["id"].tolist(), b["id"].tolist())
                    self.assertEqual(a[name].dtype, b[name].dtype)
                    np.testing.assert_array_equal(a[name], b[name])
                for a, b in zip(ours.epoch(1), theirs.epoch(1), strict=True):
                    np.testing.assert_array_equal(a[name], b[name])

    def test_images_of_any_size(self):
        ds = rp.tfds(sets.write_all(self.folder))
        padded = next(iter(ds.image_format("image", sizes="padded").batch(5)))
        listed = next(iter(ds.image_format("image", sizes="list").batch(5)))
        for i in range(5):
            expected = sets.values(i)["image"]
            height, width = padded["image/size"][i]
            self.assertEqual((height, width), expected.shape[:2])
            np.testing.assert_array_equal(padded["image"][i][:height, :width], expected)
            np.testing.assert_array_equal(listed["image"][i], expected)

    def test_two_images(self):
        ds = rp.tfds(sets.write_all(self.folder))
        ds = ds.random_resized_crop("image", 8, seed=1).random_resized_crop("thumbnail", 4, seed=1)
        (batch,) = ds.take(3).batch(3)
        self.assertEqual(batch["image"].shape, (3, 8, 8, 3))
        self.assertEqual(batch["thumbnail"].shape, (3, 4, 4, 3))
        threads = [
            [b["image"].tobytes() for b in ds.with_options(threads=n).batch(3).epoch(2)]
            for n in (1, 4)
        ]
        self.assertEqual(*threads)

    def test_images_that_stay_encoded_otherwise(self):
        ds = rp.tfds(sets.write_all(self.folder), decode_images=False)
        batch = next(iter(ds.resize("image", (8, 9)).batch(3)))
        self.assertEqual(batch["image"].shape, (3, 8, 9, 3))
        self.assertEqual(batch["thumbnail"].dtype, object)

    def test_refused(self):
        ds = rp.tfds(sets.write_all(self.folder))
        for name, reason in {
            "label": 'no image "label"',
            "none": 'no image "none"',
        }.items():
            with self.assertRaisesRegex(rp.InvalidArgumentError, reason):
                ds.resize(name, (8, 8))
        with self.assertRaisesRegex(rp.InvalidArgumentError, "a crop already"):
            ds.resize("image", (8, 8)).random_resized_crop("image", 8)


class Leases(TfdsTest):
    """Arrays of batches are lent, as those of parse() (lease_test.py)."""

    def test_kept_arrays_keep_their_values(self):
        folder = sets.write_all(self.folder)
        ds = rp.tfds(folder).resize("image", (8, 9)).repeat(6).batch(4)
        expected = [batch["thumbnail"].copy() for batch in ds]
        kept = []
        for i, batch in enumerate(ds):
            if i % 3 == 0:
                kept.append((i, batch["thumbnail"][1:]))
            batch["thumbnail"][0] = 9  # it is ours
        gc.collect()
        for i, view in kept:
            np.testing.assert_array_equal(view, expected[i][1:])

    def test_memory_is_aligned_and_used_again(self):
        ds = rp.tfds(sets.write_all(self.folder)).resize("image", (8, 9)).repeat(20).batch(4)
        with iter(ds) as iterator:
            for batch in iterator:
                for array in (batch["image"], batch["id"], batch["tokens"].values):
                    self.assertEqual(array.ctypes.data % 64, 0)
                    self.assertTrue(array.flags.writeable)
                del batch, array
            batches, allocated, lent = iterator._leases()
        self.assertEqual(batches, 100)
        self.assertLess(allocated, 4)
        self.assertEqual(lent, 0)


if __name__ == "__main__":
    unittest.main()
