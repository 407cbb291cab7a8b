"""Which features of a tf.train.Example become keys of an element, under the names of tf.io."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "Feature",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "ListFeature",
    "RaggedFeature",
    "RawFeature",
    "VarLenFeature",
]

# What users write for the three types of values: also NumPy's, TensorFlow's and Python's types.
_DTYPES = {
    "bytes": "bytes",
    "string": "string",
    "str": "string",
    "object": "bytes",
    "int64": "int64",
    "int": "int64",
    "float32": "float32",
    "float": "float32",
}


_COMPRESSIONS = {
    None: "",
    "": "none",
    "none": "none",
    "NONE": "none",
    "gzip": "gzip",
    "GZIP": "gzip",
    "zlib": "zlib",
    "ZLIB": "zlib",
    "zstd": "zstd",
    "ZSTD": "zstd",
}


def known_compression(name: str | None) -> str:
    """Returns the library's name of a compression; "" for None. tf.data's names are known, too."""
    try:
        return _COMPRESSIONS[name]
    except KeyError:
        raise ValueError(f'compression is "none", "gzip", "zlib" or "zstd", not {name!r}') from None


def _dtype(dtype: Any) -> str:
    """Returns "bytes", "string", "int64" or "float32"; "string" declares bytes to be UTF-8 text.

    tf.string, an object with the name "string", declares bytes of any content.
    """
    if getattr(dtype, "name", None) == "string":
        return "bytes"
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    try:
        return _DTYPES[name]
    except KeyError:
        raise ValueError(
            f'dtype is "bytes", "string", "int64" or "float32", not {dtype!r}'
        ) from None


@dataclass(frozen=True)
class FixedLenFeature:
    """The same number of values in every Example (tf.io.FixedLenFeature).

    In a batch, an array [batch, *shape]: int64, float32, or bytes objects. In a single element, an
    array [*shape], or a scalar for shape [].

    Args:
        shape: of one Example's values; [] for a single value. No dimension may be 0.
        dtype: "bytes", "string", "int64" or "float32". A string is text: bytes objects in NumPy,
            where nothing is checked, and a string in Arrow, where it must be UTF-8.
        default_value: for Examples without the feature: a scalar, or values of ``shape``. Without
            it, a missing feature is an error; in Arrow, null. There, a feature with an empty list
            is missing, too, because some writers encode nulls so.
    """

    shape: Sequence[int]
    dtype: Any
    default_value: Any = None

    def _native(self, name: str) -> tuple[Any, ...]:
        shape = [int(size) for size in self.shape]
        dtype = _dtype(self.dtype)
        default = None
        if self.default_value is not None:
            numpy_type = object if dtype in ("bytes", "string") else dtype
            values = np.broadcast_to(np.array(self.default_value, dtype=numpy_type), shape)
            default = [
                value.encode() if isinstance(value, str) else value
                for value in values.ravel().tolist()
            ]
        return name, "fixed", dtype, shape, default


@dataclass(frozen=True)
class RaggedFeature:
    """Any number of values; none if the feature is missing (tf.io.RaggedFeature).

    In a batch, a :class:`Ragged`; in a single element, an array [values]. In Arrow, a list: null if
    the feature is missing, empty if it has no values.
    """

    dtype: Any

    def _native(self, name: str) -> tuple[Any, ...]:
        return name, "ragged", _dtype(self.dtype), [], None


class VarLenFeature(RaggedFeature):
    """The same as :class:`RaggedFeature`, under the name of tf.io."""


@dataclass(frozen=True)
class RawFeature:
    """The bytes of an array, of little-endian numbers in row-major order (tf.io.decode_raw).

    In a batch, an array [batch, *shape] without a copy; in a single element, [*shape]. A value of
    another size is an error.

    Args:
        shape: of one Example's array.
        dtype: a NumPy type of integers, floats or bool.
    """

    shape: Sequence[int]
    dtype: Any

    def _native(self, name: str) -> tuple[Any, ...]:
        dtype = np.dtype(self.dtype)
        if dtype.kind not in "iufb" or (not dtype.isnative and dtype.itemsize > 1):
            raise ValueError(f"dtype is a little-endian type of numbers, not {self.dtype!r}")
        return name, "raw", dtype.name, [int(size) for size in self.shape], None


@dataclass(frozen=True)
class FixedLenSequenceFeature:
    """The same number of values in every step of a feature list (tf.io.FixedLenSequenceFeature).

    In a batch, a :class:`Ragged` of arrays [steps, *shape]; in a single element, an array
    [steps, *shape].

    Args:
        shape: of one step's values; [] for a single value.
        dtype: "bytes", "string", "int64" or "float32".
        allow_missing: True: a missing list has no steps. Default: an error. In Arrow, it is null.
    """

    shape: Sequence[int]
    dtype: Any
    allow_missing: bool = False

    def _native(self, name: str) -> tuple[Any, ...]:
        shape = [int(size) for size in self.shape]
        return name, "fixed_sequence", _dtype(self.dtype), shape, self.allow_missing


Feature = FixedLenFeature | RaggedFeature | RawFeature
ListFeature = FixedLenSequenceFeature | RaggedFeature


def native_features(
    features: Mapping[str, Feature] | Mapping[str, ListFeature],
) -> list[tuple[Any, ...]]:
    return [feature._native(name) for name, feature in features.items()]
