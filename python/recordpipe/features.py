"""Which features of a tf.train.Example become keys of an element, under the names of tf.io."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recordpipe.array_features import RawFeature, TensorFeature, checked_shape

__all__ = [
    "Feature",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "ListFeature",
    "RaggedFeature",
    "RawFeature",
    "TensorFeature",
    "VarLenFeature",
]

# What users write for the three types of values: also NumPy's, TensorFlow's and Python's types.
NUMBERS = (int, float, np.number)
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
            f'dtype is "bytes", "string", "int64" or "float32", the types that records have, '
            f"not {dtype!r}"
        ) from None


def float32_values(name: str, array: np.ndarray) -> np.ndarray:
    """Returns an array of floats as float32 [values], each rounded to the nearest one.

    A number that this would turn into an infinity or into 0 is an error, as everywhere.
    """
    with np.errstate(over="ignore", under="ignore"):
        rounded = np.ascontiguousarray(array, dtype=np.float32).ravel()
    if array.dtype.itemsize > rounded.dtype.itemsize:
        wide = array.ravel()
        lost = (np.isinf(rounded) != np.isinf(wide)) | ((rounded == 0) != (wide == 0))
        if lost.any():
            raise ValueError(
                f"feature {name!r}: {wide[lost][0]!s} is out of the range of float (scale it, or "
                "round it yourself: numpy.float32 makes it inf or 0)"
            )
    return rounded


def as_floats(name: str, values: list[Any]) -> np.ndarray | None:
    """Returns numbers, of which integers may have more than 64 bits, as floats; None for others."""
    if not all(isinstance(value, NUMBERS) for value in values):
        return None
    try:
        return np.array([float(value) for value in values])
    except OverflowError:
        raise ValueError(
            f"feature {name!r}: an integer is out of the range of float (scale it)"
        ) from None


def _default_values(name: str, default: Any, shape: tuple[int, ...], dtype: str) -> list[Any]:
    """Returns the default values of a row, flattened. A single value fills the shape."""
    array = np.asarray(default, dtype=object if dtype in ("bytes", "string") else None)
    size = math.prod(shape)
    if array.size not in (1, size):
        raise ValueError(
            f"feature {name!r}: default_value has {array.size} values, and the shape "
            f"{list(shape)} has {size}"
        )
    if dtype == "float32" and array.dtype.kind == "O":
        numbers = as_floats(name, array.ravel().tolist())
        array = array if numbers is None else numbers
    kinds = {"bytes": "O", "string": "O", "int64": "biu", "float32": "biuf"}[dtype]
    if array.dtype.kind not in kinds:
        raise TypeError(f"feature {name!r}: the default value {default!r} is not of {dtype}")
    if array.dtype == np.uint64 and dtype == "int64" and array.max(initial=0) >= 2**63:
        raise ValueError(f"feature {name!r}: a default value is above 2^63 - 1")
    if dtype == "float32" and array.dtype.kind == "f":
        array = float32_values(name, array)
    values = [
        value.encode() if isinstance(value, str) else value for value in array.ravel().tolist()
    ]
    if kinds == "O" and not all(isinstance(value, bytes) for value in values):
        raise TypeError(f"feature {name!r}: the default value {default!r} is not of bytes")
    return values if len(values) == size else values * size


@dataclass(frozen=True)
class FixedLenFeature:
    """The same number of values in every Example (tf.io.FixedLenFeature).

    In a batch, an array [batch, *shape]: int64, float32, or bytes objects. In a single element, an
    array [*shape], or a scalar for shape [].

    Args:
        shape: of one Example's values; [] for a single value. No dimension may be 0.
        dtype: "bytes", "string", "int64" or "float32". A string is text: bytes objects in NumPy,
            where nothing is checked, and a string in Arrow, where it must be UTF-8.
        default_value: for Examples without the feature: as many values as ``shape`` has, or a
            single one that fills it. Without it, a missing feature is an error. A feature that is
            present without values is an error in both cases, as in tf.io. In Arrow, both are null,
            because some writers encode nulls as empty lists.
        optional: True: an Example may lack the feature, or have it without values. "NAME_mask" is
            beside it, also in a single element: whether it is there. In its place are zeros, or
            empty bytes. In Arrow, it is null, and there is no mask.
    """

    shape: Sequence[int]
    dtype: Any
    default_value: Any = None
    optional: bool = False

    def __repr__(self) -> str:
        more = ", optional=True" if self.optional else ""
        return (
            f"FixedLenFeature(shape={self.shape!r}, dtype={self.dtype!r}, "
            f"default_value={self.default_value!r}{more})"
        )

    def _native(self, name: str) -> tuple[Any, ...]:
        shape = checked_shape(name, self.shape)
        dtype = _dtype(self.dtype)
        default = None
        if self.default_value is not None:
            default = _default_values(name, self.default_value, shape, dtype)
        if self.optional and default is not None:
            raise ValueError(f"feature {name!r}: optional, and with a default_value")
        return name, "optional" if self.optional else "fixed", dtype, list(shape), default


@dataclass(frozen=True)
class RaggedFeature:
    """Any number of values; none if the feature is missing (tf.io.RaggedFeature).

    In a batch, a :class:`Ragged`; in a single element, an array [values]. In Arrow, a list: null if
    the feature is missing, empty if it has no values. The ``partitions`` of tf.io are not
    supported: read each feature by itself.

    Args:
        dtype: "bytes", "string", "int64" or "float32".
    """

    dtype: Any

    def _native(self, name: str) -> tuple[Any, ...]:
        return name, "ragged", _dtype(self.dtype), [], None


class VarLenFeature(RaggedFeature):
    """The same as :class:`RaggedFeature`, under the name of tf.io.

    tf.io makes a SparseTensor of it: its values are those of the :class:`Ragged`.
    """


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
        shape = list(checked_shape(name, self.shape))
        return name, "fixed_sequence", _dtype(self.dtype), shape, self.allow_missing


Feature = FixedLenFeature | RaggedFeature | RawFeature | TensorFeature
ListFeature = FixedLenSequenceFeature | RaggedFeature | RawFeature


def type_text(feature: Feature | ListFeature) -> str:
    """What a batch has of a feature, in short: "optional int64", "float32 [2]", "ragged bytes"."""
    _, form, dtype, shape, _ = feature._native("")
    if isinstance(feature, RaggedFeature):
        return f"ragged {dtype}"
    if form == "ragged_tensor":
        shape = [None, *shape]
    if isinstance(feature, FixedLenSequenceFeature):
        shape = ["steps", *shape]
    maybe = "optional " if form == "optional" else ""
    if isinstance(feature, FixedLenFeature) and not shape:
        return f"{maybe}{dtype}"
    return f"{maybe}{dtype} [{', '.join(str(size) for size in shape)}]"


def native_features(features: Mapping[str, Feature]) -> list[tuple[Any, ...]]:
    """Returns what native.example_spec() takes."""
    return [_checked(name, feature, Feature)._native(name) for name, feature in features.items()]


def native_feature_lists(lists: Mapping[str, ListFeature]) -> list[tuple[Any, ...]]:
    """Returns what native.sequence_example_spec() takes as feature lists."""
    described = []
    for name, feature in lists.items():
        checked = _checked(name, feature, ListFeature)
        in_list = {"in_list": True} if isinstance(checked, RawFeature) else {}
        described.append(checked._native(name, **in_list))
    return described


def unicode_text(what: str, text: Any) -> str:
    """Returns ``text`` if it is a string that UTF-8 can encode; ``what`` must be one."""
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a string, not {text!r}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} must be Unicode text, unlike {text!r}") from None
    return text


def feature_name(name: Any) -> str:
    """Returns ``name``, which must be a string that UTF-8 can encode."""
    return unicode_text("the name of a feature", name)


def feature_names(names: str | Sequence[str]) -> list[str]:
    """Returns the names of an argument that is one or several."""
    return [feature_name(name) for name in ([names] if isinstance(names, str) else names)]


def where_text(where: str | None) -> str | None:
    """Returns an expression that selects records, which must be Unicode text."""
    return None if where is None else unicode_text("where", where)


def _checked(name: Any, feature: Any, known: Any) -> Any:
    feature_name(name)
    if isinstance(feature, known):
        return feature
    if isinstance(feature, FixedLenSequenceFeature):
        raise TypeError(
            f"feature {name!r} is a FixedLenSequenceFeature, which feature_lists have; in other "
            "places, use RaggedFeature and its to_padded()"
        )
    names = ", ".join(sorted(kind.__name__ for kind in known.__args__))
    raise TypeError(f"feature {name!r} is one of {names} of recordpipe, not {feature!r}")
