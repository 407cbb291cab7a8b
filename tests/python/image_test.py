"""Image operators: pixels against NumPy, random numbers, composition, errors."""

import pathlib
import pickle
import struct
import unittest
import zlib

import numpy as np
import recordpipe as rp
import records
from support import FilesTest

FEATURES = {
    "image": rp.FixedLenFeature([], "bytes"),
    "label": rp.FixedLenFeature([], "int64"),
}


def png(pixels):
    """A PNG file of uint8 [height, width, channels], in plain Python."""
    height, width, channels = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


IMAGES = pathlib.Path(__file__).resolve().parent.parent.parent / "data/images"


def grey_jpeg(value):
    """A JPEG file of 8x8 pixels of a value of 160 to 191: only the DC coefficient."""

    def segment(marker, data):
        return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data

    one_code = bytes([1] + [0] * 15)  # a Huffman table with one symbol, whose code is 0
    dc = f"{8 * (value - 128):09b}"  # a number of 9 bits
    bits = ("0" + dc + "0").ljust(16, "1")
    return (
        b"\xff\xd8"
        + segment(0xDB, bytes([0] + [1] * 64))
        + segment(0xC0, struct.pack(">BHHB", 8, 8, 8, 1) + bytes([1, 0x11, 0]))
        + segment(0xC4, b"\0" + one_code + bytes([9]))
        + segment(0xC4, b"\x10" + one_code + bytes([0]))
        + segment(0xDA, bytes([1, 1, 0, 0, 63, 0]))
        + int(bits, 2).to_bytes(2, "big")
        + b"\xff\xd9"
    )


def philox(counter, key):
    """Philox4x32-10, from its paper."""
    c, (k0, k1) = list(counter), key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k0, p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k1, p0 & 0xFFFFFFFF]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


def derive_key(seed, stream):
    mask = 2**64 - 1

    def mix(x):
        x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ x >> 27) * 0x94D049BB133111EB) & mask
        return x ^ x >> 31

    return mix((mix((seed + 0x9E3779B97F4A7C15) & mask) + stream * 0x9E3779B97F4A7C15) & mask)


def drawn(seed, epoch, index, stream=0):
    """The first four random numbers of an element."""
    key = derive_key(seed, stream)
    return philox([0, epoch, index, 0], (key & 0xFFFFFFFF, key >> 32))


def pad_crop_flip(image, pad, numbers):
    """The distortion of a [height, width, channels] image."""
    top, left = (number * (2 * pad + 1) >> 32 for number in numbers[:2])
    height, width, _ = image.shape
    padded = np.pad(image, ((pad, pad), (pad, pad), (0, 0)))
    crop = padded[top : top + height, left : left + width]
    return crop[:, ::-1] if numbers[2] * 2 >> 32 else crop


class Images(FilesTest):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(1)

    def random_images(self, count, shape=(8, 6, 3)):
        return self.rng.integers(0, 256, (count, *shape), dtype=np.uint8)

    def write(self, values, name="images.tfrecord"):
        return records.write(
            self.folder / name,
            [records.example({"image": [value], "label": [i]}) for i, value in enumerate(values)],
        )

    def parsed(self, values, name="images.tfrecord"):
        return rp.tfrecords(self.write(values, name)).parse(FEATURES)


