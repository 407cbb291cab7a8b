"""How elements of similar length become batches, and how sequences are packed into rows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from recordpipe import _native as native
from recordpipe._plan import stack
from recordpipe._plan.function_identity import Identity, identity_of, named
from recordpipe._plan.plan import Count, Counts, Lengths, Operator
from recordpipe.ragged import Ragged, padding_for

__all__ = ["BucketBySequenceLength", "PackSequences", "PaddedBatch"]

# Of each feature by its name, or of all: the length, None for the longest; or the whole shape.
PaddedShapes = Any
PaddingValues = Any


class PaddedBatch(Operator):
    batch_size: Count
    drop_remainder: bool
    _: KW_ONLY
    padding: PaddingValues

    def lower(self, input: native.Dataset) -> native.Dataset:
        options = self.batch_size, self.drop_remainder
        identity = _options(padding_values=self.padding)
        if input.is_parsed():
            batches = input.batch(*options, native.Function(stack.stack, *named("")))
            return batches.map(native.Function(self._checked, *identity))
        stacked = native.Function(stack.PaddedStack(self.padding), *identity)
        return input.batch(*options, stacked)

    def _checked(self, batch: Any) -> Any:
        stack.check_names("padding", self.padding, batch)
        return self._pad(batch)

    def _pad(self, batch: Any, key: str = "") -> Any:
        if isinstance(batch, Ragged):
            return _padded(batch, key, self.padding)
        if isinstance(batch, dict):
            return {name: self._pad(column, name) for name, column in batch.items()}
        return tuple(map(self._pad, batch)) if isinstance(batch, tuple) else batch


def _padded(rows: Ragged, key: str, padding: Any, length: int | None = None) -> npt.NDArray[Any]:
    innermost = rows.values
    while isinstance(innermost, Ragged):
        innermost = innermost.values
    return rows.to_padded(padding_for(key, innermost, padding), length)


class BucketBySequenceLength(Operator):
    element_length_func: Callable[[Any], int] | str
    bucket_boundaries: Counts
    bucket_batch_sizes: Counts
    padded_shapes: PaddedShapes
    padding_values: PaddingValues
    pad_to_bucket_boundary: bool
    no_padding: bool
    drop_remainder: bool
    _: KW_ONLY
    name: str

    def takes_rows(self, elements: native.Dataset) -> bool:
        return not (isinstance(self.element_length_func, str) and elements.is_parsed())

    def lower(self, input: native.Dataset) -> native.Dataset:
        to_boundary = self.pad_to_bucket_boundary
        if self.no_padding and (to_boundary or self.padded_shapes is not None):
            raise ValueError("no_padding excludes padded_shapes and pad_to_bucket_boundary")
        boundaries = self.bucket_boundaries
        most = boundaries[-1] - 1 if to_boundary and boundaries else None
        arguments = (boundaries, self.bucket_batch_sizes, self.drop_remainder, most)
        length = self.element_length_func
        if isinstance(length, str) and input.is_parsed():
            batches = input.bucket_features(length, *arguments)
            padded = native.Function(self._pad, *self._padding_options())
            return batches if self.no_padding else batches.map(padded)
        if isinstance(length, str):
            identity = _options(element_length_func=length)
        else:
            identity = identity_of(length, self.name)
        stacked = stack.stack
        if not self.no_padding:
            names = [text for text in (identity[0], self._padding_options()[0]) if text]
            identity = "; ".join(names), *identity[1:]
            stacked = self._stack
        return input.bucket(native.Function(self._length_of, *identity), *arguments, stacked)

    def _padding_options(self) -> Identity:
        """Become a part of the plan: a state of batches with another padding is refused."""
        return _options(
            padded_shapes=self.padded_shapes,
            padding_values=self.padding_values,
            pad_to_bucket_boundary=self.pad_to_bucket_boundary or None,
        )

    def _length_of(self, element: Any) -> int:
        if callable(self.element_length_func):
            return self.element_length_func(element)
        return len(_feature(element, self.element_length_func))

    def _size(self, longest: int) -> int | None:
        """The length to which a batch is padded; None: each feature's longest row."""
        if not self.pad_to_bucket_boundary:
            return None
        return next(boundary for boundary in self.bucket_boundaries if boundary > longest) - 1

    def _pad(self, batch: Any) -> Any:
        """Pads the Raggeds of a batch of parsed records."""
        assert isinstance(self.element_length_func, str)
        stack.check_names("padding_values", self.padding_values, batch)
        stack.check_names("padded_shapes", self.padded_shapes, batch)
        size = self._size(int(_feature(batch, self.element_length_func).row_lengths().max()))
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
        return _padded(rows, name, self.padding_values, length)

    def _shape(self, name: str) -> Sequence[int | None]:
        shapes = self.padded_shapes
        if isinstance(shapes, Mapping):
            shapes = shapes.get(name)
        if shapes is None:
            return ()
        if isinstance(shapes, Sequence):
            return [None if size in (None, -1) else operator.index(size) for size in shapes]
        return [None if shapes == -1 else operator.index(shapes)]

    def _stack(self, rows: list[Any]) -> Any:
        size = (
            self._size(max(self._length_of(row) for row in rows))
            if self.pad_to_bucket_boundary
            else None
        )

        def sizes(name: str, dimensions: int) -> list[int | None]:
            shape = [*self._shape(name)][:dimensions]
            shape += [None] * (dimensions - len(shape))
            return [size if i == 0 and given is None else given for i, given in enumerate(shape)]

        stack.check_names("padded_shapes", self.padded_shapes, rows[0])
        return stack.PaddedStack(self.padding_values, sizes, option="padding_values")(rows)


