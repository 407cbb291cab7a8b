#!/usr/bin/env python3
"""Tests that tfrecord reads files written by TensorFlow (data/tensorflow) with exact values.

Run by CTest. Environment: RECORDPIPE_TFRECORD, the program.
"""
import json
import struct
import unittest

from tfrecord_test_case import DATA, TfrecordTest

FILES = DATA / "tensorflow"


def comparable(value):
    """Returns JSON in a form where NaN equals NaN, and 0.0 differs from -0.0 and from 0."""
    if isinstance(value, dict):
        return {name: comparable(of) for name, of in value.items()}
    if isinstance(value, list):
        return [comparable(of) for of in value]
    if isinstance(value, float):
        return "NaN" if value != value else "float " + struct.pack("<f", value).hex()
    return value


class TensorflowFiles(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.values = json.loads((FILES / "values.json").read_text())

    def test_examples(self):
        for suffix in ("", ".gz", ".zz"):
            shown = self.json("show", "--json", FILES / f"examples.tfrecords{suffix}")
            self.assertEqual([line["record"] for line in shown], list(range(len(shown))))
            self.assertEqual([comparable(line["features"]) for line in shown],
                             comparable(self.values["examples"]))

    def test_sequence_examples(self):
        for suffix in ("", ".gz", ".zz"):
            shown = self.json("show", "--json", FILES / f"sequences.tfrecords{suffix}")
            # The last record has no feature lists, so it looks like an Example.
            self.assertEqual([line.get("context", line.get("features")) for line in shown],
                             [value["context"] for value in self.values["sequences"]])
            self.assertEqual([line.get("feature_lists", {}) for line in shown],
                             [value["feature_lists"] for value in self.values["sequences"]])

    def test_empty_files(self):
        for suffix in ("", ".gz", ".zz"):
            path = FILES / f"empty.tfrecords{suffix}"
            self.assertEqual(self.json("show", "--json", path), [])
            (info,) = self.json("info", "--json", path)
            self.assertEqual(info["records"], 0)

    def test_events(self):
        (info,) = self.json("info", "--json", FILES / "events.out.tfevents.golden")
        self.assertEqual(info["kind"], "Event")
        self.assertEqual(info["records"], 7)  # the version, and three per step

    def test_everything_is_intact(self):
        for path in sorted(FILES.glob("*t*f*e*")):
            if path.suffix != ".json":
                (verified,) = self.json("verify", "--json", path)
                self.assertEqual(verified["regions"], [], path)


if __name__ == "__main__":
    unittest.main()