class Decode(Images):
    def test_images_of_every_format_are_decoded(self):
        names = sorted(path.name for path in IMAGES.iterdir())
        rows = [{"image": (IMAGES / name).read_bytes(), "label": i} for i, name in enumerate(names)]
        path = self.folder / "all"
        rp.write_tfrecords(path, rows)
        decoded = rp.tfrecords(path).parse(FEATURES).decode_image("image").ignore_errors()
        iterator = iter(decoded)
        labels = [row["label"] for row in iterator if row["image"].shape == (11, 13, 3)]
        if iterator.stats()["skipped"]:  # a build without libwebp
            reasons = {reason for _, _, reason in iterator.stats()["first_skipped"]}
            self.assertTrue(all("built without libwebp" in reason for reason in reasons))
            names = [name for name in names if not name.endswith(".webp")]
        self.assertEqual(len(labels), len(names))
        self.assertGreater(sum(name.endswith((".gif", ".bmp")) for name in names), 10)

    def test_png_files_of_one_size_become_a_column(self):
        images = self.random_images(10)
        batches = list(self.parsed([png(i) for i in images]).decode_image("image").batch(4))
        self.assertEqual(list(batches[0]), ["image", "label"])
        self.assertEqual([b["image"].shape for b in batches], [(4, 8, 6, 3)] * 2 + [(2, 8, 6, 3)])
        np.testing.assert_array_equal(np.concatenate([b["image"] for b in batches]), images)
        self.assertEqual(batches[1]["label"].tolist(), [4, 5, 6, 7])
        self.assertEqual(batches[0]["image"].dtype, np.uint8)

    def test_arrays_are_aligned_and_writable_and_kept(self):
        images = self.random_images(64)
        iterator = iter(self.parsed([png(i) for i in images]).decode_image("image").batch(2))
        kept = [batch["image"] for batch in iterator]
        for array in kept:
            self.assertEqual(array.ctypes.data % 64, 0)
            self.assertTrue(array.flags.writeable and array.flags.c_contiguous)
        np.testing.assert_array_equal(np.concatenate(kept), images)
        self.assertEqual(iterator.stats()["batches_held"], 32)

    def test_channels(self):
        color = self.random_images(2)
        grey = self.random_images(2, (8, 6, 1))
        dataset = self.parsed([png(i) for i in grey])
        np.testing.assert_array_equal(
            next(iter(dataset.decode_image("image").batch(2)))["image"], np.repeat(grey, 3, axis=3)
        )
        own = next(iter(dataset.decode_image("image", channels=0).batch(2)))["image"]
        np.testing.assert_array_equal(own, grey)
        alpha = self.parsed([png(i) for i in color], "b").decode_image("image", channels=4)
        self.assertTrue((next(iter(alpha.batch(2)))["image"][..., 3] == 255).all())
        with self.assertRaisesRegex(ValueError, "channels"):
            dataset.decode_image("image", channels=2)

    def test_jpeg_files(self):
        dataset = self.parsed([grey_jpeg(160), grey_jpeg(178)])
        batch = next(iter(dataset.decode_image("image").batch(2)))["image"]
        self.assertEqual(batch.shape, (2, 8, 8, 3))
        self.assertTrue((batch[0] == 160).all() and (batch[1] == 178).all())

    def test_raw_pixels_of_both_layouts(self):
        images = self.random_images(5)
        hwc = self.parsed([i.tobytes() for i in images]).decode_raw("image", [8, 6, 3])
        chw = self.parsed([i.transpose(2, 0, 1).tobytes() for i in images], "chw").decode_raw(
            "image", [3, 8, 6], layout="NCHW"
        )
        for dataset in (hwc, chw):
            np.testing.assert_array_equal(next(iter(dataset.batch(5)))["image"], images)
            planes = dataset.image_format("image", np.float32, layout="NCHW")
            batch = next(iter(planes.batch(5)))["image"]
            self.assertEqual(batch.dtype, np.float32)
            np.testing.assert_array_equal(batch, images.transpose(0, 3, 1, 2))
            half = next(iter(dataset.image_format("image", "float16").batch(5)))["image"]
            self.assertEqual(half.dtype, np.float16)
            np.testing.assert_array_equal(half, images)

    def test_images_of_several_sizes(self):
        small, large = self.random_images(2, (4, 5, 3)), self.random_images(2, (7, 9, 3))
        files = [png(i) for i in (*small, *large)]
        dataset = self.parsed(files).decode_image("image")
        path = str(self.folder / "images.tfrecord")
        offset = sum(
            16 + len(records.example({"image": [f], "label": [i]})) for i, f in enumerate(files[:2])
        )
        iterator = iter(dataset.batch(4))
        with self.assertRaises(rp.UnsupportedError) as caught:
            next(iterator)
        self.assertEqual((caught.exception.path, caught.exception.offset), (path, offset))
        self.assertIn("7x9x3", str(caught.exception))
        self.assertEqual([b["image"].shape[1:] for b in dataset.batch(2)], [(4, 5, 3), (7, 9, 3)])
        shapes = [(4, 5, 3)] * 2 + [(7, 9, 3)] * 2
        self.assertEqual([row["image"].shape for row in dataset], shapes)
        for sizes in (None, "padded", "list"):
            by_number = dataset.image_format("image", sizes=sizes)[:]
            self.assertEqual([row["image"].shape for row in by_number], shapes)

        cropped = next(iter(dataset.resize_with_crop_or_pad("image", 5, 5).batch(4)))["image"]
        np.testing.assert_array_equal(cropped[0], np.pad(small[0], ((0, 1), (0, 0), (0, 0))))
        np.testing.assert_array_equal(cropped[2], large[0][1:6, 2:7])

    def test_two_images_of_a_record(self):
        images = self.random_images(6)
        path = records.write(
            self.folder / "pairs",
            [records.example({"left": [png(i)], "right": [i[::-1].tobytes()]}) for i in images],
        )
        batch = next(
            iter(
                rp.tfrecords(path)
                .parse({key: rp.FixedLenFeature([], "bytes") for key in ("right", "left")})
                .decode_image("left")
                .decode_raw("right", [8, 6, 3])
                .pad_crop_flip("right", 2, seed=1)
                .pad_crop_flip("left", 2, seed=1)
                .batch(6)
            )
        )
        self.assertEqual(list(batch), ["right", "left"])
        for i, image in enumerate(images):
            # The streams count the random operators before them, in the order of the images.
            np.testing.assert_array_equal(
                batch["left"][i], pad_crop_flip(image, 2, drawn(1, 0, i, stream=0))
            )
            np.testing.assert_array_equal(
                batch["right"][i], pad_crop_flip(image[::-1], 2, drawn(1, 0, i, stream=1))
            )


