"""tfds(): which folders are data sets, what they say of themselves, and damage of all kinds."""

import random
import unittest

import numpy as np
import recordpipe as rp
import records
import tfds_sets as sets
from tfds_case import TfdsTest


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
            '"image".*neither a JPEG, PNG, GIF': {"image": [b"II*" + b"\0" * 50]},
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
