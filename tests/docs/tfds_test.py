#!/usr/bin/env python3
"""Runs the code of docs/tfds.md: its Python block, the table "From tfds.load", the splits and the
operators, on a small data set.

The left column of the table is run, and the elements compared, if TensorFlow Datasets is installed.
The C++ block must be in tests/tfds/load_test.cc. Needs the Python package: PYTHONPATH.
"""
import contextlib
import importlib.util
import io
import os
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/python"))

import numpy as np  # noqa: E402
import recordpipe as rp  # noqa: E402
import records  # noqa: E402
import tfds_sets as sets  # noqa: E402
from recordpipe._notebook.cells import encode_png  # noqa: E402

PAGE = ROOT / "docs/tfds.md"
LENGTHS, VALIDATION = (30, 0, 40, 10, 27), 9  # of the files of "train"; of "val"
LABELS = ["cat", "dog", "owl"]
# What the code in the left cells needs around it to be elements. {} is the code.
LOADED = 'tfds.load("pictures", split={}, data_dir="data"{})'
WRAPPED = [
    (r"tfds\.as_numpy\(ds\)", "{}"),
    (r"decoders=", LOADED.format('"train"', ", {}")),
    (r"ReadConfig\(", LOADED.format('"train"', ", read_config=tfds.{}")),
    (r"shuffle_files=True", LOADED.format('"train"', ", {}")),
    (r"tfds\.core\.ReadInstruction\(", LOADED.format("{}", "")),
]


def section(title):
    page = PAGE.read_text(encoding="utf-8")
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)[1]


def code(text):
    """The pieces of code in a paragraph; a line may end within one."""
    return [" ".join(piece.split()) for piece in re.findall(r"`([^`]+)`", text)]


def plain(value):
    if hasattr(value, "as_numpy_iterator"):
        value = value.as_numpy_iterator()
    if isinstance(value, dict):
        return {name: plain(member) for name, member in sorted(value.items())}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (str, bytes, int)):
        return value
    return [plain(element) for element in value]


