#!/usr/bin/env python3
"""Tests tfrecord create from folders of images and from CIFAR archives."""
import os
import re
import struct
import subprocess
import tarfile
import unittest

from started import Started
from tfrecord_create_case import CreateTest, png
from tfrecord_test_case import DATA, PROGRAM, named_example, record


class ImageFolder(CreateTest):
    def setUp(self):
        super().setUp()
        for name in ("dog", "cat", "empty", ".hidden"):
            (self.folder / "d" / name).mkdir(parents=True)
        self.text("d/dog/2.png", png(3, 2))
        self.text("d/cat/1.PNG", png(5, 4))
        self.text("d/cat/gif.jpg", b"GIF89a....")
        self.text("d/cat/notes.txt", "no image")
        self.text("d/.hidden/3.png", png(1, 1))
        self.text("d/readme.md", "no class")

    def example(self, name, content, label, kind, **size):
        return {"image/class/label": [label], "image/class/text": [name.split("/")[0]],
                "image/encoded": [content], "image/filename": [name], "image/format": [kind],
                **{f"image/{key}": [value] for key, value in size.items()}}

    def test_classes(self):
        self.created("d", expected=[named_example(example) for example in (
            self.example("cat/1.PNG", png(5, 4), 0, "png", height=4, width=5),
            self.example("cat/gif.jpg", b"GIF89a....", 0, "gif"),
            self.example("dog/2.png", png(3, 2), 1, "png", height=2, width=3))])

    def said(self):
        return self.notes("create", "d", "-o", "out")

    def test_what_is_left_out_is_said(self):
        words = ("which are hidden or not named as images of a class are: .hidden, readme.md, "
                 "cat/notes.txt")
        self.assertEqual(self.said(), "tfrecord create: left out 3 of the files and folders in d, "
                                      f"{words}\n")
        (self.folder / "d/dog/deep.png").mkdir()
        self.assertEqual(self.said(), "tfrecord create: left out 4 of the files and folders in d, "
                                      f"{words}, ...\n")
        for name in (".hidden", "readme.md", "cat/notes.txt", "dog/deep.png"):
            (self.folder / "d" / name).rename(self.folder / name.replace("/", "-"))
        self.assertEqual(self.said(), "")

    def test_images_without_a_readable_header_are_said(self):
        (self.folder / "e/cat").mkdir(parents=True)
        self.text("e/cat/1.png", png(3, 2)[:12])
        self.text("e/cat/2.gif", "GIF89a")
        self.assertEqual(self.notes("create", "e", "-o", "out"),
                         "tfrecord create: 1 image whose header can't be read, and so without "
                         "image/height and image/width: cat/1.png\n")

    def test_an_image_that_is_gone_when_its_turn_comes(self):
        for i in range(10):
            self.text(f"d/cat/{i}.png", png(3, 2, bytes(100_000)))
        with Started([PROGRAM, "create", "d", "-o", "-"], cwd=self.folder,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.read(1)  # the program waits: the output exceeds a pipe's buffer
            os.remove(self.folder / "d/dog/2.png")
            self.text("d/dog/3.png", png(1, 1))
            _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 2)
        self.assertIn(b"tfrecord create: d/dog/2.png: open failed: No such file", errors)

    def test_links_that_lead_out(self):
        self.text("secret.png", png(1, 1))
        os.symlink("../../secret.png", self.folder / "d/cat/0.png")
        self.refused("d/cat/0.png: a link that leads out of d", "d")
        os.remove(self.folder / "d/cat/0.png")
        (self.folder / "other").mkdir()
        os.symlink("../other", self.folder / "d/bird")
        self.refused("d/bird: a link that leads out of d", "d")
        os.remove(self.folder / "d/bird")
        os.symlink("1.PNG", self.folder / "d/cat/same.png")  # stays inside
        self.run_it("create", "d", "-o", "out")

    def test_what_is_refused(self):
        self.text("d/dog/x.png", "no image")
        self.refused("d/dog/x.png: not an image", "d")
        for options in ([], ["--from", "images"]):
            self.refused("d/dog/x.png is no folder", "d/dog/x.png", *options, status=2)
        (self.folder / "e").mkdir()
        self.refused("e: no images", "e")
        self.refused("one folder of images at a time", "d", "e", status=2)


class Cifar(CreateTest):
    def test_archive(self):
        for name, features in (("cifar10-binary-ustar.tar", 2), ("cifar10-python-pax.tar", 2),
                               ("cifar100-binary-gnu.tar", 4)):
            self.run_it("create", DATA / "archives" / name, "-o", "out")
            content = (self.folder / "out").read_bytes()
            length, = struct.unpack_from("<Q", content)
            self.assertEqual(content[:16 + length], record(content[12:12 + length]))
            self.assertIn(b"\x0a\x05image\x12", content[:30 + 30 * (features > 2) * 3])
            self.assertEqual(content[:16 + length].count(b"label"), features - 1)

    def test_the_order_of_batches_is_said(self):
        """A test batch may be the first, or between the others."""
        archive = DATA / "archives" / "cifar10-python-pax.tar"
        with tarfile.open(archive) as tar:
            names = [name.rsplit("/", 1)[-1] for name in tar.getnames() if "_batch" in name]
        for options in ([], ["--shards", "2"]):  # reported once, however often the input is read
            errors = self.notes("create", archive, "-o", "out", *options)
            self.assertEqual(errors.count("\n"), 1)
            self.assertIn("training and test images together, in the archive's order: ", errors)
            self.assertEqual(re.findall(r"(\w+) \([0-9,]+\)", errors), names)


if __name__ == "__main__":
    unittest.main()
