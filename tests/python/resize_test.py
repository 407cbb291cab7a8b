"""Resizing and cropping images: resize(), center_crop() and random_resized_crop()."""

import pathlib
import pickle
import unittest
import zlib

import numpy as np
import recordpipe as rp
from image_test import Images, png


def nearest(image, height, width):
    rows = (np.arange(height) * 2 + 1) * image.shape[0] // (2 * height)
    columns = (np.arange(width) * 2 + 1) * image.shape[1] // (2 * width)
    return image[rows][:, columns]


class Resize(Images):
    def test_nearest_takes_pixels(self):
        images = [self.random_images(1, (h, w, 3))[0] for h, w in ((8, 6), (31, 17), (1, 40))]
        rows = self.parsed([png(image) for image in images]).decode_image("image")
        (batch,) = rows.resize("image", (13, 9), interpolation="nearest").batch(3)
        self.assertEqual((batch["image"].dtype, batch["image"].shape), (np.uint8, (3, 13, 9, 3)))
        for got, image in zip(batch["image"], images, strict=True):
            np.testing.assert_array_equal(got, nearest(image, 13, 9))

    def test_blocks_of_one_colour_shrink_to_it(self):
        image = np.kron(self.random_images(1, (5, 7, 3))[0], np.ones((4, 4, 1))).astype(np.uint8)
        rows = self.parsed([png(image)]).decode_image("image")
        # Without antialiasing, a pixel of the half size lies between four of its block.
        (batch,) = rows.resize("image", (10, 14), antialias=False).batch(1)
        np.testing.assert_array_equal(batch["image"][0], image[::2, ::2])
        (smooth,) = rows.resize("image", (10, 14)).batch(1)
        self.assertFalse(np.array_equal(smooth["image"], batch["image"]))

    def test_a_size_is_given_together_or_one_by_one(self):
        rows = self.parsed([png(self.random_images(1, (9, 12, 3))[0])]).decode_image("image")
        for given, alone in (
            (rows.resize("image", (4, 6)), rows.resize("image", 4, 6)),
            (rows.center_crop("image", (4, 6)), rows.center_crop("image", 4, 6)),
            (
                rows.random_resized_crop("image", (4, 6), seed=1),
                rows.random_resized_crop("image", 4, 6, seed=1),
            ),
        ):
            self.assertEqual(given.explain(), alone.explain())
            self.assertEqual(next(iter(given.batch(1)))["image"].shape, (1, 4, 6, 3))
        with self.assertRaisesRegex(TypeError, "height and width, or"):
            rows.resize("image", (4, 6), 6)

    def test_the_shorter_side(self):
        images = [self.random_images(1, shape)[0] for shape in ((20, 30, 3), (31, 20, 3))]
        rows = self.parsed([png(image) for image in images]).decode_image("image")
        resized = rows.resize("image", 10, interpolation="nearest")
        shapes = [row["image"].shape for row in resized]
        self.assertEqual(shapes, [(10, 15, 3), (15, 10, 3)])
        with self.assertRaisesRegex(rp.UnsupportedError, "the first image of the batch has"):
            list(resized.batch(2))
        (batch,) = resized.center_crop("image", 8).batch(2)
        # Of a border of 7 pixels, torchvision leaves 4 before the crop: 3.5 is rounded to even.
        for got, image, (top, left) in zip(batch["image"], images, ((1, 4), (4, 1)), strict=True):
            height, width = (10, 15) if image.shape[0] < image.shape[1] else (15, 10)
            whole = nearest(image, height, width)
            np.testing.assert_array_equal(got, whole[top : top + 8, left : left + 8])

    def test_center_crop_without_resize(self):
        images = [self.random_images(1, (9, n, 3))[0] for n in (7, 8, 20)]
        rows = self.parsed([png(image) for image in images]).decode_image("image")
        (batch,) = rows.center_crop("image", 5, 6).batch(3)
        for got, image, left in zip(batch["image"], images, (0, 1, 7), strict=True):
            np.testing.assert_array_equal(got, image[2:7, left : left + 6])
        with self.assertRaisesRegex(rp.UnsupportedError, "10x6.*record"):
            list(rows.center_crop("image", 10, 6).batch(3))

    def test_raw_pixels_of_both_layouts(self):
        images = self.random_images(3, (12, 10, 3))
        for layout, stored, shape in (
            ("NHWC", images, (12, 10, 3)),
            ("NCHW", images.transpose(0, 3, 1, 2), (3, 12, 10)),
        ):
            rows = self.parsed([image.tobytes() for image in stored]).decode_raw(
                "image", shape, layout=layout
            )
            (batch,) = rows.resize("image", (7, 5), interpolation="nearest").batch(3)
            expected = np.stack([nearest(image, 7, 5) for image in images])
            np.testing.assert_array_equal(batch["image"], expected)

    def test_channels_dtypes_and_layouts(self):
        for channels in (1, 3, 4):
            images = self.random_images(4, (9, 11, channels))
            files = [png(image) for image in images]
            rows = self.parsed(files, f"{channels}").decode_image("image", channels)
            resized = rows.resize("image", (6, 5), interpolation="nearest")
            expected = np.stack([nearest(image, 6, 5) for image in images])
            (batch,) = resized.batch(4)
            np.testing.assert_array_equal(batch["image"], expected)
            (batch,) = resized.normalize("image", 1.0, 2.0).batch(4)
            np.testing.assert_array_equal(batch["image"], (expected - np.float32(1)) / 2)
            (batch,) = resized.image_format("image", "float32", layout="NCHW").batch(4)
            np.testing.assert_array_equal(batch["image"], expected.transpose(0, 3, 1, 2))

    def test_wrong_calls(self):
        image = self.parsed([b"x"]).decode_image("image")
        resized = image.resize("image", 8)
        for call, words in (
            (lambda: image.resize("image", (0, 4)), "height"),
            (lambda: image.resize("image", 8, interpolation="area"), "bicubic"),
            (lambda: resized.resize("image", 9), "already"),
            (lambda: resized.center_crop("image", 4).center_crop("image", 3), "already"),
            (lambda: resized.normalize("image").center_crop("image", 4), "already"),
            (lambda: image.normalize("image").resize("image", 4), "after its norm"),
            (lambda: image.random_resized_crop("image", 8, scale=(0.5, 1.5)), "scale"),
            (lambda: image.random_resized_crop("image", 8, ratio=(2, 1)), "ratio"),
            (lambda: image.random_resized_crop("image", 8).pad_crop_flip("image"), "already"),
            (lambda: self.parsed([b"x"], "y").decode_image("image", dct="slow"), "dct"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                call()


class RandomResizedCrop(Images):
    def setUp(self):
        super().setUp()
        shapes = [(20 + i % 7, 25 - i % 5, 3) for i in range(30)]
        self.files = [png(self.random_images(1, shape)[0]) for shape in shapes]

    def rows(self, **options):
        rows = self.parsed(self.files).decode_image("image")
        return rows.random_resized_crop("image", 16, 12, **{"seed": 3, **options})

    def crops(self, dataset):
        return np.concatenate([batch["image"] for batch in dataset.batch(10)])

    def test_the_same_bytes_at_any_number_of_threads_and_after_a_resume(self):
        dataset = self.rows().shuffle(8, seed=1).repeat(2).batch(4)
        expected = [batch["image"] for batch in dataset.with_options(threads=1)]
        for threads in (1, 3):
            for place in (0, 1, 7):
                iterator = iter(dataset.with_options(threads=threads))
                for _ in range(place):
                    next(iterator)
                resumed = iter(dataset.prefetch().with_options(threads=4 - threads))
                resumed.load_state_dict(iterator.state_dict())
                got = [batch["image"] for batch in resumed]
                np.testing.assert_array_equal(np.concatenate(got), np.concatenate(expected[place:]))

    def test_a_crop_of_everything_is_resize_or_its_mirror(self):
        square = [self.random_images(1, (24, 24, 3))[0] for _ in range(20)]
        rows = self.parsed([png(image) for image in square], "square").decode_image("image")
        (whole,) = rows.resize("image", 16).batch(20)
        everything = {"scale": (1.0, 1.0), "ratio": (1.0, 1.0)}
        (plain,) = rows.random_resized_crop("image", 16, **everything).batch(20)
        np.testing.assert_array_equal(plain["image"], whole["image"])
        (flipped,) = rows.random_resized_crop("image", 16, flip=True, **everything).batch(20)
        mirrored = 0
        for got, expected in zip(flipped["image"], whole["image"], strict=True):
            if np.array_equal(got, expected[:, ::-1]):
                mirrored += 1
            else:
                np.testing.assert_array_equal(got, expected)
        self.assertTrue(2 < mirrored < 18, mirrored)

    def test_epochs_and_seeds_differ(self):
        first = self.crops(self.rows().epoch(0))
        np.testing.assert_array_equal(first, self.crops(self.rows().epoch(0)))
        for other in (self.rows().epoch(1), self.rows(seed=4)):
            self.assertFalse(np.array_equal(first, self.crops(other)))

    def test_a_state_of_other_parameters_is_refused(self):
        iterator = iter(self.rows().batch(4))
        next(iterator)
        for other in (self.rows(scale=(0.1, 1)), self.rows(interpolation="bicubic")):
            with self.assertRaisesRegex(rp.InvalidArgumentError, "random_resized_crop"):
                iter(other.batch(4)).load_state_dict(iterator.state_dict())

    def test_images_without_declared_channels(self):
        rows = self.parsed(self.files).decode_image("image", channels=0)
        own = rows.random_resized_crop("image", 16, 12, seed=3)
        np.testing.assert_array_equal(self.crops(own), self.crops(self.rows()))

    def test_broken_files_are_left_out_by_name(self):
        self.files[3] = self.files[3][:80]
        with self.assertRaisesRegex(rp.DataLossError, "image 'image'.*record"):
            list(self.rows().batch(5))
        (batch, *_) = self.rows().ignore_errors().batch(5)
        self.assertEqual(batch["label"].tolist(), [0, 1, 2, 4, 5])

    def test_bytes_are_those_of_the_cpp_library(self):
        # The same pipeline is in tests/image/batches/example_images_test.cc.
        images = (pathlib.Path(__file__).parents[2] / "data/images").iterdir()
        files = sorted(path for path in images if path.suffix in (".jpg", ".png"))
        values = [files[i % len(files)].read_bytes() for i in range(150)]
        rows = self.parsed(values).shuffle(32, seed=3).repeat(2).decode_image("image")
        rows = rows.random_resized_crop("image", 224, flip=True, seed=7)
        rows = rows.normalize("image", (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), scale=1 / 255)
        total = 0
        for batch in rows.image_format("image", layout="NCHW").batch(64, drop_remainder=True):
            total = zlib.crc32(batch["image"].tobytes() + batch["label"].tobytes(), total)
        self.assertEqual(total, 69353155)

    def test_plans_pickle_and_name_their_operators(self):
        dataset = self.rows(antialias=False)
        self.assertIn(
            "random_resized_crop('image', height=16, width=12, scale=(0.08, 1.0), ",
            dataset.batch(6).explain(),
        )
        again = pickle.loads(pickle.dumps(dataset))
        np.testing.assert_array_equal(self.crops(dataset), self.crops(again))


if __name__ == "__main__":
    unittest.main()
