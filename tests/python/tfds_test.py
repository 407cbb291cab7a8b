"""tfds(): data sets in the format of TensorFlow Datasets, written by hand; NumPy only.

Equality with TFDS itself is tested by tests/interop/tfds_test.py.
"""

import gc
import json
import pickle
import random
import unittest

import numpy as np
import recordpipe as rp
import records
import tfds_sets as sets
from support import FilesTest


class TfdsTest(FilesTest):
    def assert_same(self, ours, expected, path=""):
        if isinstance(expected, dict):
            self.assertEqual(list(ours), list(expected), path)
            for name, value in expected.items():
                self.assert_same(ours[name], value, f"{path}/{name}")
        elif isinstance(expected, list):  # of lists of bytes
            self.assertEqual([row.tolist() for row in ours], expected, path)
        elif expected is None or isinstance(expected, bytes):
            self.assertEqual(ours, expected, path)
        else:
            self.assertIs(type(ours), type(expected), path)
            self.assertEqual((ours.dtype, ours.shape), (expected.dtype, expected.shape), path)
            np.testing.assert_array_equal(ours, expected, path)

    def assert_elements(self, elements, numbers):
        numbers = list(numbers)
        elements = list(elements)
        self.assertEqual(len(elements), len(numbers))
        for element, i in zip(elements, numbers, strict=True):
            self.assert_same(element, self.sorted_values(i), str(i))

    def sorted_values(self, i):
        """Names are in the order of features.json, which TFDS sorts; so does the reader."""

        def in_order(value):
            if not isinstance(value, dict):
                return value
            return {name: in_order(value[name]) for name in sorted(value)}

        return in_order(sets.values(i))


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
        text = rp.tfds(folder).shuffle(seed=1).explain()
        self.assertIn("tfds(features=FeaturesDict(any_shape: Tensor(float32 ? ? bytes)", text)
        self.assertIn("tfrecord_files(files=3)", text)
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


class Info(TfdsTest):
    def test_what_it_has(self):
        folder = sets.write_all(self.folder)
        info = rp.tfds_info(folder)
        self.assertEqual((info.name, info.version), ("made", "1.0.0"))
        self.assertEqual(
            {name: len(split) for name, split in info.splits.items()}, {"train": 20, "val": 5}
        )
        self.assertEqual(info.splits["train"].shard_lengths, [4, 0, 9, 7])
        self.assertEqual(info.features["label"].names, ("cat", "dog", "owl"))
        self.assertEqual(info.features["objects/box"].shape, (2,))
        self.assertEqual(info.features["steps"].name, "Dataset")
        self.assertTrue(info.features["maybe"].optional)
        with self.assertRaises(KeyError):
            info.features["objects/none"]
        text = repr(info)
        for part in (
            "train: 20 Examples in 4 files",
            "'label': ClassLabel(3 classes, cat, dog, owl),",
            "'tokens': Sequence(Scalar(int64)),",
            "        'box': Tensor(float32, [2]),",
            "'image': Image(uint8, [?, ?, 3], png),",
        ):
            self.assertIn(part, text)

    def test_ranges(self):
        info = rp.tfds_info(sets.write_all(self.folder))
        for split, expected in {
            "train[:50%]+val": [("train", 0, 10), ("val", 0, 5)],
            "train[-3:]": [("train", 17, 20)],
            "train[2shard]": [("train", 4, 13)],
            "val[:30%]": [("val", 0, 2)],  # 1.5 is rounded to the even number
            "val[:50%]": [("val", 0, 2)],  # and so is 2.5
            "val[2:2]": [],
        }.items():
            self.assertEqual(info.ranges(split), expected, split)
        for split in ("train[", "train[5]", "none", "train[30:]", "all[:5]", "", "train[:101%]"):
            with self.assertRaises(rp.InvalidArgumentError, msg=split):
                info.ranges(split)


