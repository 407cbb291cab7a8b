"""Decoding and resizing of images, beside tf.io and tf.image."""

import pathlib
import struct
import sys
import tempfile
import unittest

import numpy as np
import recordpipe as rp

sys.path.append(str(pathlib.Path(__file__).parents[1]))
import records
from image_test import png

try:
    import tensorflow as tf
except ImportError:
    tf = None


def scene(height, width, index):
    """Smooth colours with edges and noise, as in photographs: [height, width, 3]."""
    random = np.random.default_rng(index)
    y, x = np.mgrid[:height, :width]
    waves = [128 + 90 * np.sin(x / (9 + c) + index) * np.cos(y / (13 - c)) for c in range(3)]
    pixels = np.stack(waves, axis=-1) + random.normal(0, 12, (height, width, 3))
    pixels[height // 3 : height // 2, width // 4 : width // 2] = random.integers(0, 255, 3)
    return np.clip(pixels, 0, 255).astype(np.uint8)


@unittest.skipUnless(tf, "TensorFlow is not installed")
class Photographs(unittest.TestCase):
    SIZES = ((37, 53), (64, 48), (91, 200), (230, 17), (332, 223))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def images(self, files):
        path = records.write(
            self.folder / "photos", [records.example({"image": [file]}) for file in files]
        )
        return rp.tfrecords(path).parse({"image": rp.FixedLenFeature([], "bytes")})

    def jpegs(self):
        return [tf.io.encode_jpeg(scene(120 + i, 161, i), quality=90 + i).numpy() for i in range(3)]

    def test_jpegs(self):
        files = self.jpegs()
        for dct, method in (("fast", "INTEGER_FAST"), ("accurate", "INTEGER_ACCURATE")):
            rows = self.images(files).decode_image("image", dct=dct)
            for row, file in zip(rows, files, strict=True):
                expected = tf.io.decode_jpeg(file, dct_method=method).numpy()
                np.testing.assert_array_equal(row["image"], expected)

    def test_16_bits(self):
        wide = scene(20, 31, 1).astype(np.uint16) * 251
        grey = wide[..., :1]
        files = [tf.io.encode_png(image).numpy() for image in (wide, grey)]
        files.append(tf.io.encode_png(scene(20, 31, 2)).numpy())
        rows = self.images(files).decode_image("image", 0, dtype="uint16")
        for row, file in zip(rows, files, strict=True):
            expected = tf.io.decode_png(file, dtype=tf.uint16).numpy()
            self.assertEqual(row["image"].dtype, np.uint16)
            np.testing.assert_array_equal(row["image"], expected)
        np.testing.assert_array_equal(next(iter(rows))["image"], wide)

    def test_orientation_is_ignored_by_default(self):
        (file, *_) = self.jpegs()
        exif = b"Exif\0\0MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x112, 3, 1, 6, 0, 0)
        turned = file[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + file[2:]
        (row,) = self.images([turned]).decode_image("image", dct="fast")
        np.testing.assert_array_equal(row["image"], tf.io.decode_image(turned).numpy())
        (upright,) = self.images([turned]).decode_image("image", dct="fast", exif_orientation=True)
        np.testing.assert_array_equal(upright["image"], np.rot90(row["image"], -1))

    def resized(self, pixels, size, **options):
        rows = self.images([png(p) for p in pixels]).decode_image("image")
        (batch,) = rows.resize("image", size, **options).batch(len(pixels))
        return batch["image"]

    def test_resize_to_float32(self):
        pixels = [scene(150, 101, i) for i in range(2)]
        # The largest difference of values of 0 to 255. tf.image has bicubic weights without
        # antialiasing from a table of 1,024 positions.
        for method, antialias, most in (
            ("bilinear", False, 2e-3),
            ("bilinear", True, 2e-3),
            ("bicubic", False, 0.15),
            ("bicubic", True, 2e-3),
        ):
            for size in self.SIZES:
                with self.subTest(method=method, antialias=antialias, size=size):
                    got = self.resized(
                        pixels, size, interpolation=method, antialias=antialias, rounded=False
                    )
                    expected = tf.image.resize(
                        np.stack(pixels), size, method=method, antialias=antialias
                    ).numpy()
                    self.assertEqual(got.dtype, np.float32)
                    self.assertLess(np.abs(got - expected).max(), most)

    def test_resize_to_uint8(self):
        pixels = [scene(150, 101, i) for i in range(2)]
        for method, antialias, most in (
            ("nearest", False, 0),
            ("bilinear", False, 1),
            ("bilinear", True, 1),
            ("bicubic", False, 1),
            ("bicubic", True, 1),
        ):
            for size in self.SIZES:
                with self.subTest(method=method, antialias=antialias, size=size):
                    got = self.resized(pixels, size, interpolation=method, antialias=antialias)
                    expected = tf.image.resize(
                        np.stack(pixels), size, method=method, antialias=antialias
                    )
                    expected = np.clip(np.round(expected.numpy()), 0, 255).astype(int)
                    self.assertLessEqual(np.abs(got.astype(int) - expected).max(), most)

    def test_resize_of_16_bits(self):
        wide = scene(150, 101, 3).astype(np.uint16) * 257
        rows = self.images([tf.io.encode_png(wide).numpy()]).decode_image("image", dtype="uint16")
        (row,) = rows.resize("image", (64, 48)).image_format("image", "float32")
        expected = tf.image.resize(wide, (64, 48), antialias=True).numpy()
        self.assertLess(np.abs(row["image"] - expected).max(), 0.3)


if __name__ == "__main__":
    unittest.main()
