"""Philox4x32-10 of arrays of counters, as the C++ library's recordpipe/base/philox.h."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["philox4x32", "random_keys"]

_MASK = 2**64 - 1
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
Words = npt.NDArray[np.uint64]


def philox4x32(counter: Sequence[Words], key: tuple[int, int]) -> list[Words]:
    """The ten rounds; four arrays of 32-bit numbers (as uint64) each."""
    a, b, c, d = counter
    k0, k1 = key
    for _ in range(10):
        p0 = np.uint64(0xD2511F53) * a
        p1 = np.uint64(0xCD9E8D57) * c
        a, b = (p1 >> _HALF) ^ b ^ np.uint64(k0), p1 & _LOW
        c, d = (p0 >> _HALF) ^ d ^ np.uint64(k1), p0 & _LOW
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return [a, b, c, d]


def derive_key(seed: int, stream: int) -> int:
    def mix(x: int) -> int:
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
        return x ^ (x >> 31)

    first = mix((seed + 0x9E3779B97F4A7C15) & _MASK)
    return mix((first + stream * 0x9E3779B97F4A7C15) & _MASK)


def random_keys(seed: int, shard: int, first: int, count: int) -> tuple[Words, Words]:
    """Two independent 64-bit numbers for each of ``count`` records of a shard."""
    key = derive_key(seed, shard)
    index = np.arange(first, first + count, dtype=np.uint64)
    zero = np.zeros(count, dtype=np.uint64)
    a, b, c, d = philox4x32(
        [zero, zero, index & _LOW, index >> _HALF], (key & 0xFFFFFFFF, key >> 32)
    )
    return a | b << _HALF, c | d << _HALF