class Folders(TfdsTest):
    def test_several_versions(self):
        folder = sets.write_all(self.folder)
        (folder.parent / "2.0.0").mkdir()
        for file in folder.iterdir():
            (folder.parent / "2.0.0" / file.name).write_bytes(file.read_bytes())
        with self.assertRaisesRegex(rp.InvalidArgumentError, r"several data sets: 1.0.0, 2.0.0"):
            rp.tfds(folder.parent)
        self.assertEqual(len(rp.tfds(folder)), 20)

    def test_no_data_set(self):
        with self.assertRaisesRegex(rp.NotFoundError, "no dataset_info.json"):
            rp.tfds(self.folder)
        with self.assertRaisesRegex(rp.NotFoundError, "no such folder"):
            rp.tfds(self.folder / "none")

    def test_a_missing_file(self):
        folder = sets.write_all(self.folder)
        (folder / "made-train.tfrecord-00002-of-00004").unlink()
        with self.assertRaisesRegex(
            rp.NotFoundError, 'the 3 files of "train" that are needed, 1 are missing'
        ):
            rp.tfds(folder)
        self.assert_elements(rp.tfds(folder, "train[:2shard]+val"), [*range(4), *range(20, 25)])

    def test_a_file_too_many(self):
        folder = sets.write_all(self.folder)
        records.write(folder / "made-train.tfrecord-00000-of-00003", [b""])
        with self.assertRaisesRegex(rp.DataLossError, "00000-of-00003.*has 4 files"):
            rp.tfds(folder)

    def test_another_number_of_records(self):
        folder = sets.write_all(self.folder)
        records.write(
            folder / "made-train.tfrecord-00002-of-00004", [sets.example(i) for i in range(4, 12)]
        )
        ds = rp.tfds(folder)
        for get in (lambda: list(ds), lambda: ds[0], lambda: list(ds.shuffle(seed=1))):
            with self.assertRaisesRegex(
                rp.DataLossError, "00002-of-00004: 8 records, where 9 are expected"
            ):
                get()
        self.assert_elements(rp.tfds(folder, "train[:4]+train[13:]"), [*range(4), *range(13, 20)])

    def test_slices_read_no_other_file(self):
        folder = sets.write_all(self.folder)
        (folder / "made-train.tfrecord-00000-of-00004").write_bytes(b"not a TFRecord file")
        ds = rp.tfds(folder, "train[4:]")
        self.assert_elements(ds, range(4, 20))
        self.assertEqual(sorted(int(x["id"]) for x in ds.shuffle(seed=1)), list(range(4, 20)))

    def test_names_that_lead_outside(self):
        for template in ("../{SPLIT}", "/etc/{SPLIT}", "a/../../{SPLIT}", "{SPLIT}/.."):
            split = {"name": "train", "shardLengths": ["1"], "filepathTemplate": template}
            folder = sets.write(self.folder, sets.FEATURES, {}, info={"splits": [split]})
            with self.assertRaisesRegex(rp.DataLossError, "outside of the folder"):
                rp.tfds(folder)

    def test_other_formats(self):
        folder = sets.write(self.folder, sets.FEATURES, {}, info={"fileFormat": "array_record"})
        with self.assertRaisesRegex(rp.UnsupportedError, "array_record, not tfrecord"):
            rp.tfds(folder)

    def test_features_that_are_refused_by_name(self):
        cases = {
            "lazy_decode": sets.feature("Audio", "audio", dtype="int64", lazyDecode=True),
            "GIF": sets.image(None, 4, 4, 3),
            "1, 3 or 4 channels": sets.image(4, 4, 2),
            "MyFeature": {"pythonClassName": "mine.MyFeature", "tensor": {}},
            "several unknown dimensions": sets.tensor("int64", None, None),
            "unknown dimension inside": sets.sequence(sets.tensor("int64", None)),
            "qint8": sets.scalar("qint8"),
            "complex": sets.scalar("complex64"),
            "a Dataset inside": sets.sequence(
                sets.sequence(sets.scalar("int64"), name="Dataset"), name="Dataset"
            ),
        }
        for reason, feature in cases.items():
            with self.subTest(reason=reason):
                folder = sets.write(
                    self.folder, sets.tree(fine=sets.text(), group=sets.tree(bad=feature)), {}
                )
                with self.assertRaisesRegex(rp.Error, f"group/bad.*{reason}"):
                    rp.tfds(folder, "all")

    def test_arguments(self):
        folder = sets.write_all(self.folder)
        for keywords in ({"missing": "none"}, {"dct": "slow"}, {"rounding": "up"}):
            with self.assertRaises(ValueError):
                rp.tfds(folder, **keywords)
        with self.assertRaisesRegex(rp.InvalidArgumentError, "there are train, val"):
            rp.tfds(folder, "test")


