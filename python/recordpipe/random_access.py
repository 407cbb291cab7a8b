"""Elements by number, of plain TFRecord files and of lists."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Sequence
from typing import Any

from recordpipe import _native
from recordpipe.stack import unstack

__all__ = ["ListAccess", "RandomAccess", "StepAccess"]


class RandomAccess:
    """The records of files, or the values parsed from them. Opens the files at the first use."""

    def __init__(
        self, open_files: Callable[[], _native.RecordFiles], *, one_by_one: bool = False
    ) -> None:
        """``one_by_one``: the rows of a batch are not elements, which are parsed one by one."""
        self._files = _Once(open_files)
        self._spec: _native.ParseSpec | None = None
        self._one_by_one = one_by_one

    def parsed(self, spec: _native.ParseSpec) -> RandomAccess:
        """The same files, with parse()."""
        parsed = object.__new__(RandomAccess)
        parsed._files = self._files
        parsed._spec = spec
        parsed._one_by_one = self._one_by_one
        return parsed

    def __len__(self) -> int:
        return len(self._files())

    def files(self) -> list[tuple[str, int]]:
        """The paths, with their numbers of records."""
        return self._files().files()

    def get(self, index: int) -> Any:
        index = _checked(index, len(self))
        if self._spec is None:
            return self._files().get(index)
        return self._files().parse_many([index], self._spec, True)

    def get_many(self, indexes: list[int]) -> list[Any]:
        checked = [_checked(index, len(self)) for index in indexes]
        if self._spec is None:
            return self._files().get_many(checked)
        if self._one_by_one:
            return [self._files().parse_many([index], self._spec, True) for index in checked]
        if not checked:
            return []
        return list(unstack(self._files().parse_many(checked, self._spec, False)))


class StepAccess:
    """The rows of steps()."""

    def __init__(self, steps: _native.Dataset) -> None:
        self._rows = _native.StepRows(steps)

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, index: int) -> Any:
        return self._rows.get([_checked(index, len(self))], True)

    def get_many(self, indexes: list[int]) -> list[Any]:
        checked = [_checked(index, len(self)) for index in indexes]
        return list(unstack(self._rows.get(checked, False))) if checked else []


class ListAccess:
    """The elements of from_list() and range()."""

    def __init__(self, elements: Sequence[Any]) -> None:
        self._elements = elements

    def __len__(self) -> int:
        return len(self._elements)

    def get(self, index: int) -> Any:
        return self._elements[_checked(index, len(self))]

    def get_many(self, indexes: list[int]) -> list[Any]:
        return [self.get(index) for index in indexes]


def _checked(index: int, count: int) -> int:
    index = operator.index(index)
    if not -count <= index < count:
        raise IndexError(f"element {index} of {count}")
    return index % count


class _Once:
    """Calls a function once, also from several threads."""

    def __init__(self, function: Callable[[], _native.RecordFiles]) -> None:
        self._function = function
        self._lock = threading.Lock()
        self._result: _native.RecordFiles | None = None

    def __call__(self) -> _native.RecordFiles:
        result = self._result
        if result is None:
            with self._lock:
                result = self._result
                if result is None:
                    result = self._result = self._function()
        return result
