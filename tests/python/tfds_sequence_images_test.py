"""Image operators on images in sequences of tfds()."""

import unittest

import numpy as np
import recordpipe as rp
import records
import tfds_sets as sets
from recordpipe._notebook.cells import encode_png
from support import FilesTest

LENGTHS = (2, 0, 3, 1, 2, 4, 0, 1)


def pixels(i, j):
    return sets.pixels(10 + (i + j) % 4, 12 - i % 3 + j, i * 7 + j)


def example(i, files=None):
    if files is None:
        files = [encode_png(pixels(i, j)) for j in range(LENGTHS[i])]
    fixed = [encode_png(sets.pixels(6, 5, i + j)) for j in range(2)]
    features = {
        "id": [i],
        "first": [files[0] if files else encode_png(pixels(i, 0))],
        "views": files,
        "objects/crop": files,
        "objects/size": list(range(len(files))),
        "nested/ragged_flat_values": files,
        "nested/ragged_row_lengths_0": [0, len(files)],
        "fixed": fixed,
        "steps/view": fixed[: i % 3],
    }
    # records.example() can't write empty lists of bytes.
    return records.example({key: listed for key, listed in features.items() if listed})


FEATURES = sets.tree(
    id=sets.scalar("int32"),
    first=sets.image(None, None, 3),
    views=sets.sequence(sets.image(None, None, 3)),
    objects=sets.sequence(sets.tree(crop=sets.image(None, None, 3), size=sets.scalar("int64"))),
    nested=sets.sequence(sets.sequence(sets.image(None, None, 3))),
    fixed=sets.sequence(sets.image(6, 5, 3), 2),
    steps=sets.sequence(sets.tree(view=sets.image(6, 5, 3)), name="Dataset"),
)
# All images of any size: without an operator, those of a sequence can't be one array.
ANY_SIZE = ("views", "objects/crop", "nested")


