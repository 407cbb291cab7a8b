"""Tests of tfds() compare elements with those that tfds_sets made."""

import numpy as np
import tfds_sets as sets
from support import FilesTest


class TfdsTest(FilesTest):
    def assert_same(self, ours, expected, path=""):
        if isinstance(expected, dict):
            self.assertEqual(list(ours), list(expected), path)
            for name, value in expected.items():
                self.assert_same(ours[name], value, f"{path}/{name}")
        elif isinstance(expected, list):  # of lists of bytes
            self.assertEqual([row.tolist() for row in ours], expected, path)
        elif expected is None or isinstance(expected, bytes):
            self.assertEqual(ours, expected, path)
        else:
            self.assertIs(type(ours), type(expected), path)
            self.assertEqual((ours.dtype, ours.shape), (expected.dtype, expected.shape), path)
            np.testing.assert_array_equal(ours, expected, path)

    def assert_elements(self, elements, numbers):
        numbers = list(numbers)
        elements = list(elements)
        self.assertEqual(len(elements), len(numbers))
        for element, i in zip(elements, numbers, strict=True):
            self.assert_same(element, self.sorted_values(i), str(i))

    def sorted_values(self, i):
        """Names are in the order of features.json, which TFDS sorts; so does the reader."""

        def in_order(value):
            if not isinstance(value, dict):
                return value
            return {name: in_order(value[name]) for name in sorted(value)}

        return in_order(sets.values(i))
