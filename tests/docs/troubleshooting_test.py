#!/usr/bin/env python3
"""Tests that the messages of docs/troubleshooting.md are those of the sources.

A message is the code of a heading; each part of it between two "…" must be in a string of the
library, the programs or the Python package.
"""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/troubleshooting.md"
FOREIGN = {"Couldn't connect to server", "Could not resolve host"}  # libcurl's
# Parts that the sources put together: "|" is where.
COMPOSED = {
    "data CRC mismatch: corrupted record at": " CRC mismatch|: corrupted record",
    "length CRC mismatch: corrupted record at": "length CRC mismatch|: corrupted record",
    "the file ends inside the data: truncated record at": "ends inside the |: truncated record",
    "gzip stream ends before its trailer at": " stream ends before its trailer",
    "is missing in the record at": " is missing",
    "the iterator was made before fork(), by the parent process": " was made before fork(), by",
}


def strings():
    """All sources, with the strings that a line break divides joined, and their values left out."""
    texts = []
    for folder in ("dataset", "tools", "python"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cc", ".h", ".py"):
                texts.append(path.read_text(encoding="utf-8"))
    return re.sub(r'"\s*f?"', "", "\n".join(texts)).replace('\\"', '"')


class Troubleshooting(unittest.TestCase):
    def test_messages(self):
        page = PAGE.read_text(encoding="utf-8")
        headings = re.findall(r"^### (.*)$", page, re.MULTILINE)
        messages = [each for heading in headings for each in re.findall(r"`([^`]+)`", heading)]
        self.assertGreater(len(messages), 20)
        sources = strings()
        for message in messages:
            if message in FOREIGN:
                continue
            for part in filter(None, (part.strip(" ',") for part in message.split("…"))):
                for piece in COMPOSED.get(part, part).split("|"):
                    with self.subTest(message=message):
                        self.assertTrue(piece in sources, f"no source has {piece!r}")


if __name__ == "__main__":
    unittest.main()
