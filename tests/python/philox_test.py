"""Philox of arrays: Random123's published vectors, and the distribution of drawn shards."""

import unittest

import numpy as np
from recordpipe._ray.philox import philox4x32, random_keys

# Random123's kat_vectors, philox4x32 with 10 rounds: counter, key, result.
VECTORS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    (
        (0xFFFFFFFF,) * 4,
        (0xFFFFFFFF,) * 2,
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


class Philox(unittest.TestCase):
    def test_published_vectors(self):
        for counter, key, result in VECTORS:
            words = [np.array([word], np.uint64) for word in counter]
            self.assertEqual([int(word[0]) for word in philox4x32(words, key)], list(result))

    def test_keys_depend_on_seed_shard_and_number_only(self):
        whole = random_keys(7, 3, 0, 1000)
        part = random_keys(7, 3, 400, 10)
        for all_of_them, some in zip(whole, part, strict=True):
            np.testing.assert_array_equal(all_of_them[400:410], some)
        for other in (random_keys(8, 3, 0, 1000), random_keys(7, 4, 0, 1000)):
            self.assertEqual(np.intersect1d(whole[0], other[0]).size, 0)
        self.assertEqual(np.unique(np.concatenate(whole)).size, 2000)


if __name__ == "__main__":
    unittest.main()