class Tfds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        features = sets.tree(image=sets.image(None, None, 3), label=sets.label(3),
                             observation=sets.tree(image=sets.image(None, None, 3)),
                             objects=sets.sequence(sets.tree(crop=sets.image(None, None, 3))))
        numbers = iter(range(1000))
        splits = {name: [[self.example(next(numbers)) for _ in range(length)] for length in lengths]
                  for name, lengths in (("train", LENGTHS), ("val", [VALIDATION]))}
        self.folder = sets.write("data", features, splits, "pictures")
        (self.folder / "label.labels.txt").write_text("\n".join(LABELS))

    @staticmethod
    def example(i):
        image = encode_png(sets.pixels(12 + i % 3, 16 - i % 5, i))
        return records.example({"image": [image], "label": [i % 3], "observation/image": [image],
                                "objects/crop": [image] * (i % 3 + 1)})

    def test_python(self):
        block, = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"),
                            re.DOTALL | re.MULTILINE)
        trained = []
        names = {"train": lambda *tensors: trained.append(tensors)}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102 (our own page)
        for part in ("train", "val", "image", "label", "owl"):
            self.assertIn(part, printed.getvalue())
        image, label = trained[0]
        self.assertEqual((image.dtype, image.shape), (np.uint8, (64, 224, 224, 3)))
        self.assertEqual((label.dtype, label.shape), (np.int64, (64,)))
        self.assertEqual(sum(len(label) for _, label in trained), 86)  # of 107; 85.6

    def test_table(self):
        """Each right cell that is code; beside TFDS, with the elements of the left one."""
        names = {"rp": rp, "folder": self.folder, "ds": rp.tfds(self.folder)}
        theirs = self.tfds_names()
        rows = [line.strip("| ").split(" | ") for line in section("From tfds.load").splitlines()
                if line.startswith("| `")]
        self.assertEqual(len(rows), 8)
        for left, right in rows:
            with self.subTest(right):
                piece = next(iter(code(right)), "")
                ours = (f"rp.tfds(folder, {piece})" if piece.startswith(('"', "decode_images"))
                        else piece or "ds")
                mine = plain(eval(ours, dict(names)))  # noqa: S307
                if theirs:
                    self.check_same(mine, plain(self.their_value(left, theirs)), left)
        if not theirs:
            self.skipTest("our column works; TensorFlow Datasets is not installed")

    def check_same(self, mine, theirs, left):
        if "shuffle" in left:
            self.assertNotEqual(mine, theirs)
            mine, theirs = (sorted(map(repr, both)) for both in (mine, theirs))
        elif "as_numpy" not in left and "ReadConfig" not in left and isinstance(mine, list):
            # TFDS interleaves files, as the page says.
            mine, theirs = (sorted(map(repr, both)) for both in (mine, theirs))
        self.assertEqual(mine, theirs)

    def tfds_names(self):
        if importlib.util.find_spec("tensorflow_datasets") is None:
            return None
        import tensorflow_datasets as tfds
        in_order = tfds.ReadConfig(interleave_cycle_length=1)
        return {"tfds": tfds, "builder": tfds.builder_from_directory(self.folder),
                "ds": tfds.load("pictures", split="train", data_dir="data", read_config=in_order)}

    def their_value(self, left, names):
        first, *operators = code(left)
        for pattern, around in WRAPPED:
            if re.match(pattern, first):
                first = around.format(first)
        value = eval(first, dict(names))  # noqa: S307
        for operator in operators:
            value = eval(operator, {"ds": value})  # noqa: S307
        return value

    def test_splits(self):
        listed = section("Splits").split("\n\n")[0]
        lengths = {"train": 107, "train[10:20]": 10, "train[-5:]": 5, "train[:80%]": 86,
                   "train[:4shard]": 80, "train[2shard]": 40, "all": 116, "train[90%:]+val": 20}
        self.assertEqual([split.strip('"') for split in code(listed)], list(lengths))
        for split, length in lengths.items():
            self.assertEqual(len(rp.tfds(self.folder, split)), length, split)

    def test_a_part_of_a_data_set(self):
        """What "Splits" says about missing files."""
        last = next(self.folder.glob("*train*-00004-of-*"))
        last.unlink()
        self.assertEqual(len(list(rp.tfds(self.folder, "train[:4shard]"))), 80)
        with self.assertRaises(rp.NotFoundError):
            rp.tfds(self.folder, "train")

    def test_operators_of_images(self):
        operators = [piece for piece in code(section("Elements"))
                     if re.match(r"ds\.\w+\(", piece)]
        self.assertEqual(len(operators), 4)
        for operator in operators:
            ds = eval(operator, {"ds": rp.tfds(self.folder)})  # noqa: S307
            name = re.search(r'"([^"]+)"', operator)[1]
            batch = next(iter(ds.batch(4)))
            for part in name.split("/"):
                batch = batch[part]
            if name == "objects/crop":
                self.assertEqual([len(row) for row in batch], [1, 2, 3, 1])
                batch = batch.values
            self.assertEqual((batch.dtype, batch.ndim), (np.uint8, 4), operator)

    def test_cpp(self):
        """The block is in a test, but for its #includes, the indentation and line breaks."""
        block, = re.findall(r"^```cpp\n(.*?)^```", PAGE.read_text(encoding="utf-8"),
                            re.DOTALL | re.MULTILINE)
        tested = (ROOT / "tests/tfds/load_test.cc").read_text(encoding="utf-8")
        headers, statements = block.split("\n\n")
        for header in re.findall(r"#include \S+", headers):
            self.assertIn(header, tested)
        self.assertIn(" ".join(statements.split()), " ".join(tested.split()))


if __name__ == "__main__":
    unittest.main()
