"""Arrays as the bytes of tf.io.serialize_tensor, without TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from recordpipe import _native

__all__ = ["parse_tensor", "serialize_tensor"]

# The numbers of TensorFlow's types.
_TYPES = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
}


def parse_tensor(serialized: bytes, *, max_repeated_bytes: int = 2**24) -> npt.NDArray[Any]:
    """Returns the array in the bytes of tf.io.serialize_tensor (tf.io.parse_tensor).

    For tensors of a shape that is known, also in part, :class:`TensorFeature` does it for whole
    batches. The bits of bfloat16 become uint16, because NumPy has no such type:
    ``array.view(ml_dtypes.bfloat16)``. Raises :class:`DataLossError` for other bytes, and
    :class:`UnsupportedError` for strings and other types without numbers.

    Args:
        max_repeated_bytes: a few bytes may describe an array of any size that repeats one value.
            Beyond this size, such an array raises :class:`LimitExceededError`.
    """
    array: npt.NDArray[Any] = _native.parse_tensor(serialized, max_repeated_bytes)
    return array


def serialize_tensor(array: npt.ArrayLike) -> bytes:
    """Returns the bytes of an array of numbers, as tf.io.serialize_tensor does.

    Raises TypeError for an array of another type.
    """
    values = np.asarray(array)
    type_number = _TYPES.get(values.dtype.name)
    if type_number is None:
        raise TypeError(f"a tensor has numbers or bools, not {values.dtype}")
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    shape = b"".join(_field(2, b"\x08" + _varint(size) if size else b"") for size in values.shape)
    content = values.tobytes()
    encoded = b"\x08" + _varint(type_number) + _field(2, shape)
    return encoded + _field(4, content) if content else encoded


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content
