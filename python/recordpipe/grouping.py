"""How elements of similar length become batches, and how sequences are packed into rows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from recordpipe import _native as native
from recordpipe import stack
from recordpipe.function_identity import Identity, identity_of, named
from recordpipe.ragged import Ragged, padding_for

__all__ = ["Buckets", "Packing", "PaddedShapes", "PaddingValues", "padded_batches"]

# Of each feature by its name, or of all: the length, None for the longest; or the whole shape.
PaddedShapes = Any
PaddingValues = Any


def padded_batches(
    dataset: native.Dataset, batch_size: int, drop_remainder: bool, padding: Any
) -> native.Dataset:
    """What padded_batch() yields."""
    if not dataset.is_parsed():
        padded = stack.PaddedStack(padding)
        return dataset.batch(batch_size, drop_remainder, padded, _options(padding_values=padding))

    def pad(batch: Any, key: str = "") -> Any:
        if isinstance(batch, Ragged):
            return _padded(batch, key, padding)
        if isinstance(batch, dict):
            return {name: pad(column, name) for name, column in batch.items()}
        return tuple(map(pad, batch)) if isinstance(batch, tuple) else batch

    batches = dataset.batch(batch_size, drop_remainder, stack.stack, named(""))
    return batches.map(pad, _options(padding_values=padding))


def _padded(rows: Ragged, key: str, padding: Any, length: int | None = None) -> npt.NDArray[Any]:
    innermost = rows.values
    while isinstance(innermost, Ragged):
        innermost = innermost.values
    return rows.to_padded(padding_for(key, innermost, padding), length)


class Buckets:
    """The arguments of bucket_by_sequence_length(), checked."""

    def __init__(
        self,
        element_length_func: Callable[[Any], int] | str,
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: PaddedShapes,
        padding_values: PaddingValues,
        pad_to_bucket_boundary: bool,
        no_padding: bool,
        drop_remainder: bool,
    ) -> None:
        self._length = element_length_func
        self._boundaries = [operator.index(boundary) for boundary in bucket_boundaries]
        self._batch_sizes = [operator.index(size) for size in bucket_batch_sizes]
        self._shapes = padded_shapes
        self._padding = padding_values
        self._to_boundary = bool(pad_to_bucket_boundary)
        self._no_padding = bool(no_padding)
        self._drop_remainder = bool(drop_remainder)
        if no_padding and (pad_to_bucket_boundary or padded_shapes is not None):
            raise ValueError("no_padding excludes padded_shapes and pad_to_bucket_boundary")

    def of(self, dataset: native.Dataset, name: str) -> native.Dataset:
        """The batches of the elements of ``dataset``; ``name`` is the function's."""
        most = self._boundaries[-1] - 1 if self._to_boundary and self._boundaries else None
        arguments = (self._boundaries, self._batch_sizes, self._drop_remainder, most)
        if isinstance(self._length, str) and dataset.is_parsed():
            batches = dataset.bucket_features(self._length, *arguments)
            return batches if self._no_padding else batches.map(self._pad, self._padding_options())
        length = self._length
        if isinstance(length, str):
            identity = _options(element_length_func=length)
        else:
            identity = identity_of(length, name)
        if self._no_padding:
            return dataset.bucket(self._length_of, identity, *arguments, stack.stack)
        names = [text for text in (identity[0], self._padding_options()[0]) if text]
        identity = "; ".join(names), *identity[1:]
        return dataset.bucket(self._length_of, identity, *arguments, self._stack)

    def _padding_options(self) -> Identity:
        """Become a part of the plan: a state of batches with another padding is refused."""
        return _options(
            padded_shapes=self._shapes,
            padding_values=self._padding,
            pad_to_bucket_boundary=self._to_boundary or None,
        )

    def _length_of(self, element: Any) -> int:
        if callable(self._length):
            return self._length(element)
        return len(_feature(element, self._length))

    def _size(self, longest: int) -> int | None:
        """The length to which a batch is padded; None: each feature's longest row."""
        if not self._to_boundary:
            return None
        return next(boundary for boundary in self._boundaries if boundary > longest) - 1

    def _pad(self, batch: Any) -> Any:
        """Pads the Raggeds of a batch of parsed records."""
        assert isinstance(self._length, str)
        size = self._size(int(_feature(batch, self._length).row_lengths().max()))
        if isinstance(batch, tuple):
            return tuple(self._pad_columns(columns, size) for columns in batch)
        return self._pad_columns(batch, size)

    def _pad_columns(self, columns: dict[str, Any], size: int | None) -> dict[str, Any]:
        return {
            name: self._pad_rows(name, column, size) if isinstance(column, Ragged) else column
            for name, column in columns.items()
        }

    def _pad_rows(self, name: str, rows: Ragged, size: int | None) -> npt.NDArray[Any]:
        shape = self._shape(name)
        length = size if not shape or shape[0] is None else shape[0]
        longest = int(rows.row_lengths().max())
        if length is not None and longest > length:
            raise ValueError(f"key {name!r}: a row of {longest} values, padded to {length}")
        return _padded(rows, name, self._padding, length)

    def _shape(self, name: str) -> Sequence[int | None]:
        shapes = self._shapes
        if isinstance(shapes, Mapping):
            shapes = shapes.get(name)
        if shapes is None:
            return ()
        if isinstance(shapes, Sequence):
            return [None if size in (None, -1) else operator.index(size) for size in shapes]
        return [None if shapes == -1 else operator.index(shapes)]

    def _stack(self, rows: list[Any]) -> Any:
        size = self._size(max(self._length_of(row) for row in rows)) if self._to_boundary else None

        def sizes(name: str, dimensions: int) -> list[int | None]:
            shape = [*self._shape(name)][:dimensions]
            shape += [None] * (dimensions - len(shape))
            return [size if i == 0 and given is None else given for i, given in enumerate(shape)]

        return stack.PaddedStack(self._padding, sizes)(rows)