class SequenceImages(FilesTest):
    def setUp(self):
        super().setUp()
        numbers = range(len(LENGTHS))
        self.data = sets.write(self.folder, FEATURES, {"train": [[example(i) for i in numbers]]})

    def tfds(self, *decoded):
        """Only these of ANY_SIZE are decoded."""
        return rp.tfds(
            self.data, decode_images={name: False for name in ANY_SIZE if name not in decoded}
        )

    def twin(self, operate):
        """The images as single ones: [Example][image]."""
        rows = [encode_png(pixels(i, j)) for i, n in enumerate(LENGTHS) for j in range(n)]
        features = sets.tree(view=sets.image(None, None, 3))
        folder = self.folder / "twin"
        made = [records.example({"view": [row]}) for row in rows]
        sets.write(folder, features, {"train": [made]}, "singles")
        images = iter([row["view"] for row in operate(rp.tfds(folder / "singles"), "view")])
        return [[next(images) for _ in range(n)] for n in LENGTHS]

    def check(self, rows, expected, shape):
        for row, images in zip(rows, expected, strict=True):
            self.assertEqual(row.shape, (len(images), *shape))
            for got, image in zip(row, images, strict=True):
                np.testing.assert_array_equal(got, image)

    def test_resized_as_single_images(self):
        for name, operate, shape, dtype in (
            ("resize", lambda ds, name: ds.resize(name, (8, 9)), (8, 9, 3), "uint8"),
            ("short", lambda ds, n: ds.resize(n, 9).center_crop(n, 7), (7, 7, 3), "uint8"),
            (
                "normalized",
                lambda ds, n: (
                    ds.resize(n, (8, 9)).normalize(n, 0.5, 2.0).image_format(n, layout="NCHW")
                ),
                (3, 8, 9),
                "float32",
            ),
        ):
            with self.subTest(name):
                expected = self.twin(operate)
                ds = operate(self.tfds("views"), "views")
                self.check([row["views"] for row in ds], expected, shape)
                (batch,) = ds.batch(len(LENGTHS))
                self.assertIsInstance(batch["views"], rp.Ragged)
                self.assertEqual(batch["views"].values.dtype, dtype)
                self.check(batch["views"], expected, shape)
                np.testing.assert_array_equal(ds[2]["views"], expected[2])

    def test_all_sequences(self):
        ds = self.tfds(*ANY_SIZE)
        for name in (*ANY_SIZE, "fixed", "steps/view"):
            ds = ds.resize(name, (8, 9))
        expected = self.twin(lambda ds, name: ds.resize(name, (8, 9)))
        at = 0
        for batch in ds.batch(3):
            count = len(batch["id"])
            rows = expected[at : at + count]
            self.check(batch["views"], rows, (8, 9, 3))
            self.check(batch["objects"]["crop"], rows, (8, 9, 3))
            self.assertEqual([len(row) for row in batch["objects"]["size"]], list(map(len, rows)))
            for row, images in zip(batch["nested"], rows, strict=True):
                self.check(row, [[], images], (8, 9, 3))
            self.assertEqual(batch["fixed"].shape, (count, 2, 8, 9, 3))
            self.assertEqual(
                [len(row) for row in batch["steps"]["view"]], [(at + i) % 3 for i in range(count)]
            )
            at += count
        self.assertEqual(at, len(LENGTHS))

    def test_random_crops(self):
        def operate(ds, name):
            return ds.random_resized_crop(name, 8, seed=3).color_jitter(name, brightness=0.3)

        ds = operate(self.tfds("views"), "views")
        firsts = [row["first"] for row in operate(self.tfds(), "first")]
        for row, first in zip(ds, firsts, strict=True):
            if len(row["views"]):
                # The numbers of a single image; the other images of the row have them, too.
                np.testing.assert_array_equal(row["views"][0], first)
        same = [example(i, [encode_png(pixels(i, 0))] * 3) for i in range(4)]
        self.data = sets.write(self.folder / "same", FEATURES, {"train": [same]})
        for row in operate(self.tfds("views"), "views").epoch(1):
            for image in row["views"][1:]:
                np.testing.assert_array_equal(image, row["views"][0])
        # At any number of threads, shuffled, and after a resume.
        shuffled = ds.shuffle(seed=1).batch(3)
        whole = [b["views"].values.tobytes() for b in shuffled.with_options(threads=1)]
        self.assertEqual(
            whole, [b["views"].values.tobytes() for b in shuffled.with_options(threads=3)]
        )
        iterator = iter(shuffled)
        next(iterator)
        resumed = iter(shuffled)
        resumed.load_state_dict(iterator.state_dict())
        self.assertEqual(whole[1:], [b["views"].values.tobytes() for b in resumed])

    def test_without_a_size(self):
        ds = self.tfds().normalize("fixed", 1.0, 2.0).normalize("steps/view", 1.0, scale=1)
        (batch,) = ds.batch(len(LENGTHS))
        plain = [sets.pixels(6, 5, i) for i in range(len(LENGTHS))]
        self.assertEqual(batch["fixed"].shape, (len(LENGTHS), 2, 6, 5, 3))
        np.testing.assert_array_equal(batch["fixed"][:, 0], (np.stack(plain) - np.float32(1)) / 2)
        self.assertEqual(batch["steps"]["view"].values.shape, (7, 6, 5, 3))
        # Sizes that features.json doesn't tell: an array for each Example.
        made = [example(i, [encode_png(sets.pixels(9 + i, 8, i))] * i) for i in range(4)]
        self.data = sets.write(self.folder / "equal", FEATURES, {"train": [made]})
        (batch,) = self.tfds("views").normalize("views").batch(4)
        self.assertEqual(
            [row.shape for row in batch["views"]],
            [(0, 0, 0, 3), (1, 10, 8, 3), (2, 11, 8, 3), (3, 12, 8, 3)],
        )
        # Of nested sequences, a list of them for each Example.
        ds = self.tfds("nested").normalize("nested")
        (batch,) = ds.batch(4)
        for i, row in enumerate(batch["nested"]):
            self.assertEqual(len(row), 2)
            self.assertEqual(len(row[0]), 0)
            twin = self.tfds("views").normalize("views")[i]["views"]
            np.testing.assert_array_equal(row[1], twin)
            self.assertEqual(row[1].dtype, twin.dtype)
        np.testing.assert_array_equal(ds[3]["nested"][1], batch["nested"][3][1])

    def test_images_that_stay_encoded_otherwise(self):
        ds = rp.tfds(self.data, decode_images=False).resize("objects/crop", (4, 5))
        self.assertEqual(ds[2]["objects"]["crop"].shape, (3, 4, 5, 3))
        self.assertEqual(ds[2]["views"].dtype, object)
        grey = rp.tfds(self.data, decode_images=False).decode_image("views", 1)
        self.assertEqual(grey.resize("views", (4, 5))[2]["views"].shape, (3, 4, 5, 1))

    def test_different_sizes(self):
        with self.assertRaisesRegex(rp.UnsupportedError, "views.*resize or crop the images"):
            list(self.tfds("views"))
        for ds in (self.tfds("views").normalize("views"), self.tfds("views").resize("views", 5)):
            with self.assertRaisesRegex(
                rp.UnsupportedError, r"views\": images of the shapes .*one sequence.*resize or crop"
            ):
                list(ds)
            kept = list(ds.ignore_errors())
            self.assertTrue(all(len(row["views"]) < 3 for row in kept))
            self.assertGreater(len(kept), 3)

    def test_refused(self):
        ds = self.tfds("views")
        for sizes in ("padded", "list"):
            with self.assertRaisesRegex(rp.InvalidArgumentError, "sequence.*resize or crop"):
                ds.image_format("views", sizes=sizes)
        with self.assertRaisesRegex(ValueError, "already"):
            ds.resize("views", (8, 8)).random_resized_crop("views", 8)
        floats = sets.tree(x=sets.sequence(sets.image(3, 3, 1, dtype="float32")))
        folder = sets.write(self.folder, floats, {"train": [[]]}, "floats")
        with self.assertRaisesRegex(rp.InvalidArgumentError, "an image of floats"):
            rp.tfds(folder).resize("x", (8, 8))

    def test_damage(self):
        good = encode_png(pixels(0, 0))
        made = [example(i, [good, good[:40] if i == 2 else good]) for i in range(4)]
        self.data = sets.write(self.folder / "damaged", FEATURES, {"train": [made]})
        ds = self.tfds("views").resize("views", (4, 4))
        with self.assertRaisesRegex(rp.Error, "image 'views'"):
            list(ds)
        self.assertEqual([row["id"] for row in ds.ignore_errors()], [0, 1, 3])

    def test_too_many_pixels(self):
        made = [example(0, [encode_png(pixels(0, 0))] * 40)]
        self.data = sets.write(self.folder / "many", FEATURES, {"train": [made]})
        encoded = {name: False for name in ANY_SIZE[1:]}
        ds = rp.tfds(self.data, decode_images=encoded, max_pixels=200)
        with self.assertRaisesRegex(rp.LimitExceededError, "images in one sequence"):
            list(ds.resize("views", (10, 10)))
        self.assertEqual(ds.resize("views", (8, 10))[0]["views"].shape, (40, 8, 10, 3))


if __name__ == "__main__":
    unittest.main()