class Distort(Images):
    def test_pad_crop_flip_is_numpys(self):
        images = self.random_images(40)
        dataset = self.parsed([i.tobytes() for i in images]).decode_raw("image", [8, 6, 3])
        distorted = dataset.pad_crop_flip("image", 2, seed=9).repeat(2).batch(40)
        for epoch, batch in enumerate(distorted):
            expected = [pad_crop_flip(i, 2, drawn(9, epoch, n)) for n, i in enumerate(images)]
            np.testing.assert_array_equal(batch["image"], expected)

    def test_decoded_images_have_the_same_crops(self):
        images = self.random_images(20)
        raw = self.parsed([i.tobytes() for i in images]).decode_raw("image", [8, 6, 3])
        coded = self.parsed([png(i) for i in images], "coded").decode_image("image")
        for change in (
            lambda d: d.pad_crop_flip("image", 3, seed=2),
            lambda d: d.crop_flip_color("image", 5, 4, seed=2),
            lambda d: d.resize_with_crop_or_pad("image", 5, 10).normalize("image", 3, (1, 2, 3)),
        ):
            a, b = (next(iter(change(d).batch(20)))["image"] for d in (raw, coded))
            np.testing.assert_array_equal(a, b)

    def test_crop_flip_color_is_numpys(self):
        images = self.random_images(20)
        dataset = self.parsed([i.tobytes() for i in images]).decode_raw("image", [8, 6, 3])
        for standardize in (False, True):
            batch = next(
                iter(
                    dataset.crop_flip_color(
                        "image", 5, 4, seed=3, max_brightness=20, standardize=standardize
                    ).batch(20)
                )
            )
            self.assertEqual(batch["image"].dtype, np.float32)
            for n, image in enumerate(images):
                numbers = drawn(3, 0, n)
                more = philox([1, 0, n, 0], _words(derive_key(3, 0)))
                top, left = numbers[0] * 4 >> 32, numbers[1] * 3 >> 32
                crop = image[top : top + 5, left : left + 4].astype(np.float64)
                if numbers[2] >> 31:
                    crop = crop[:, ::-1]
                brightness = (2 * (numbers[3] >> 8) / 2**24 - 1) * 20
                contrast = 0.2 + (more[0] >> 8) / 2**24 * 1.6
                means = crop.mean((0, 1))
                expected = (crop - means) * contrast + means + brightness
                if standardize:
                    expected = (expected - expected.mean()) / expected.std()
                np.testing.assert_allclose(batch["image"][n], expected, atol=1e-3)

    def test_normalize_is_numpys(self):
        images = self.random_images(6)
        dataset = self.parsed([i.tobytes() for i in images]).decode_raw("image", [8, 6, 3])
        mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
        batch = next(iter(dataset.normalize("image", mean, std, scale=1 / 255).batch(6)))
        f = np.float32
        expected = (images.astype(f) * f(1 / 255) - np.array(mean, f)) / np.array(std, f)
        np.testing.assert_array_equal(batch["image"], expected)
        standard = next(iter(dataset.per_image_standardization("image").batch(6)))["image"]
        np.testing.assert_allclose(standard.mean((1, 2, 3)), 0, atol=1e-6)
        np.testing.assert_allclose(standard.std((1, 2, 3)), 1, atol=1e-6)


