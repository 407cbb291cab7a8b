#!/usr/bin/env python3
"""Runs all code blocks of docs/photographs.md, one after another, on small images.

Needs the Python package: PYTHONPATH.
"""
import os
import pathlib
import re
import tempfile
import unittest

import recordpipe as rp

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/photographs.md"
IMAGES = ("rgb420.jpg", "rgb444.jpg", "rgb8.png", "grey.jpg")


class Photographs(unittest.TestCase):
    def test_all_code_blocks(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        files = [(ROOT / "data/images" / name).read_bytes() for name in IMAGES]
        examples = [{"image/encoded": file, "image/class/label": i % 10}
                    for i, file in enumerate(files * 20)]
        os.mkdir("sets")
        rp.write_tfrecords("sets/train-00000-of-00001", examples)
        rp.write_tfrecords("sets/validation-00000-of-00001", examples[:8])
        blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"),
                            re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 3)
        names = {}
        for block in blocks:
            exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102
        batch = next(iter(names["ds"]))
        self.assertEqual(batch["image/encoded"].shape, (64, 3, 224, 224))
        self.assertEqual(batch["image/encoded"].dtype, "float32")
        self.assertEqual(batch["image/class/label"].shape, (64,))
        batch = next(iter(names["evaluation"]))
        self.assertEqual(batch["image/encoded"].shape, (8, 224, 224, 3))
        # Of the last batch: as many valid pixels as the images have.
        sizes = names["batch"]["image/encoded/size"]
        self.assertEqual(names["valid"].sum(), sizes.prod(axis=1).sum())
        self.assertEqual(names["valid"].shape, names["batch"]["image/encoded"].shape[:3])


if __name__ == "__main__":
    unittest.main()
