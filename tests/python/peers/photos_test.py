"""Decoding, resizing and cropping, beside PIL and torchvision."""

# ruff: noqa: E402 (require() comes before the imports of what may be missing)

import io
import itertools
import unittest

from peers import require

require("PIL", "torchvision")

import numpy as np
import recordpipe as rp
import torch
from PIL import Image
from support import FilesTest
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms import functional as F

FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
}


def scene(height, width, index):
    """Smooth colours with edges and noise, as in photographs: [height, width, 3]."""
    random = np.random.default_rng(index)
    y, x = np.mgrid[:height, :width]
    waves = [128 + 90 * np.sin(x / (9 + c) + index) * np.cos(y / (13 - c)) for c in range(3)]
    pixels = np.stack(waves, axis=-1) + random.normal(0, 12, (height, width, 3))
    pixels[height // 3 : height // 2, width // 4 : width // 2] = random.integers(0, 255, 3)
    return np.clip(pixels, 0, 255).astype(np.uint8)


def encoded(pixels, kind="png", **options):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind, **options)
    return file.getvalue()


class PhotosTest(FilesTest):
    def images(self, files):
        path = self.folder / "photos.tfrecord"
        rp.write_tfrecords(path, [{"image": file} for file in files])
        return rp.tfrecords(path).parse({"image": rp.FixedLenFeature([], "bytes")})


class Decode(PhotosTest):
    def test_jpegs_equal_those_of_pil(self):
        for options in ({}, {"subsampling": 0}, {"subsampling": 1}, {"progressive": True}):
            files = [encoded(scene(120, 161, i), "jpeg", quality=90, **options) for i in range(3)]
            for got, file in zip(self.images(files).decode_image("image"), files, strict=True):
                np.testing.assert_array_equal(
                    got["image"], np.asarray(Image.open(io.BytesIO(file)))
                )

    def test_the_fast_transform_is_near(self):
        file = encoded(scene(120, 161, 1), "jpeg", quality=95)
        (fast,) = self.images([file]).decode_image("image", dct="fast")
        (accurate,) = self.images([file]).decode_image("image")
        difference = np.abs(fast["image"].astype(int) - accurate["image"].astype(int))
        self.assertTrue(0 < difference.max() <= 8, difference.max())


class Resize(PhotosTest):
    # Without centres exactly between two pixels, where PIL's nearest depends on rounding errors.
    SIZES = ((37, 53), (64, 48), (91, 200), (230, 17), (332, 223))

    def check(self, reference, interpolation, antialias, most, mean):
        """`most`, `mean`: the largest difference, and of all values' mean."""
        pixels = [scene(150, 101, i) for i in range(2)]
        for size in self.SIZES:
            with self.subTest(interpolation=interpolation, antialias=antialias, size=size):
                rows = self.images([encoded(p) for p in pixels]).decode_image("image")
                resized = rows.resize(
                    "image", size, interpolation=interpolation, antialias=antialias
                )
                (batch,) = resized.batch(2)
                expected = np.stack([reference(p, size) for p in pixels])
                difference = np.abs(batch["image"].astype(int) - expected.astype(int))
                self.assertLessEqual(difference.max(), most)
                self.assertLessEqual(difference.mean(), mean)

    def test_pil(self):
        def pil(pixels, size):
            return np.asarray(Image.fromarray(pixels).resize(size[::-1], FILTERS[name]))

        # Equal in Pillow 11. Pillow 13 filters columns first where that is less work.
        for name in FILTERS:
            self.check(pil, name, True, 0 if name == "nearest" else 1, 0.3)

    def test_torchvision_tensors(self):
        for name, antialias, most in (
            ("nearest-exact", True, 0),
            ("bilinear", True, 1),
            ("bilinear", False, 1),
            ("bicubic", True, 1),
        ):

            def tensors(pixels, size, name=name, antialias=antialias):
                image = torch.from_numpy(pixels.copy()).permute(2, 0, 1)
                mode = InterpolationMode(name)
                return F.resize(image, size, mode, antialias=antialias).permute(1, 2, 0).numpy()

            self.check(tensors, name.removesuffix("-exact"), antialias, most, 0.3)