class Compose(Images):
    def setUp(self):
        super().setUp()
        self.images = self.random_images(50)
        self.dataset = (
            self.parsed([i.tobytes() for i in self.images])
            .decode_raw("image", [8, 6, 3])
            .pad_crop_flip("image", 2, seed=5)
        )

    def test_rows_batched_in_python_equal_batches(self):
        for order in (lambda d: d, lambda d: d.shuffle(16, seed=1).repeat(2).shard(2, 1)):
            ordered = order(self.dataset)
            expected = list(ordered.batch(8))
            stacked = list(ordered.map(lambda row: row).batch(8))
            self.assertEqual(len(expected), len(stacked))
            for a, b in zip(expected, stacked, strict=True):
                for key in a:
                    self.assertEqual(a[key].dtype, b[key].dtype)
                    np.testing.assert_array_equal(a[key], b[key])

    def test_threads_and_prefetch_change_nothing(self):
        expected = list(self.dataset.shuffle(seed=2).batch(8).with_options(threads=1))
        for threads in (2, 4):
            dataset = self.dataset.shuffle(seed=2).batch(8).prefetch(3)
            for a, b in zip(expected, dataset.with_options(threads=threads), strict=True):
                np.testing.assert_array_equal(a["image"], b["image"])

    def test_a_state_resumes_and_another_plan_is_refused(self):
        dataset = self.dataset.shuffle(16, seed=2).batch(8)
        iterator = iter(dataset)
        for _ in range(3):
            next(iterator)
        state = iterator.state_dict()
        resumed = iter(pickle.loads(pickle.dumps(dataset)))
        resumed.load_state_dict(state)
        for a, b in zip(iterator, resumed, strict=True):
            np.testing.assert_array_equal(a["image"], b["image"])
        other = self.dataset.image_format("image", layout="NCHW").shuffle(16, seed=2).batch(8)
        with self.assertRaises(rp.InvalidArgumentError):
            iter(other).load_state_dict(state)

    def test_images_are_no_arrow_columns(self):
        for dataset in (self.dataset, self.dataset.batch(4), self.dataset.shuffle(seed=1)):
            for call in (dataset.__arrow_c_schema__, dataset.__arrow_c_stream__):
                with self.assertRaisesRegex(rp.UnsupportedError, "column 'image': .* RawFeature"):
                    call()

    def test_random_images_have_no_random_access(self):
        with self.assertRaisesRegex(TypeError, "by number"):
            self.dataset[0]
        plain = self.parsed([i.tobytes() for i in self.images]).decode_raw("image", [8, 6, 3])
        np.testing.assert_array_equal(plain[7]["image"], self.images[7])
        self.assertEqual(plain.__getitems__([3, 1])[1]["label"], 1)

    def test_epochs_differ_and_a_second_pass_warns(self):
        first, second = (
            np.concatenate([b["image"] for b in self.dataset.epoch(e).batch(8)]) for e in (0, 1)
        )
        self.assertTrue((first != second).any())
        dataset = self.dataset.batch(8)
        list(dataset)
        with self.assertWarnsRegex(UserWarning, "epoch"):
            next(iter(dataset))

    def test_the_plan_names_the_operators(self):
        self.assertIn(
            "decode_raw('image', height=8, width=6, channels=3, layout='nhwc')\n"
            "pad_crop_flip('image', pad=2, seed=5)\n",
            self.dataset.batch(8).explain(),
        )


