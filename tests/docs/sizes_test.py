#!/usr/bin/env python3
"""Tests that trainer/README.md gives the sizes that the trainer has, within 10%.

Run by CTest.
"""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TRAINER = ROOT / "trainer"
HEADERS = TRAINER / "include/recordpipe/trainer"
PAGE = TRAINER / "README.md"


def lines_of(paths):
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def sources_below(folder):
    """Returns the sources in a folder, also in its subfolders unless its name ends with /*."""
    pattern = "*" if folder.endswith("/*") else "**/*"
    return [path for base in (TRAINER, HEADERS)
            for path in (base / folder.removesuffix("/*")).glob(pattern)
            if path.suffix in (".h", ".cc", ".cu")]


def section(page, title):
    return re.search(rf"^## {title}$(.*?)^## ", page, re.MULTILINE | re.DOTALL)[1]


def number(text):
    return int(text.replace(",", ""))


class Sizes(unittest.TestCase):
    def expect_near(self, said, lines, what):
        self.assertLess(abs(said - lines), 0.1 * lines, f"{what}: {lines} lines, not {said}")

    def test_of_the_files_to_read(self):
        text = section(PAGE.read_text(encoding="utf-8"), "Reading order")
        parts = text.split("\n### ")[1:]
        self.assertEqual(len(parts), 2)
        for part in parts:
            files = {TRAINER / link for link in re.findall(r"\]\(([^)#]+)\)", part)
                     if not link.startswith("..")}
            self.assertGreater(len(files), 5)
            said = number(re.search(r"([\d,]+) lines", part)[1])
            self.expect_near(said, lines_of(files), part.splitlines()[0])

    def test_of_the_parts(self):
        text = section(PAGE.read_text(encoding="utf-8"), "Size")
        rows = re.findall(r"^\| .* \| (.*) \| ([\d,]+) \|$", text, re.MULTILINE)
        self.assertGreater(len(rows), 7)
        for folders, said in rows:
            files = [path for folder in folders.split(", ") for path in sources_below(folder)]
            self.expect_near(number(said), lines_of(files), folders)


if __name__ == "__main__":
    unittest.main()
