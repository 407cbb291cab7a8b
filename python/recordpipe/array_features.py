"""Features of the bytes of arrays: RawFeature and TensorFeature; and the checks of shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np

__all__ = ["RawFeature", "TensorFeature", "checked_shape"]

# NumPy's names of the types of numbers of which RawFeature and TensorFeature make arrays.
_NUMBERS = frozenset(
    {
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "bool"),
    }
)
_TENSOR_NUMBERS = _NUMBERS | {"complex64", "complex128", "bfloat16"}


def _number_dtype(dtype: Any, known: frozenset[str]) -> str:
    """Returns NumPy's name of a type of numbers, also for a type of TensorFlow or PyTorch."""
    name = str(getattr(dtype, "name", None) or dtype).removeprefix("torch.")
    if name not in known and dtype is not None:  # which NumPy takes for float64
        parsed = np.dtype(dtype)
        name = parsed.name if parsed.isnative or parsed.itemsize == 1 else ""
    if name not in known:
        raise ValueError(
            f"dtype is a little-endian type of numbers, not {dtype!r}; RawFeature has big_endian"
        )
    return name


# With the rows of a batch, those of an array that all versions of NumPy have.
_MAX_DIMENSIONS = 31


def checked_shape(name: str, shape: Any, item_size: int = 1) -> tuple[int, ...]:
    """Returns the shape as a tuple; a number is a shape of one dimension."""
    try:
        sizes = tuple(index(size) for size in shape) if np.iterable(shape) else (index(shape),)
    except TypeError:
        raise TypeError(
            f"feature {name!r}: shape is a list of integers, not {shape!r}; "
            "RaggedFeature holds any number of values"
        ) from None
    if any(size < 1 for size in sizes):
        raise ValueError(f"feature {name!r}: shape has dimensions of 1 or more, not {shape!r}")
    if len(sizes) > _MAX_DIMENSIONS:
        raise ValueError(f"feature {name!r}: a shape has at most {_MAX_DIMENSIONS} dimensions")
    if math.prod(sizes) * item_size >= 2**31:
        raise ValueError(f"feature {name!r}: the shape {shape!r} is larger than any record")
    return sizes


def _open_shape(
    name: str, shape: Any, way_out: str, dtype: str | None = None
) -> tuple[list[int], bool]:
    """Returns a shape without its first dimension if that is None, and whether it is."""
    sizes = tuple(shape) if np.iterable(shape) else (shape,)
    ragged = np.iterable(shape) and sizes[:1] == (None,)
    if shape is None or None in sizes[1:]:
        raise ValueError(
            f"feature {name!r}: only the first dimension may be None, not in {shape}; {way_out}"
        )
    item_size = 1 if dtype is None else np.dtype(dtype).itemsize
    return list(checked_shape(name, sizes[1:] if ragged else sizes, item_size)), bool(ragged)


@dataclass(frozen=True)
class RawFeature:
    """The bytes of an array, of numbers in row-major order (tf.io.decode_raw).

    In a batch, an array [batch, *shape]; in a single element, [*shape]. A first dimension of None
    may differ between Examples: in a batch, a :class:`Ragged` of values [total, *shape[1:]], which
    ``to_padded()`` makes dense; in a single element, [n, *shape[1:]].

    In feature lists, each step has such an array: in a batch, a :class:`Ragged` of arrays
    [steps, *shape], or, with a first dimension of None, of Raggeds.

        rp.RawFeature([None, 80], "float32")        # spectrograms of different lengths
        rp.RawFeature([1024], "uint8")              # in feature_lists: of the frames of a video

    A missing feature is an error, and so is a value of another size.

    Args:
        shape: of one Example's, or step's, array; only the first dimension may be None.
        dtype: a NumPy type of integers, floats or bool.
        big_endian: True: the bytes of each number are in big-endian order, as Java writes them.
            Arrays have the machine's order in both cases. Default: little-endian.
    """

    shape: Sequence[int | None]
    dtype: Any
    big_endian: bool = False

    def __repr__(self) -> str:
        order = ", big_endian=True" if self.big_endian else ""
        return f"RawFeature(shape={self.shape!r}, dtype={self.dtype!r}{order})"

    def _native(self, name: str, in_list: bool = False) -> tuple[Any, ...]:
        dtype = _number_dtype(self.dtype, _NUMBERS)
        way_out = 'read FixedLenFeature([], "bytes"), and map numpy.frombuffer over it'
        shape, ragged = _open_shape(name, self.shape, way_out, dtype)
        if self.big_endian or ragged or in_list:
            encoding = "big_endian" if self.big_endian else "little_endian"
            return name, "ragged_tensor" if ragged else "tensor", dtype, shape, encoding
        return name, "raw", dtype, shape, None


@dataclass(frozen=True)
class TensorFeature:
    """The bytes of a tensor, as tf.io.serialize_tensor makes them (tf.io.parse_tensor).

    A known shape: in a batch, an array [batch, *shape]; in a single element, [*shape]. A first
    dimension of None may differ between Examples: in a batch, a :class:`Ragged` of values
    [total, *shape[1:]], which ``to_padded()`` makes dense; in a single element, [n, *shape[1:]].

    The tensors are decoded without the GIL. A tensor of another type or shape is an error, as is a
    missing feature. For other shapes that differ, read a FixedLenFeature([], "bytes") and call
    :func:`parse_tensor`.

    Args:
        shape: of one Example's tensor; only the first dimension may be None. [] for a scalar.
        dtype: a NumPy type of integers, floats, complex numbers or bool, or "bfloat16", which
            becomes uint16: ``array.view(ml_dtypes.bfloat16)``.
    """

    shape: Sequence[int | None]
    dtype: Any

    def _native(self, name: str) -> tuple[Any, ...]:
        dtype = _number_dtype(self.dtype, _TENSOR_NUMBERS)
        shape, ragged = _open_shape(
            name,
            self.shape,
            'read FixedLenFeature([], "bytes"), and map recordpipe.parse_tensor over it',
        )
        return name, "ragged_tensor" if ragged else "tensor", dtype, shape, "proto"