class Errors(Images):
    def test_wrong_calls_say_what_to_do(self):
        parsed = self.parsed([b"x"])
        image = parsed.decode_image("image")
        for call, words in (
            (lambda: parsed.pad_crop_flip("image"), "decode_image"),
            (lambda: parsed.decode_image("label"), "FixedLenFeature"),
            (lambda: parsed.decode_image("absent"), "no feature 'absent'"),
            (lambda: rp.tfrecords(__file__).decode_image("image"), "need the features of parse"),
            (lambda: parsed.batch(2).decode_image("image"), "need the features of parse"),
            (lambda: image.decode_image("image"), "already"),
            (lambda: image.pad_crop_flip("image").pad_crop_flip("image"), "already"),
            (lambda: image.normalize("image").normalize("image"), "already"),
            (lambda: image.normalize("image").pad_crop_flip("image"), "after its norm"),
            (lambda: image.normalize("image", (1, 2)), "2 means"),
            (lambda: image.normalize("image", 0, 0), "above 0"),
            (
                lambda: image.normalize("image", (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
                "scale=",
            ),
            (lambda: image.normalize("image", 0.5, 0.5), "scale="),
            (lambda: image.normalize("image", 0, 1 / 255), "scale="),
            (lambda: image.normalize("image", 2).image_format("image", "uint8"), "uint8"),
            (lambda: image.crop_flip_color("image", 4, 4, min_contrast=-1), "min_contrast"),
            (lambda: image.image_format("image", "int64"), "dtype"),
            (lambda: image.image_format("image", layout="CHW"), "layout"),
            (lambda: image.resize_with_crop_or_pad("image", 0, 4), "height"),
            (lambda: parsed.decode_raw("image", [3, 3]), "three sizes"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                call()

    def test_bad_files_name_their_record(self):
        good = png(self.random_images(1)[0])
        for bad, error in (
            (b"not an image", rp.UnsupportedError),
            (good[:60], rp.DataLossError),
            (b"", rp.Error),
        ):
            path = self.write([good, bad, good], "bad")
            dataset = rp.tfrecords(path).parse(FEATURES).decode_image("image")
            with self.assertRaisesRegex(error, "image 'image'") as caught:
                list(dataset.batch(1))
            self.assertEqual(caught.exception.path, str(path))
            self.assertGreater(caught.exception.offset, 0)
            labels = [b["label"].tolist() for b in dataset.batch(1).ignore_errors()]
            self.assertEqual(labels, [[0], [2]])
            # Before batch(), only the row is left out, and image operators still join in.
            for rows in (
                dataset.ignore_errors(),
                dataset.pad_crop_flip("image", 2, seed=1).ignore_errors().image_format("image"),
                dataset.shard(1, 0).ignore_errors(),
            ):
                (batch,) = rows.batch(4)
                self.assertEqual(batch["label"].tolist(), [0, 2])
                self.assertEqual([row["label"] for row in rows], [0, 2])

    def test_a_large_image_is_refused_before_it_is_decoded(self):
        huge = png(np.zeros((300, 300, 3), np.uint8))
        dataset = self.parsed([huge]).decode_image("image", max_pixels=1000)
        with self.assertRaises(rp.LimitExceededError):
            list(dataset.batch(1))

    def test_other_sizes_of_raw_pixels_and_crops(self):
        raw = self.parsed([b"1234"]).decode_raw("image", [2, 2, 3])
        with self.assertRaisesRegex(rp.UnsupportedError, "4 bytes, not the 12"):
            list(raw.batch(1))
        small = self.parsed([png(self.random_images(1)[0])], "small").decode_image("image")
        with self.assertRaisesRegex(rp.UnsupportedError, "20x20"):
            list(small.crop_flip_color("image", 20, 20).batch(1))


def _words(key):
    return key & 0xFFFFFFFF, key >> 32


if __name__ == "__main__":
    unittest.main()
