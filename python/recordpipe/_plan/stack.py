"""How batch() combines elements that are Python objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from recordpipe.ragged import Ragged, padding_for

__all__ = ["PaddedStack", "stack", "stack_of", "unstack"]


def stack(rows: list[Any]) -> Any:
    """Stacks numbers, arrays, strings and bytes; dicts, tuples and lists member by member."""
    return _combine(rows, _stack_values, "")


class PaddedStack:
    """stack() of arrays of different shapes, filled up with a padding value.

    ``padding`` is a value, or a dict by key (None: 0, or ``b""``). ``sizes(key, dimensions)``, with
    the key "" for elements that are no dicts, returns the size to which each dimension is filled up
    (None: the largest).
    """

    def __init__(
        self,
        padding: Any,
        sizes: Callable[[str, int], list[int | None]] = lambda _, dimensions: [None] * dimensions,
        *,
        option: str = "padding",  # the name of the argument
    ) -> None:
        self._option = option
        self._padding = padding
        self._sizes = sizes

    def __call__(self, rows: list[Any]) -> Any:
        check_names(self._option, self._padding, rows[0])
        return _combine(rows, self._pad, "")

    def _pad(self, rows: list[Any], key: str) -> Any:
        if isinstance(rows[0], (bytes, str)):
            return _stack_values(rows, key)
        arrays = [np.asarray(row) for row in rows]
        if len({array.ndim for array in arrays}) != 1:
            raise ValueError(f"{_named(key)}: rows have different numbers of dimensions")
        largest = [int(size) for size in np.max([array.shape for array in arrays], axis=0)]
        sizes = self._sizes(key, len(largest))
        shape = [most if size is None else size for size, most in zip(sizes, largest, strict=True)]
        if any(most > size for size, most in zip(shape, largest, strict=True)):
            raise ValueError(f"{_named(key)}: rows of up to {largest}, padded to {shape}")
        dtype = np.result_type(*arrays)
        values = (
            np.concatenate([array.reshape(-1) for array in arrays]) if dtype.hasobject else None
        )
        padding = padding_for(key, np.empty(0, dtype) if values is None else values, self._padding)
        batch = np.full((len(arrays), *shape), padding, dtype=dtype)
        for row, array in enumerate(arrays):
            place: tuple[Any, ...] = (row, *(slice(size) for size in array.shape))
            batch[place] = array
        return batch


def stack_of(ragged_features: frozenset[str]) -> Callable[[list[Any]], Any]:
    """stack() of dicts of which some features have rows of any length: they become Raggeds."""
    if not ragged_features:
        return stack

    def stacked(rows: list[Any], key: str) -> Any:
        return ragged(rows) if key in ragged_features else _stack_values(rows, key)

    return lambda rows: _combine(rows, stacked, "")


def ragged(rows: list[Any]) -> Ragged:
    """Rows of different lengths, arrays or Raggeds, one after another."""
    splits = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    if not isinstance(rows[0], Ragged):
        return Ragged(np.concatenate(rows), splits)
    # The values of a Ragged that is a slice begin at its first split.
    inner = [row.values[row.row_splits[0] : row.row_splits[-1]] for row in rows]
    lengths = np.concatenate([row.row_lengths() for row in rows])
    values = ragged(inner).values
    return Ragged(Ragged(values, np.cumsum([0, *lengths], dtype=np.int64)), splits)


def check_names(option: str, values: Any, element: Any) -> None:
    """Raises ValueError if ``values`` is a dict, and names a key that ``element`` doesn't have.

    The keys of an element's tuple of dicts, as parsed SequenceExamples are, are those of the dicts.
    """
    if not isinstance(values, Mapping):
        return
    keys = {*_keys(element, "")}
    if isinstance(element, tuple):
        keys.update(*(member for member in element if isinstance(member, dict)))
    for name in values:
        if name not in keys:
            there_are = f"there are {', '.join(sorted(keys))}" if any(keys) else "there is none"
            raise ValueError(f"{option} names {name!r}, which is no key; {there_are}")


def _keys(element: Any, key: str) -> Iterator[str]:
    """Those with which _combine() calls its leaf."""
    if isinstance(element, dict):
        for name, member in element.items():
            yield from _keys(member, f"{key}.{name}" if key else name)
    elif isinstance(element, (tuple, list)):
        for i, member in enumerate(element):
            yield from _keys(member, f"{key}[{i}]")
    else:
        yield key


def _named(key: str) -> str:
    return f"key {key!r}" if key else "elements"


def _check_type(row: Any, types: Any, rows: list[Any], key: str) -> None:
    if not isinstance(row, types):
        names = sorted({type(one).__name__ for one in rows})
        raise ValueError(f"{_named(key)}: rows have the types {', '.join(names)}")


def _combine(rows: list[Any], leaf: Any, key: str) -> Any:
    first = rows[0]
    if isinstance(first, dict):
        for row in rows:
            _check_type(row, dict, rows, key)
            if row.keys() != first.keys():
                raise ValueError(f"{_named(key)}: rows have the keys {[*first]} and {[*row]}")
        return {
            name: _combine([row[name] for row in rows], leaf, f"{key}.{name}" if key else name)
            for name in first
        }
    if isinstance(first, (tuple, list)):
        for row in rows:
            _check_type(row, (tuple, list), rows, key)
        if any(len(row) != len(first) for row in rows):
            raise ValueError(
                f"{_named(key)}: {type(first).__name__}s of different lengths, whose members are "
                "stacked one by one; map(numpy.asarray) makes arrays, which padded_batch() fills up"
            )
        members = [
            _combine([row[i] for row in rows], leaf, f"{key}[{i}]") for i in range(len(first))
        ]
        return type(first)(*members) if hasattr(first, "_fields") else type(first)(members)
    return leaf(rows, key)


def _stack_values(rows: list[Any], key: str) -> Any:
    if any(isinstance(row, (bytes, str)) for row in rows):
        for row in rows:
            _check_type(row, (bytes, str), rows, key)
        batch = np.empty(len(rows), dtype=object)
        batch[:] = rows
        return batch
    if any(isinstance(row, Ragged) for row in rows):
        for row in rows:
            _check_type(row, Ragged, rows, key)
        return ragged(rows)
    try:
        arrays = [np.asarray(row) for row in rows]
        dtypes = {row.dtype for row in rows if isinstance(row, (np.ndarray, np.generic))}
        if len(dtypes) > 1:  # a batch's dtype would depend on which rows it has
            names = " and ".join(sorted(map(str, dtypes)))
            raise ValueError(f"rows have the dtypes {names}; map() makes them one")
        shapes = {array.shape for array in arrays}
        if len(shapes) == 1:
            return np.stack(arrays)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{_named(key)}: {error}") from error
    raise ValueError(
        f"{_named(key)}: rows have the shapes {sorted(shapes)}; padded_batch() fills them up (in a "
        "mixture, the Datasets need the same shapes and windows)"
    )


def unstack(batch: Any) -> Iterator[Any]:
    """Yields the rows of a batch."""
    if isinstance(batch, dict):
        columns = {name: list(unstack(column)) for name, column in batch.items()}
        sizes = {len(column) for column in columns.values()}
        if len(sizes) != 1:
            have = f"have {sorted(sizes)} rows" if sizes else "are none, and tell no number of rows"
            raise ValueError(f"unbatch() divides columns of one length; these {have}")
        return ({name: column[i] for name, column in columns.items()} for i in range(sizes.pop()))
    if isinstance(batch, tuple):
        return iter([*zip(*(list(unstack(column)) for column in batch), strict=True)])
    return iter(batch)
