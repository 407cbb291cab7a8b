"""Rows of different lengths in one array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Ragged"]


class Ragged:
    """The values of a feature whose rows differ in length, as in ``tf.RaggedTensor``.

    Row i is ``values[row_splits[i]:row_splits[i + 1]]``. ``ragged[i]`` returns it as a view,
    ``ragged[i:j]`` some rows, ``len(ragged)`` is the number of rows.

    A Ragged has no NumPy array of its own: ``np.asarray(ragged)`` raises TypeError, so that rows of
    equal length and others behave the same. Use ``to_padded()``, ``values`` or ``to_list()``. A
    pickled Ragged holds its own rows only, also if it is a slice of a larger one.

    Attributes:
        values: the values of all rows: an array [total values, ...] of int64, float32 or bytes
            objects, or of a TensorFeature's type; a Ragged if the rows consist of rows.
        row_splits: int64 [rows + 1]; the first is 0.
    """

    __slots__ = ("row_splits", "values")

    def __init__(
        self, values: npt.NDArray[Any] | Ragged, row_splits: npt.NDArray[np.int64]
    ) -> None:
        self.values = values
        self.row_splits = row_splits

    def __len__(self) -> int:
        return len(self.row_splits) - 1

    def __getitem__(self, row: int | slice) -> Any:
        rows = len(self)
        if isinstance(row, slice):
            first, end, step = row.indices(rows)
            if step != 1:
                raise ValueError("rows can be sliced with a step of 1 only")
            splits = self.row_splits[first : max(first, end) + 1]
            return Ragged(self.values[splits[0] : splits[-1]], splits - splits[0])
        row = index(row)
        if not -rows <= row < rows:
            raise IndexError(f"row {row} of {rows}")
        row %= rows
        return self.values[self.row_splits[row] : self.row_splits[row + 1]]

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the innermost values."""
        return self.values.dtype

    def row_lengths(self) -> npt.NDArray[np.int64]:
        """Returns the number of values of each row, int64 [rows]."""
        return np.diff(self.row_splits)

    def to_padded(self, padding: Any = None, length: int | None = None) -> npt.NDArray[Any]:
        """Returns a dense array [rows, length, ...], rows filled up with ``padding``.

        Rows that consist of rows are filled up in both dimensions: [rows, rows, length].

        Args:
            padding: default 0, or ``b""`` for bytes.
            length: default: the longest row's. Longer rows are cut. Of rows of rows, the number of
                inner rows.
        """
        values = self.values
        if isinstance(values, Ragged):
            values = values.to_padded(padding)
        lengths = self.row_lengths()
        if length is None:
            length = int(lengths.max(initial=0))
        padding = padding_of(values, padding)
        dense = np.full((len(self), length, *values.shape[1:]), padding, dtype=values.dtype)
        column = np.arange(length)
        used = column < lengths[:, None]
        dense[used] = values[(self.row_splits[:-1, None] + column)[used]]
        return dense

    def to_list(self) -> list[Any]:
        """Returns the rows as nested lists."""
        return [row.to_list() if isinstance(row, Ragged) else row.tolist() for row in self]

    def __array__(self, *_: Any, **__: Any) -> npt.NDArray[Any]:
        raise TypeError(
            "the rows of a Ragged differ in length: use its to_padded(), values or to_list()"
        )

    def __repr__(self) -> str:
        rows, values = f"{len(self)} rows", self.values
        while isinstance(values, Ragged):
            rows, values = f"{rows} of {len(values)} rows", values.values
        items = f"{list(values.shape[1:])}" if values.ndim > 1 else ""
        return f"Ragged({rows}, {len(values)} values of {values.dtype}{items})"

    def __eq__(self, other: object) -> bool:
        """Whether all rows are equal; as in NumPy, NaN differs from NaN."""
        if not isinstance(other, Ragged):
            return NotImplemented
        if not np.array_equal(self.row_splits, other.row_splits):
            return False
        if isinstance(self.values, Ragged) != isinstance(other.values, Ragged):
            return False
        if isinstance(self.values, Ragged):
            return bool(self.values == other.values)
        return np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> tuple[Any, npt.NDArray[np.int64]]:
        return self.values, self.row_splits

    def __setstate__(self, state: tuple[Any, npt.NDArray[np.int64]]) -> None:
        self.values, self.row_splits = state


def padding_of(values: npt.NDArray[Any], padding: Any) -> Any:
    """Returns what fills up ``values``: ``padding``; if it is None, 0, ``b""`` or ``""``.

    Raises ValueError if it isn't of their type, as .5 among integers, or an integer among bytes.
    """
    dtype = values.dtype
    if dtype.hasobject:
        kinds = {type(value) for value in values.reshape(-1)} or {bytes}
        if padding is None:
            return "" if kinds == {str} else b""
        if kinds <= {bytes, str} and type(padding) not in kinds:
            names = " and ".join(sorted(kind.__name__ for kind in kinds))
            raise ValueError(f"padding {padding!r} is no {names}")
        return padding
    if padding is None:
        return 0
    try:
        with np.errstate(all="ignore"):
            held = np.asarray(padding).astype(dtype)
        fits = held.ndim == 0 and (
            np.isfinite(held) == np.isfinite(padding) and (held == 0) == (padding == 0)
            if dtype.kind == "f"
            else held == padding
        )
    except (OverflowError, TypeError, ValueError):
        fits = False
    if not fits:
        raise ValueError(f"padding {padding!r} is no {dtype} value")
    return padding


def padding_for(key: str, values: npt.NDArray[Any], padding: Any) -> Any:
    """Returns what fills up the values of a feature, of ``padding`` for all or a dict by feature.

    A number for all is for features of numbers: those of bytes get their default.
    """
    if isinstance(padding, Mapping):
        padding = padding.get(key)
    elif key and values.dtype.hasobject and isinstance(padding, (int, float, np.number)):
        padding = None
    try:
        return padding_of(values, padding)
    except ValueError as error:
        raise ValueError(f"key {key!r}: {error}" if key else f"elements: {error}") from None