class Damage(TfdsTest):
    def one(self, change):
        return sets.write(
            self.folder, sets.FEATURES, {"train": [[sets.example(5), sets.example(6, change)]]}
        )

    def test_elements_that_do_not_fit(self):
        grey = sets.encode_png(sets.pixels(7, 5, 1))
        for reason, change in {
            'feature "id": it is missing': {"id": None},
            'feature "id": 2 values, for the shape': {"id": [1, 2]},
            '"id": the Example has floats where features.json has int64s': {"id": [0.5]},
            '"name": it is missing': {"name": None},
            '"packed": zlib': {"packed": [b"no zlib stream"]},
            '"packed".*more than 8 bytes': {"packed": [sets.zlib.compress(b"x" * 10**6)]},
            '"packed": 3 values': {"packed": [sets.zlib.compress(b"123456")]},
            '"any_shape": a tensor of the shape': {"any_shape/shape": [2, -2]},
            '"any_shape": 4 values': {"any_shape/shape": [2, 3]},
            '"objects/box": 3 values': {"objects/box": [1.0, 2.0, 3.0]},
            "row lengths": {"objects/words/ragged_row_lengths_0": [-1, 4]},
            "3 values, and rows for 1": {
                "objects/words/ragged_flat_values": [b"a", b"b", b"c"],
                "objects/words/ragged_row_lengths_0": [0, 1],
            },
            '"thumbnail": an image of 7x5': {"thumbnail": [grey]},
            '"image".*neither a JPEG nor a PNG': {"image": [b"GIF89a" + b"\0" * 50]},
            '"steps/note": 1 steps, where others have 2': {"steps/note": [b"a"]},
        }.items():
            with self.subTest(reason=reason):
                folder = self.one(change)
                ds = rp.tfds(folder)
                iterator = iter(ds)
                self.assert_elements([next(iterator)], [5])
                with self.assertRaisesRegex(rp.Error, reason) as raised:
                    next(iterator)
                self.assertIn("made-train.tfrecord-00000-of-00001", str(raised.exception.path))
                self.assertGreater(raised.exception.offset, 0)
                with self.assertRaisesRegex(rp.Error, reason):
                    list(ds.batch(2))
                self.assert_elements(ds.ignore_errors(), [5])

    def test_random_damage(self):
        """Nothing but Error, and no crash; elements that are read have the declared types."""
        draw = random.Random(3)
        whole = [sets.example(i) for i in range(4)]
        read = failed = 0
        for _ in range(300):
            record = bytearray(draw.choice(whole))
            for _ in range(draw.choice([1, 1, 2, 5])):
                place = draw.randrange(len(record))
                kind = draw.randrange(4)
                if kind == 0:
                    record[place] = draw.randrange(256)
                elif kind == 1:
                    record[place] ^= 1 << draw.randrange(8)
                elif kind == 2:
                    del record[place : place + draw.randrange(1, 20)]
                else:
                    record[place:place] = draw.randbytes(draw.randrange(1, 9))
            folder = sets.write(self.folder, sets.FEATURES, {"train": [[bytes(record)]]})
            ds = rp.tfds(folder, decode_images=draw.randrange(3) == 0)
            try:
                (element,) = ds
                self.assertEqual(element["id"].dtype, np.int32)
                self.assertEqual(element["packed"].shape, (2, 2))
                list(ds.batch(1))
                read += 1
            except rp.Error:
                failed += 1
        self.assertGreater(read, 20)
        self.assertGreater(failed, 20)

    def test_random_damage_of_descriptions(self):
        draw = random.Random(4)
        folder = sets.write_all(self.folder, lengths=(3,), val=0)
        failed = 0
        for name in ("features.json", "dataset_info.json"):
            whole = (folder / name).read_bytes()
            for _ in range(300):
                damaged = bytearray(whole)
                for _ in range(draw.choice([1, 3])):
                    place = draw.randrange(len(damaged))
                    if draw.randrange(2):
                        damaged[place] = ord(draw.choice('{}[]",:-0129aefstn'))
                    else:
                        del damaged[place : place + draw.randrange(1, 40)]
                (folder / name).write_bytes(damaged)
                try:
                    list(rp.tfds(folder))
                    rp.tfds_info(folder)
                except rp.Error:
                    failed += 1
            (folder / name).write_bytes(whole)
        self.assertGreater(failed, 100)

    def test_hostile_descriptions(self):
        deep = sets.scalar("int64")
        for _ in range(70):
            deep = sets.sequence(deep)
        huge = [str(2**62)] * 4
        cases = {
            "64 levels": sets.tree(x=deep),
            "32 dimensions": sets.tree(x=sets.tensor("int64", *[1] * 40)),
            "dimension -5": sets.tree(x=sets.tensor("int64", -5)),
        }
        for reason, features in cases.items():
            folder = sets.write(self.folder, features, {})
            with self.assertRaisesRegex(rp.Error, reason):
                rp.tfds(folder, "all")
        folder = sets.write(
            self.folder,
            sets.tree(
                x=sets.feature("Tensor", "tensor", dtype="int64", shape={"dimensions": huge}),
                y=sets.feature(
                    "Tensor",
                    "tensor",
                    dtype="int64",
                    shape={"dimensions": huge},
                    encoding="zlib",
                ),
            ),
            {"train": [[records.example({"x": [1], "y": [sets.zlib.compress(b"12345678")]})]]},
        )
        with self.assertRaisesRegex(rp.UnsupportedError, '"x": 1 values'):
            list(rp.tfds(folder))
        (folder / "features.json").write_text("[" * 100_000)
        with self.assertRaisesRegex(rp.DataLossError, "features.json"):
            rp.tfds(folder)


if __name__ == "__main__":
    unittest.main()