class Packing:
    """The arguments of pack_sequences(), checked."""

    def __init__(
        self,
        lengths: int | Mapping[str, int],
        open_rows: int,
        too_long: str,
        padding_values: PaddingValues,
    ) -> None:
        if too_long not in ("error", "truncate"):
            raise ValueError(f'too_long is "error" or "truncate", not {too_long!r}')
        self._truncate = too_long == "truncate"
        self._open_rows = operator.index(open_rows)
        self._padding = padding_values
        # The length of all features, or of each by its name.
        self._lengths: int | dict[str, int]
        if isinstance(lengths, Mapping):
            self._lengths = {name: operator.index(size) for name, size in lengths.items()}
            for name in self._lengths:
                for made in (f"{name}_segment_ids", f"{name}_positions"):
                    if made in self._lengths:
                        raise ValueError(f"key {made!r} is a feature, and made of {name!r}")
        else:
            self._lengths = operator.index(lengths)

    def of(self, dataset: native.Dataset, features: Sequence[str] | None) -> native.Dataset:
        """The packed rows. ``features``: all that were parsed."""
        named = self._lengths
        if dataset.is_parsed():
            if isinstance(named, int):
                named = dict.fromkeys(features or (), named)
            packing = Packing(named, self._open_rows, "error", self._padding)
            rows = dataset.pack_features(
                [*named], [*named.values()], self._open_rows, self._truncate
            )
            return rows.map(packing._pack_columns, _options(padding_values=self._padding))
        sizes = [named] if isinstance(named, int) else [*named.values()]
        return dataset.pack(
            self._sizes,
            _options(padding_values=self._padding),
            sizes,
            self._open_rows,
            self._truncate,
            self._pack,
        )

    def _sizes(self, element: Any) -> list[int]:
        if isinstance(self._lengths, int):
            return [len(element)]
        if not isinstance(element, Mapping) or element.keys() != self._lengths.keys():
            keys = [*element] if isinstance(element, Mapping) else type(element).__name__
            raise ValueError(
                f"pack_sequences: an element with the keys {keys}, and lengths of "
                f"{[*self._lengths]}; map() to dicts of the features that are packed"
            )
        return [len(element[name]) for name in self._lengths]

    def _pack(self, elements: list[Any]) -> dict[str, npt.NDArray[Any]]:
        if isinstance(self._lengths, int):
            packed = self._packed(elements, self._lengths, "")
            return {"values": packed[0], "segment_ids": packed[1], "positions": packed[2]}
        return self._named(
            {name: [element[name] for element in elements] for name in self._lengths}
        )

    def _pack_columns(self, columns: dict[str, Any]) -> dict[str, npt.NDArray[Any]]:
        return self._named(columns)

    def _named(self, columns: Mapping[str, Any]) -> dict[str, npt.NDArray[Any]]:
        assert isinstance(self._lengths, dict)
        row = {}
        for name, length in self._lengths.items():
            row[name], row[f"{name}_segment_ids"], row[f"{name}_positions"] = self._packed(
                columns[name], length, name
            )
        return row

    def _packed(
        self, sequences: Ragged | list[Any], length: int, name: str
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        if isinstance(sequences, Ragged):
            sizes = sequences.row_lengths()
            values = np.asarray(sequences.values)
        else:
            arrays = [np.asarray(sequence) for sequence in sequences]
            sizes = np.asarray([len(array) for array in arrays])
            values = _concatenated(arrays, name)
        if len(sizes) and sizes.max() > length:  # at most one: it fills the row
            starts = np.cumsum(sizes) - sizes
            cut = np.minimum(sizes, length)
            values = np.concatenate(
                [values[at : at + size] for at, size in zip(starts, cut, strict=True)]
            )
            sizes = cut
        used = len(values)
        padding = padding_for(name, values, self._padding)
        row = np.full((length, *values.shape[1:]), padding, dtype=values.dtype)
        row[:used] = values
        segment_ids = np.zeros(length, np.int32)
        segment_ids[:used] = np.repeat(np.arange(1, len(sizes) + 1), sizes)
        positions = np.zeros(length, np.int32)
        positions[:used] = np.arange(used) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return row, segment_ids, positions


def _concatenated(arrays: list[npt.NDArray[Any]], name: str) -> npt.NDArray[Any]:
    """The values of a row's sequences, whose dtype must not depend on which of them meet."""
    full = [array for array in arrays if len(array)]
    if not full:  # an empty list has no type, and becomes float64
        return np.concatenate(arrays) if arrays[0].dtype != np.float64 else np.zeros(0, np.int64)
    if len({array.dtype.kind for array in full}) > 1:
        dtypes = sorted({str(array.dtype) for array in full})
        raise ValueError(f"key {name!r}: sequences of the dtypes {' and '.join(dtypes)}")
    return np.concatenate(full)


def _options(**options: Any) -> Identity:
    """The options that are given, as they are in a call: they stand for a function made of them."""
    given = (f"{name}={value!r}" for name, value in options.items() if value is not None)
    return named(", ".join(given))


def _feature(element: Any, name: str) -> Any:
    """The feature of a dict, or of one of the dicts of a parsed SequenceExample."""
    if isinstance(element, tuple):
        for columns in reversed(element):  # the feature lists first
            if name in columns:
                return columns[name]
    return element[name]
