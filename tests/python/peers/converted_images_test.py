"""Smaller images and folders of images, beside PIL and torchvision."""

# ruff: noqa: E402 (require() comes before the imports of what may be missing)

import io
import os
import shutil
import unittest

from peers import require

require("PIL", "torchvision")

import numpy as np
import recordpipe as rp
from PIL import Image
from support import FilesTest, run_program
from torchvision.datasets import ImageFolder

TFRECORD = os.environ.get("RECORDPIPE_TFRECORD") or shutil.which("tfrecord")
FEATURES = {
    "image/encoded": rp.FixedLenFeature([], "bytes"),
    "image/height": rp.FixedLenFeature([], "int64"),
    "image/width": rp.FixedLenFeature([], "int64"),
}


def photo(index, size):
    """Smooth colours with edges and noise."""
    random = np.random.default_rng(index)
    width, height = size
    y, x = np.mgrid[:height, :width]
    waves = [128 + 90 * np.sin(x / (9 + c) + index) * np.cos(y / (13 - c)) for c in range(3)]
    pixels = np.stack(waves, axis=-1) + random.normal(0, 12, (height, width, 3))
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def encoded(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)))


class Resize(FilesTest):
    def test_the_pixels_are_those_of_pil(self):
        modes = ["RGB", "L", "RGB", "RGBA", "LA", "P"]
        images = [
            photo(i, (90 + 7 * i, 120 - 5 * i)).convert(mode)
            for i, mode in enumerate(modes * 2)
            if not (mode in ("RGBA", "LA", "P") and i < len(modes))
        ]
        files = [
            encoded(image, "JPEG" if image.mode in ("RGB", "L") else "PNG", quality=92)
            for image in images
        ]
        path = self.folder / "a.tfrecord"
        rp.write_tfrecords(
            path,
            [
                {"image/encoded": file, "image/height": image.height, "image/width": image.width}
                for file, image in zip(files, images, strict=True)
            ],
        )
        rp.convert(path, self.folder / "b.tfrecord", resize=64, quality=85)
        rows = list(rp.tfrecords(self.folder / "b.tfrecord").parse(FEATURES))
        self.assertEqual(len(rows), len(images))
        for row, file in zip(rows, files, strict=True):
            image = Image.open(io.BytesIO(file))
            short = min(image.size)
            size = tuple(side * 64 // short for side in image.size)
            found = Image.open(io.BytesIO(row["image/encoded"]))
            self.assertEqual((found.format, found.size), (image.format, size))
            self.assertEqual((row["image/width"], row["image/height"]), size)
            if image.mode == "P":
                image = image.convert("RGB")
            if image.format == "JPEG":
                expected = pixels(
                    encoded(image.resize(size, Image.Resampling.BILINEAR), "JPEG", quality=85)
                )
            else:  # channel by channel: PIL weights colours by alpha first
                bands = [band.resize(size, Image.Resampling.BILINEAR) for band in image.split()]
                expected = np.squeeze(np.stack([np.asarray(band) for band in bands], axis=-1))
            np.testing.assert_array_equal(pixels(row["image/encoded"]), expected)


@unittest.skipUnless(TFRECORD, "no tfrecord command: set RECORDPIPE_TFRECORD")
class Folders(FilesTest):
    def export(self, records, *arguments):
        path = self.folder / "a.tfrecord"
        rp.write_tfrecords(path, records)
        done = run_program([TFRECORD, "export", path, "-o", f"{self.folder}/out/", *arguments])
        self.assertEqual(done.returncode, 0, done.stderr)
        return ImageFolder(self.folder / "out")

    def test_an_image_folder_has_the_labels_of_the_records(self):
        labels = [11, 0, 3, 11, 2, *range(12)]
        images = [encoded(photo(i, (20, 16)), "PNG") for i in range(len(labels))]
        folder = self.export(
            [{"image": image, "label": label} for image, label in zip(images, labels, strict=True)]
        )
        self.assertEqual(folder.classes, [f"{i:02}" for i in range(12)])
        found = {(label, np.asarray(image).tobytes()) for image, label in folder}
        expected = {
            (label, pixels(image).tobytes()) for image, label in zip(images, labels, strict=True)
        }
        self.assertEqual(found, expected)

    def test_the_classes_have_the_names_of_the_labels(self):
        names = self.folder / "names.txt"
        names.write_text("cat\ndog\nzebra\n")
        image = encoded(photo(0, (20, 16)), "JPEG")
        records = [
            {"image": image, "label": label, "file": f"photos/{i}.jpeg"}
            for i, label in enumerate([2, 0, 1, 2])
        ]
        folder = self.export(records, "--labels", names, "--name", "file")
        self.assertEqual(folder.class_to_idx, {"cat": 0, "dog": 1, "zebra": 2})
        self.assertEqual(
            [os.path.relpath(path, self.folder / "out") for path, _ in folder.samples],
            ["cat/1.jpg", "dog/2.jpg", "zebra/0.jpg", "zebra/3.jpg"],
        )


if __name__ == "__main__":
    unittest.main()