class PackSequences(Operator):
    lengths: Lengths
    _: KW_ONLY
    open_rows: Count
    too_long: str
    padding_values: PaddingValues
    features: Sequence[str] = field(repr=False)  # all that were parsed

    def takes_rows(self, elements: native.Dataset) -> bool:
        return not elements.is_parsed()

    def lower(self, input: native.Dataset) -> native.Dataset:
        """The packed rows."""
        if self.too_long not in ("error", "truncate"):
            raise ValueError(f'too_long is "error" or "truncate", not {self.too_long!r}')
        named = self.lengths
        names = [] if isinstance(named, int) else [*named]
        for name in names:
            for made in (f"{name}_segment_ids", f"{name}_positions"):
                if made in names:
                    raise ValueError(f"key {made!r} is a feature, and made of {name!r}")
        options = self.open_rows, self.too_long == "truncate"
        identity = _options(padding_values=self.padding_values)
        if input.is_parsed():
            if isinstance(named, int):
                named = dict.fromkeys(self.features, named)
            stack.check_names("padding_values", self.padding_values, named)
            rows = input.pack_features([*named], [*named.values()], *options)
            return rows.map(native.Function(replace(self, lengths=named)._named, *identity))
        stack.check_names("padding_values", self.padding_values, named)
        sizes = [named] if isinstance(named, int) else [*named.values()]
        return input.pack(native.Function(self._sizes, *identity), sizes, *options, self._pack)

    def _sizes(self, element: Any) -> list[int]:
        if isinstance(self.lengths, int):
            return [len(element)]
        if not isinstance(element, Mapping) or element.keys() != self.lengths.keys():
            keys = [*element] if isinstance(element, Mapping) else type(element).__name__
            raise ValueError(
                f"pack_sequences: an element with the keys {keys}, and lengths of "
                f"{[*self.lengths]}; map() to dicts of the features that are packed"
            )
        return [len(element[name]) for name in self.lengths]

    def _pack(self, elements: list[Any]) -> dict[str, npt.NDArray[Any]]:
        if isinstance(self.lengths, int):
            packed = self._packed(elements, self.lengths, "")
            return {"values": packed[0], "segment_ids": packed[1], "positions": packed[2]}
        return self._named({name: [element[name] for element in elements] for name in self.lengths})

    def _named(self, columns: Mapping[str, Any]) -> dict[str, npt.NDArray[Any]]:
        assert isinstance(self.lengths, Mapping)
        row = {}
        for name, length in self.lengths.items():
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
        padding = padding_for(name, values, self.padding_values)
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
