"""Elements by number: dataset[i]."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable
from typing import Any

from recordpipe import _native
from recordpipe._plan.execution_operators import chosen_epoch
from recordpipe._plan.plan import Execution, Plan
from recordpipe._plan.source_plans import Tfds
from recordpipe._plan.stack import unstack

__all__ = ["ElementAccess", "FileAccess", "access_of"]


def access_of(plan: Plan) -> FileAccess | ElementAccess:
    """Raises TypeError if elements can only be computed in order."""
    parses_only = all(each.parses or isinstance(each, Execution) for each in plan._operators)
    if plan._source.has_files and parses_only and not plan._random:
        return _files_of(plan).parsed(_native.parse_spec(plan._lowered.elements))
    epoch = chosen_epoch(plan)
    elements = _native.Elements(plan._lowered.elements, epoch or 0)
    if plan._random and epoch is None:
        raise TypeError(
            "elements by number of a random Dataset are those of an epoch: call epoch()"
        )
    return ElementAccess(elements)


def _files_of(plan: Plan) -> FileAccess:
    """The files of the source; plans of one source share them."""
    first = plan._first(0)
    if first._access is None:
        is_tfds = isinstance(first._source, Tfds)
        first._access = FileAccess(first._source.open_files, one_by_one=is_tfds)
    access: FileAccess = first._access
    return access


class FileAccess:
    """The records of files, or the values parsed from them. Opens the files at the first use.

    For these, ElementAccess would take twice the time, and open distant files one by one.
    """

    def __init__(
        self, open_files: Callable[[], _native.RecordFiles], *, one_by_one: bool = False
    ) -> None:
        """``one_by_one``: the rows of a batch are not elements, which are parsed one by one."""
        self._files = _Once(open_files)
        self._spec: _native.ParseSpec | None = None
        self._one_by_one = one_by_one

    def parsed(self, spec: _native.ParseSpec | None) -> FileAccess:
        """The same files, with parse()."""
        parsed = object.__new__(FileAccess)
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


class ElementAccess:
    """The elements of any plan whose operators can take any of them."""

    def __init__(self, elements: _native.Elements) -> None:
        self._elements = elements
        self._count: int | None = None

    def __len__(self) -> int:
        if self._count is None:
            self._count = len(self._elements)
        return self._count

    def get(self, index: int) -> Any:
        return self._elements.get([_checked(index, len(self))])[0]

    def get_many(self, indexes: list[int]) -> list[Any]:
        return self._elements.get([_checked(index, len(self)) for index in indexes])


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
