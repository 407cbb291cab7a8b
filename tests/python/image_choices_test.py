"""Images of 16 bits, EXIF orientation, colour jitter, images of different size, broken images."""

import pickle
import struct
import unittest
import zlib

import numpy as np
import recordpipe as rp
import records
from image_test import FEATURES, Images, grey_jpeg, png


def png16(pixels, orientation=None):
    """A PNG file of uint16 [height, width, 1 or 3]."""
    height, width, channels = pixels.shape
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    exif = b""
    if orientation is not None:
        exif = chunk(
            b"eXIf", b"II*\0" + struct.pack("<IHHHIHHI", 8, 1, 0x112, 3, 1, orientation, 0, 0)
        )
    header = struct.pack(">IIBBBBB", width, height, 16, {1: 0, 3: 2}[channels], 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + exif
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


class Wide(Images):
    def wide_images(self, count, shape=(8, 6, 3)):
        return self.rng.integers(0, 65536, (count, *shape), dtype=np.uint16)

    def test_values_of_png_files_are_kept(self):
        for channels in (1, 3):
            images = self.wide_images(5, (8, 6, channels))
            rows = self.parsed([png16(i) for i in images], f"{channels}")
            (batch,) = rows.decode_image("image", channels, dtype="uint16").batch(5)
            self.assertEqual(batch["image"].dtype, np.uint16)
            np.testing.assert_array_equal(batch["image"], images)
            (narrow,) = rows.decode_image("image", channels).batch(5)
            np.testing.assert_array_equal(narrow["image"], images >> 8)

    def test_files_of_8_bits_are_widened(self):
        (image,) = self.random_images(1)
        rows = self.parsed([png(image), grey_jpeg(170)], "narrow")
        first, second = rows.decode_image("image", dtype=np.uint16)
        np.testing.assert_array_equal(first["image"], image.astype(np.uint16) * 257)
        self.assertTrue((second["image"] == 170 * 257).all())

    def test_crops_flips_and_normalisation(self):
        images = self.wide_images(20)
        rows = self.parsed([png16(i) for i in images]).decode_image("image", dtype="uint16")
        cropped = rows.pad_crop_flip("image", 2, seed=3)
        narrow = self.parsed([png(i) for i in (images // 257).astype(np.uint8)], "narrow")
        (a,) = cropped.batch(20)
        (b,) = narrow.decode_image("image").pad_crop_flip("image", 2, seed=3).batch(20)
        np.testing.assert_array_equal(a["image"] // 257, b["image"])  # the same places
        (scaled,) = rows.normalize("image", 0.5, 0.25, scale=1 / 65535).batch(20)
        expected = (images * np.float32(1 / 65535) - np.float32(0.5)) / np.float32(0.25)
        np.testing.assert_array_equal(scaled["image"], expected)
        (center,) = rows.center_crop("image", 4).image_format("image", layout="NCHW").batch(20)
        np.testing.assert_array_equal(center["image"], images[:, 2:6, 1:5].transpose(0, 3, 1, 2))

    def test_orientation(self):
        (image,) = self.wide_images(1)
        turned = {1: image, 2: image[:, ::-1], 3: image[::-1, ::-1], 4: image[::-1]}
        transposed = image.transpose(1, 0, 2)
        turned |= {5: transposed, 6: transposed[:, ::-1]}
        turned |= {7: transposed[::-1, ::-1], 8: transposed[::-1]}
        files = [png16(image, orientation) for orientation in turned]
        rows = self.parsed(files).decode_image("image", dtype="uint16", exif_orientation=True)
        for row, expected in zip(rows, turned.values(), strict=True):
            np.testing.assert_array_equal(row["image"], expected)
        for row in self.parsed(files, "as they are").decode_image("image", dtype="uint16"):
            np.testing.assert_array_equal(row["image"], image)

    def test_wrong_calls(self):
        rows = self.parsed([b"x"]).decode_image("image", dtype="uint16")
        for call, words in (
            (lambda: self.parsed([b"x"], "y").decode_image("image", dtype="float32"), "uint16"),
            (lambda: rows.image_format("image", "uint8"), "16 bits"),
            (lambda: rows.color_jitter("image", 0.5), "8 bits"),
            (lambda: rows.crop_flip_color("image", 2, 2), "8 bits"),
            (
                lambda: (
                    self.parsed([b"x"], "z").decode_image("image").image_format("image", "uint16")
                ),
                "not uint16",
            ),
        ):
            with self.assertRaisesRegex(ValueError, words):
                call()


class ColorJitter(Images):
    def test_factors_of_one_value(self):
        images = self.random_images(4)
        rows = self.parsed([png(i) for i in images]).decode_image("image")
        (batch,) = rows.color_jitter("image", brightness=(0.5, 0.5)).batch(4)
        np.testing.assert_array_equal(batch["image"], images // 2)
        (grey,) = rows.color_jitter("image", saturation=(0, 0)).batch(4)
        expected = (images * np.float32((0.2989, 0.587, 0.114))).sum(-1).astype(int)
        self.assertLessEqual(np.abs(grey["image"].astype(int) - expected[..., None]).max(), 1)

    def test_the_same_at_any_number_of_threads_and_other_in_each_epoch(self):
        images = self.random_images(30, (20, 25, 3))
        rows = self.parsed([png(i) for i in images]).decode_image("image")
        for dataset in (
            rows.random_resized_crop("image", 16, seed=3).color_jitter("image", 0.4, 0.4, 0.4, 0.1),
            rows.resize("image", (9, 9)).color_jitter("image", 0.4, 0.4, 0.4, 0.1, seed=5),
        ):
            batches = dataset.batch(8)
            expected = [b["image"] for b in batches.with_options(threads=1)]
            for threads in (2, 3):
                got = [b["image"] for b in batches.with_options(threads=threads)]
                for a, b in zip(got, expected, strict=True):
                    np.testing.assert_array_equal(a, b)
            (again, *_) = batches.epoch(1)
            self.assertFalse(np.array_equal(again["image"], expected[0]))
            self.assertIn("color_jitter('image', brightness=(0.6, 1.4), ", batches.explain())
            pickled = pickle.loads(pickle.dumps(batches))
            np.testing.assert_array_equal(next(iter(pickled))["image"], expected[0])

    def test_wrong_calls(self):
        image = self.parsed([b"x"]).decode_image("image")
        crop = image.random_resized_crop("image", 8, seed=1)
        for call, words in (
            (lambda: image.color_jitter("image", -1), "brightness"),
            (lambda: image.color_jitter("image", hue=0.6), "hue"),
            (lambda: image.color_jitter("image", contrast=(2, 1)), "contrast"),
            (lambda: crop.color_jitter("image", 0.1, seed=2), "seed of the crop"),
            (lambda: image.color_jitter("image", 0.1).resize("image", 8), "after its color_jitter"),
            (lambda: image.color_jitter("image", 0.1).color_jitter("image", 0.1), "already"),
            (lambda: image.normalize("image").color_jitter("image", 0.1), "after its norm"),
            (lambda: image.resize("image", 8, rounded=False).color_jitter("image", 1), "rounded"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                call()


class Sizes(Images):
    SHAPES = ((5, 7, 3), (9, 2, 3), (1, 1, 3), (4, 8, 3))

    def setUp(self):
        super().setUp()
        self.pixels = [self.random_images(1, shape)[0] for shape in self.SHAPES]
        self.rows = self.parsed([png(image) for image in self.pixels]).decode_image("image")

    def test_list(self):
        (batch,) = self.rows.image_format("image", sizes="list").batch(4)
        self.assertIsInstance(batch["image"], list)
        for got, image in zip(batch["image"], self.pixels, strict=True):
            np.testing.assert_array_equal(got, image)
        planar = self.rows.normalize("image", 1.0, 2.0)
        (batch,) = planar.image_format("image", layout="NCHW", sizes="list").batch(4)
        for got, image in zip(batch["image"], self.pixels, strict=True):
            np.testing.assert_array_equal(got, (image.transpose(2, 0, 1) - np.float32(1)) / 2)

    def test_padded(self):
        for layout in ("NHWC", "NCHW"):
            rows = self.rows.normalize("image", 300.0)
            (batch,) = rows.image_format("image", layout=layout, sizes="padded").batch(4)
            self.assertEqual(list(batch), ["image", "image/size", "label"])
            self.assertEqual(batch["image/size"].tolist(), [[5, 7], [9, 2], [1, 1], [4, 8]])
            self.assertEqual(batch["image/size"].dtype, np.int64)
            images = batch["image"] if layout == "NHWC" else batch["image"].transpose(0, 2, 3, 1)
            self.assertEqual(images.shape, (4, 9, 8, 3))
            for got, image in zip(images, self.pixels, strict=True):
                expected = np.zeros((9, 8, 3), np.float32)
                expected[: image.shape[0], : image.shape[1]] = image.astype(np.float32) - 300
                np.testing.assert_array_equal(got, expected)

    def test_single_elements_keep_their_size(self):
        for sizes in ("list", "padded"):
            rows = list(self.rows.image_format("image", sizes=sizes))
            for row, image in zip(rows, self.pixels, strict=True):
                np.testing.assert_array_equal(row["image"], image)
        self.assertEqual([row["image/size"].tolist() for row in rows][1], [9, 2])

    def test_arrays_stay_as_they_are(self):
        # Memory is used again only after the arrays have died.
        rows = self.rows.repeat(6).image_format("image", sizes="list").batch(2)
        kept = [image for batch in rows for image in batch["image"]]
        for i, image in enumerate(kept):
            np.testing.assert_array_equal(image, self.pixels[i % 4])

    def test_short_sides_of_random_crops_and_threads(self):
        rows = self.rows.repeat(10).resize("image", 6).image_format("image", sizes="padded")
        expected = [b["image"] for b in rows.batch(7).with_options(threads=1)]
        got = [b["image"] for b in rows.batch(7).with_options(threads=3)]
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_array_equal(a, b)

    def test_a_feature_of_the_sizes_name(self):
        path = records.write(
            self.folder / "taken",
            [records.example({"image": [png(self.pixels[0])], "image/size": [3]})],
        )
        rows = rp.tfrecords(path).parse(
            {
                "image": rp.FixedLenFeature([], "bytes"),
                "image/size": rp.FixedLenFeature([], "int64"),
            }
        )
        with self.assertRaisesRegex(ValueError, "a feature already"):
            rows.decode_image("image").image_format("image", sizes="padded")
        with self.assertRaisesRegex(ValueError, "sizes"):
            self.rows.image_format("image", sizes="ragged")


class Broken(Images):
    def test_good_rows_are_those_without_the_broken(self):
        """Truncated, empty, too large and other files, in JPEG and PNG, by name and offset."""
        good = [png(image) for image in self.random_images(24, (40, 30, 3))]
        large = png(np.zeros((200, 200, 3), np.uint8))
        (pixels,) = self.random_images(1, (40, 30, 3))
        huge_jpeg = bytearray(grey_jpeg(170))
        at = huge_jpeg.index(b"\xff\xc0") + 5
        huge_jpeg[at : at + 4] = struct.pack(">HH", 65000, 65000)
        broken = {
            2: good[0][:-30],  # truncated below the middle
            5: grey_jpeg(170)[:-3],
            6: b"",
            9: b"GIF89a garbage",
            13: large,
            14: bytes(huge_jpeg),
            20: png(pixels)[:40] + b"\0" * 50 + png(pixels)[90:],
        }
        values = [broken.get(i, file) for i, file in enumerate(good)]
        path = self.write(values, "broken")
        clean = self.parsed(good, "clean")
        rows = rp.tfrecords(path).parse(FEATURES)

        def pipeline(dataset, skip):
            dataset = dataset.decode_image("image", max_pixels=10_000)
            dataset = dataset.random_resized_crop("image", 16, seed=5)
            return (dataset.ignore_errors() if skip else dataset).batch(3)

        expected = {}
        for batch in pipeline(clean, False):
            expected |= dict(zip(batch["label"].tolist(), batch["image"], strict=True))
        iterator = iter(pipeline(rows, True).with_options(threads=3))
        got = {}
        for batch in iterator:
            got |= dict(zip(batch["label"].tolist(), batch["image"], strict=True))
        self.assertEqual(set(got), set(range(24)) - set(broken))
        for label, image in got.items():
            np.testing.assert_array_equal(image, expected[label])

        stats = iterator.stats()
        self.assertEqual(stats["skipped"], len(broken))
        starts = np.cumsum([0] + [16 + len(record) for record in rp.tfrecords(path)]).tolist()
        reasons = {(path, offset): reason for path, offset, reason in stats["first_skipped"]}
        self.assertEqual(set(reasons), {(str(path), starts[i]) for i in broken})
        for i, words in (
            (2, "ends too early"),
            (6, "neither a JPEG"),
            (13, "exceeds the limit"),
            (14, "exceeds the limit"),
        ):
            self.assertIn(words, reasons[str(path), starts[i]])
            self.assertIn("image 'image'", reasons[str(path), starts[i]])
        # Behind batch(), the batches with broken images are left out.
        labels = [
            b["label"].tolist()
            for b in rows.decode_image("image", max_pixels=10_000).batch(3).ignore_errors()
        ]
        self.assertEqual(labels, [[3 * i, 3 * i + 1, 3 * i + 2] for i in (5, 7)])


if __name__ == "__main__":
    unittest.main()
