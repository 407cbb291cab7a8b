#!/usr/bin/env python3
"""Tests tfrecord convert --resize: smaller images, the same on any number of threads; broken ones."""
import base64
import json
import os
import struct
import unittest
import zlib

from png_pixels import png_pixels
from tfrecord_test_case import DATA, TfrecordTest, named_example


def png(width, height, value=0):
    """A grey PNG with a gradient."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(
            ">I", zlib.crc32(kind + body))
    rows = b"".join(b"\0" + bytes((x + y + value) % 256 for x in range(width))
                    for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def jpeg_size(data):
    """Height and width of a baseline JPEG file."""
    at = 2
    while data[at + 1] != 0xC0:
        at += 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
    return struct.unpack(">HH", data[at + 5:at + 9])


class Resize(TfrecordTest):
    def features(self, name):
        """The features of all records; bytes are bytes."""
        def plain(values):
            return [base64.b64decode(value["base64"]) if isinstance(value, dict) else value
                    for value in values]
        return [{key: plain(values) for key, values in json.loads(line)["features"].items()}
                for line in self.run_it("export", name, "-o", "-", "--to", "json").splitlines()]

    def test_the_short_side(self):
        jpeg = (DATA / "images" / "rgb420.jpg").read_bytes()
        height, width = jpeg_size(jpeg)
        self.write("a", named_example({"image/encoded": [jpeg], "image/height": [height],
                                       "image/width": [width], "label": [3]}),
                   named_example({"image/encoded": [png(40, 30)], "image/height": [30],
                                  "image/width": [40]}),
                   named_example({"image/encoded": [png(7, 5)], "image/height": [5]}))
        self.assertRegex(self.summary("convert", "a", "-o", "b", "--resize", 8), "^wrote 3 records")
        first, second, third = self.features("b")
        short = min(height, width)
        size = (height * 8 // short, width * 8 // short)
        self.assertEqual(jpeg_size(first["image/encoded"][0]), size)
        self.assertEqual((first["image/height"], first["image/width"], first["label"]),
                         ([size[0]], [size[1]], [3]))
        self.assertEqual(png_pixels(second["image/encoded"][0])[:3], (10, 8, 1))
        self.assertEqual((second["image/height"], second["image/width"]), ([8], [10]))
        self.assertEqual(third, {"image/encoded": [png(7, 5)], "image/height": [5]})
        self.run_it("convert", "a", "-o", "c", "--resize", 8, "--quality", 30)
        self.assertLess(len(self.features("c")[0]["image/encoded"][0]),
                        len(first["image/encoded"][0]))

    def test_named_features_with_any_number_of_images(self):
        self.write("a", named_example({"left": [png(20, 10), png(30, 40)], "right": [png(20, 20)]}),
                   named_example({"left": [png(9, 9)]}))
        self.run_it("convert", "a", "-o", "b", "--resize", 5, "--image", "left,right")
        first, second = self.features("b")
        self.assertEqual([png_pixels(image)[:2] for image in first["left"]], [(10, 5), (5, 6)])
        self.assertEqual(png_pixels(first["right"][0])[:2], (5, 5))
        self.assertEqual(png_pixels(second["left"][0])[:2], (5, 5))
        self.assertIn("no record has a feature named midle; there are right, left",
                      self.run_it("convert", "a", "-o", "c", "--resize", 5, "--image", "midle",
                                  status=2))

    def many(self):
        return self.write("many", *[named_example({"image": [png(20 + i % 9, 30, i)], "id": [i]})
                                    for i in range(400)])

    def test_the_same_bytes_on_any_number_of_threads(self):
        self.many()
        outputs = []
        for threads in (1, 2, 5):
            self.run_it("convert", "many", "-o", "b", "--resize", 9, "--threads", threads)
            outputs.append((self.folder / "b").read_bytes())
        self.assertEqual(outputs, outputs[:1] * 3)
        # As shards, whose records are counted first, and in a random order.
        self.run_it("convert", "many", "-o", "s", "--resize", 9, "--shards", 3)
        shards = [f"s-0000{i}-of-00003" for i in range(3)]
        self.assertEqual(b"".join((self.folder / name).read_bytes() for name in shards), outputs[0])
        self.run_it("convert", "many", "-o", "c", "--resize", 9, "--shuffle", "--seed", 7)
        self.assertEqual(sorted(record["id"] for record in self.features("c")),
                         [[i] for i in range(400)])
        self.assertEqual({min(png_pixels(record["image"][0])[:2]) for record in self.features("c")},
                         {9})

    def test_broken_images(self):
        records = [named_example({"image": [png(20, 10)], "id": [0]}),
                   named_example({"image": [png(20, 10)[:-30]], "id": [1]}),
                   named_example({"image": [b"GIF89a"], "id": [2]}),
                   named_example({"id": [3]}),
                   named_example({"image": [png(10, 10)], "id": [4]})]
        self.write("a", *records)
        offsets = [0]
        for record in records:
            offsets.append(offsets[-1] + len(record) + 16)
        error = self.run_it("convert", "a", "-o", "b", "--resize", 5, status=2)
        self.assertRegex(error, rf"a: feature image: PNG: .* in the record at {offsets[1]}")
        self.assertFalse((self.folder / "b").exists())
        for threads in (1, 3):
            result = self.start("convert", "a", "-o", "b", "--resize", 5, "--skip-corrupt",
                                "--threads", threads)
            self.assertEqual(result.returncode, 0, result.stderr.decode())
            lines = result.stderr.decode().splitlines()
            self.assertEqual(len(lines), 5, lines)
            for line, offset in zip(lines, offsets[1:4]):
                self.assertRegex(line, rf"^tfrecord convert: skipped a record: a: .*at {offset}\b")
            self.assertEqual(lines[3], "tfrecord convert: skipped 3 records with a broken image")
            self.assertEqual([record["id"] for record in self.features("b")], [[0], [4]])
        summary = json.loads(self.run_it("convert", "a", "-o", "b", "--resize", 5, "--skip-corrupt",
                                         "--shards", 2, "--json"))
        self.assertEqual((summary["records_skipped"], summary["regions_skipped"]), (3, 0))
        self.assertEqual([file["records"] for file in summary["files"]], [1, 1])

    def test_intact_records_are_no_broken_images(self):
        """--skip-corrupt doesn't leave out what --resize can't edit for another reason."""
        image = named_example({"image": [png(20, 10)]})
        for other, why in ((image + b"\x2a\x01x", "field 5 of an Example"), (b"foo", "not a tf.train.Exa")):
            self.write("a", image, other)
            for kind in ([], ["--kind", "example"]):
                self.expect_failure(why, "convert", "a", "-o", "b", "--resize", 5, "--skip-corrupt",
                                    *kind)
                self.assertFalse((self.folder / "b").exists())

    def test_sixteen_bits_are_not_thrown_away(self):
        self.write("a", named_example({"image": [(DATA / "images/grey16.png").read_bytes()]}))
        self.run_it("convert", "a", "-o", "b", "--resize", 2)
        (image,) = self.features("b")[0]["image"]
        self.assertEqual(image[12:16], b"IHDR")
        self.assertEqual(image[24], 16)  # bits of a channel

    def test_the_output_may_not_replace_an_input(self):
        self.many()
        self.assertIn("many", self.run_it("convert", "many", "-o", "many", "--resize", 9, status=2))

    def test_usage(self):
        self.write("a")
        for arguments in (["--quality", 80], ["--image", "a"], ["--resize", 0],
                          ["--resize", 9, "--quality", 0], ["--resize", 9, "--quality", 101],
                          ["--resize", "small"]):
            with self.subTest(arguments):
                self.run_it("convert", "a", "-o", "b", *arguments, status=2)
        self.assertFalse(os.path.exists(self.folder / "b"))


if __name__ == "__main__":
    unittest.main()
