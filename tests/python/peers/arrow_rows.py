"""Rows that the tests of Arrow's libraries write to TFRecords and compare tables with."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import recordpipe as rp
import records
from support import FilesTest


def needs(package, name):
    return unittest.skipIf(package is None, f"{name} is not installed")


FEATURES = {
    "id": rp.FixedLenFeature([], "int64"),
    "label": rp.FixedLenFeature([], "int64"),
    "name": rp.FixedLenFeature([], "string"),
    "blob": rp.FixedLenFeature([], "bytes"),
    "box": rp.FixedLenFeature([2], "float32"),
    "tokens": rp.RaggedFeature("int64"),
    "words": rp.RaggedFeature("string"),
}


def row(i):
    """Row i as Arrow libraries show it; None is a missing feature."""
    if i % 7 == 3:
        return dict.fromkeys(FEATURES) | {"id": i}
    return {
        "id": i,
        "label": i % 3,
        "name": f"näme {i}",
        "blob": bytes([i % 256, 255]),
        "box": [i + 0.25, i + 0.5],
        "tokens": list(range(i % 4)),
        "words": [f"w{k}" for k in range(i % 3)],
    }


def example_of(i):
    def values(name, value):
        value = value if isinstance(value, list) else [value]
        if not value:
            return _EMPTY_BYTES if name == "words" else []
        return [v.encode() if isinstance(v, str) else v for v in value]

    features = {name: values(name, v) for name, v in row(i).items() if v is not None}
    entries = []
    for name, content in sorted(features.items()):
        feature = records.field(1, b"") if content is _EMPTY_BYTES else records.feature(content)
        entries.append(
            records.field(1, records.field(1, name.encode()) + records.field(2, feature))
        )
    return records.field(1, b"".join(entries))


_EMPTY_BYTES = object()


class TablesTest(FilesTest):
    def dataset(self, count=3000, name="rows.tfrecord"):
        path = records.write(self.folder / name, [example_of(i) for i in range(count)])
        return rp.tfrecords(path).parse(FEATURES)

    def rows(self, count=3000):
        return [row(i) for i in range(count)]
