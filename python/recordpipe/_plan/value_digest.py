"""A fingerprint of values: numbers, text, bytes, arrays, and sets of these."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from recordpipe._plan.stored_attributes import stored

__all__ = ["ATOMS", "MAX_DEPTH", "MAX_VALUES", "Incomparable", "ValueDigest", "is_of_numpy"]

_MAX_BYTES = 2**24
MAX_VALUES = 100_000
MAX_DEPTH = 50

ATOMS = (type(None), type(Ellipsis), bool, int, float, complex, str, bytes)


class Incomparable(Exception):
    pass


class ValueDigest:
    """A fingerprint that grows with each part that is added; a derived class adds more kinds."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=8)
        self._bytes = self._values = 0

    def _value(self, value: Any, depth: int) -> None:
        raise NotImplementedError

    def _name_of(self, value: Any) -> str:
        raise NotImplementedError

    def _count(self, size: int, values: int = 0) -> None:
        """Raises Incomparable if this many bytes, or values, are too many."""
        if self._bytes + size > _MAX_BYTES or self._values + values > MAX_VALUES:
            raise Incomparable
        self._bytes += size

    def _add(self, *parts: str | bytes | bytearray) -> None:
        for part in parts:
            self._count(len(part))
            data = part.encode(errors="surrogatepass") if isinstance(part, str) else part
            self._hash.update(len(data).to_bytes(8, "little"))
            self._hash.update(data)

    def _all(self, kind: str, values: Iterable[Any], depth: int) -> None:
        self._add(kind)
        for value in values:
            self._value(value, depth)
        self._add("end")

    def _atom(self, kind: type, value: Any) -> None:
        if kind in (str, bytes, bytearray):
            self._add(kind.__name__, value)
        elif kind is int:
            self._count(value.bit_length() // 4)
            self._add("int", f"{value:x}")
        else:
            self._add(kind.__name__, repr(value))

    def _key_of(self, value: Any, depth: int) -> str:
        """The text of a set's member: the order of sets differs between processes."""
        self._values += 1
        kind = type(value)
        if depth > MAX_DEPTH or self._values > MAX_VALUES:
            raise Incomparable
        if kind in (tuple, frozenset):
            keys = [self._key_of(item, depth + 1) for item in value]
            text = f"{kind.__name__}({','.join(keys if kind is tuple else sorted(keys))})"
        elif issubclass(kind, enum.Enum):
            text = f"{self._name_of(kind)}.{stored(value).get('_name_')}"
        elif kind in ATOMS:
            sized = kind in (str, bytes)
            self._count(len(value) if sized else value.bit_length() // 4 if kind is int else 0)
            text = f"{kind.__name__} {f'{value:x}' if kind is int else repr(value)}"
        else:
            raise Incomparable
        self._count(len(text))
        return text

    def _array(self, value: np.ndarray, depth: int) -> None:
        if self._bytes + value.size * value.dtype.itemsize > _MAX_BYTES:
            raise Incomparable
        self._add("array", type(value).__name__, str(value.dtype), str(value.shape))
        if isinstance(value, np.ma.MaskedArray):
            mask = np.ma.getmask(value)
            self._array(np.asarray(mask), depth)
            self._array(np.asarray(value.fill_value), depth)
        array = np.asarray(value)
        if array.dtype.hasobject:
            self._count(0, array.size)
            self._all("objects", array.tolist() if array.ndim else [array.item()], depth)
        else:
            self._add(array.tobytes())

    def _tensor(self, tensor: Any, depth: int) -> None:
        """A tensor of PyTorch; on another device than the CPU, it would be copied."""
        if tensor.device.type != "cpu" or tensor.numel() * tensor.element_size() > _MAX_BYTES:
            raise Incomparable
        self._add("tensor")
        self._array(tensor.detach().numpy(), depth)


def is_of_numpy(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "numpy"
