#!/usr/bin/env python3
"""tfrecord create of folders of images and of CIFAR's archives."""
import os
import struct
import unittest

from tfrecord_create_case import CreateTest, png
from tfrecord_test_case import DATA, named_example, record


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


if __name__ == "__main__":
    unittest.main()