class Crops(PhotosTest):
    def test_evaluation_equals_torchvision_of_pil_images(self):
        shapes = ((150, 101), (99, 160), (120, 121), (75, 75))
        files = [encoded(scene(*shape, 1), "jpeg", quality=92) for shape in shapes]
        for name in ("bilinear", "bicubic"):
            rows = self.images(files).decode_image("image")
            (batch,) = (
                rows.resize("image", 72, interpolation=name).center_crop("image", 61, 64).batch(4)
            )
            for got, file in zip(batch["image"], files, strict=True):
                image = F.resize(Image.open(io.BytesIO(file)), 72, InterpolationMode(name))
                np.testing.assert_array_equal(got, np.asarray(F.center_crop(image, [61, 64])))

    def test_random_resized_crops_are_crops_that_pil_would_resize(self):
        # The red and green channels hold the row and the column of each pixel, so that the crop can
        # be found again.
        y, x = np.mgrid[:240, :250]
        pixels = np.stack([y, x, np.zeros_like(x)], axis=-1).astype(np.uint8)
        rows = self.images([encoded(pixels)] * 40).decode_image("image")
        crops = rows.random_resized_crop("image", 32, 48, seed=5, scale=(0.3, 0.9), flip=True)
        found = set()
        for row in crops:
            got = row["image"].astype(float)
            flipped = got[0, 0, 1] > got[0, -1, 1]
            got = got[:, ::-1] if flipped else got
            box = self.box_of(got)
            found.add((flipped, *box))
            _, _, height, width = box
            self.assertTrue(0.25 < height * width / (240 * 250) < 0.95, box)
            expected = min(
                (
                    np.abs(np.asarray(image, float) - got).max()
                    for image in self.near(pixels, box, (48, 32))
                ),
            )
            self.assertEqual(expected, 0, box)
        self.assertGreater(len(found), 30)
        self.assertEqual({flip for flip, *_ in found}, {False, True})

    def box_of(self, got):
        """About where the crop is: (top, left, height, width)."""
        box = []
        for values in (got[:, 16, 0], got[8, :, 1]):
            middle = values[len(values) // 4 : 3 * len(values) // 4 + 1]
            step = (middle[-1] - middle[0]) / (len(middle) - 1)
            size = step * len(values)
            box.append((values.mean() - (size - 1) / 2, size))
        (top, height), (left, width) = box
        return round(top), round(left), round(height), round(width)

    def near(self, pixels, box, size):
        image = Image.fromarray(pixels)
        top, left, height, width = box
        for y in range(top - 1, top + 2):
            for x in range(left - 1, left + 2):
                for h in range(height - 2, height + 3):
                    for w in range(width - 2, width + 3):
                        if y < 0 or x < 0 or y + h > 240 or x + w > 250:
                            continue
                        part = image.crop((x, y, x + w, y + h))
                        yield part.resize(size, Image.Resampling.BILINEAR)


class ColorJitter(PhotosTest):
    def changed(self, pixels, **factors):
        rows = self.images([encoded(p) for p in pixels]).decode_image("image")
        ranges = {name: (factor, factor) for name, factor in factors.items()}
        (batch,) = rows.color_jitter("image", **ranges, seed=4).batch(len(pixels))
        return batch["image"]

    def single_changes(self):
        """Pixels, and the name, the factor and our result of single changes."""
        pixels = np.stack([scene(120, 90, i) for i in range(3)])
        for name, factors in (
            ("brightness", (0.0, 0.3, 0.87, 1.4, 3.0)),
            ("contrast", (0.0, 0.3, 0.87, 1.4, 3.0)),
            ("saturation", (0.0, 0.3, 0.87, 1.4, 3.0)),
            ("hue", (-0.5, -0.13, 0.02, 0.25, 0.4)),
        ):
            for factor in factors:
                yield pixels, name, factor, self.changed(pixels, **{name: factor})

    def test_single_changes_of_tensors(self):
        for pixels, name, factor, got in self.single_changes():
            with self.subTest(name=name, factor=factor):
                tensors = torch.from_numpy(pixels).permute(0, 3, 1, 2)
                expected = getattr(v2.functional, f"adjust_{name}")(tensors, factor)
                difference = np.abs(got.astype(int) - expected.permute(0, 2, 3, 1).numpy())
                exact = name in ("brightness", "contrast")
                self.assertLessEqual(difference.max(), 0 if exact else 1)
                # Of grey pixels, a saturation gives integers, which either rounding may miss.
                share = 0.1 if name == "saturation" else 1e-3
                self.assertLess((difference > 0).mean(), share)

    def test_single_changes_of_pil_images(self):
        for pixels, name, factor, got in self.single_changes():
            with self.subTest(name=name, factor=factor):
                for image, ours in zip(pixels, got, strict=True):
                    expected = getattr(F, f"adjust_{name}")(Image.fromarray(image), factor)
                    difference = np.abs(ours.astype(int) - np.asarray(expected, int))
                    # PIL's mean is rounded, its hues are of 8 bits.
                    most = {"brightness": 0, "contrast": 1, "saturation": 2, "hue": 12}[name]
                    self.assertLessEqual(difference.max(), most)
                    self.assertLessEqual(difference.mean(), 1)

    def test_all_changes_in_one_of_their_orders(self):
        factors = {"brightness": 1.2, "contrast": 0.8, "saturation": 1.3, "hue": 0.07}
        pixels = np.stack([scene(60, 50, i) for i in range(12)])
        orders = set()
        for image, got in zip(pixels, self.changed(pixels, **factors), strict=True):
            differences = {}
            for order in itertools.permutations(factors):
                tensor = torch.from_numpy(image).permute(2, 0, 1)
                for name in order:
                    tensor = getattr(v2.functional, f"adjust_{name}")(tensor, factors[name])
                difference = np.abs(got.astype(int) - tensor.permute(1, 2, 0).numpy())
                differences[order] = difference.mean()
            best = min(differences, key=differences.__getitem__)
            self.assertLess(differences[best], 0.2)
            orders.add(best)
        self.assertGreater(len(orders), 5)


if __name__ == "__main__":
    unittest.main()
