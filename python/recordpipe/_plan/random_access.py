"""Elements by number: dataset[i]."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable
from typing import Any

from recordpipe import _native
from recordpipe._plan.execution_operators import chosen_epoch
from recordpipe._plan.image_common import ImageOperator
from recordpipe._plan.plan import Execution, Plan
from recordpipe._plan.source_plans import Tfds
from recordpipe._plan.stack import unstack

__all__ = ["ElementAccess", "FileAccess", "access_of"]


def access_of(plan: Plan) -> FileAccess | ElementAccess:
    """Raises TypeError if elements can only be computed in order."""
    parses_only = all(each.parses or isinstance(each, Execution) for each in plan._operators)
    if plan._source.has_files and parses_only and not plan._random:
        return _file_access(plan)
    epoch = chosen_epoch(plan)
    elements = _native.Elements(plan._lowered.elements, epoch or 0)
    if plan._random and epoch is None:
        raise TypeError(
            "elements by number of a random Dataset are those of an epoch: call epoch()"
        )
    return ElementAccess(elements)


def _file_access(plan: Plan) -> FileAccess:
    """Plans of one source share its files."""
    spec = _native.parse_spec(plan._lowered.elements)
    has_images = any(isinstance(each, ImageOperator) for each in plan._operators)
    one_by_one = has_images or isinstance(plan._source, Tfds)
    first = plan._first(0)
    if first is plan:
        return FileAccess(_Once(plan._source.open_files), spec, one_by_one)
    if first._access is None:
        first._access = _file_access(first)
    return FileAccess(first._access.opened, spec, one_by_one)


class FileAccess:
    """The records of files, or the values parsed from them: a native.RecordFiles."""

    def __init__(
        self,
        opened: Callable[[], _native.RecordFiles],
        spec: _native.ParseSpec | None,
        one_by_one: bool,
    ) -> None:
        """``one_by_one``: elements are not the rows of batches, whose images have one size."""
        self.opened = opened
        self._spec = spec
        self._one_by_one = one_by_one

    def __len__(self) -> int:
        return len(self.opened())

    def files(self) -> list[tuple[str, int]]:
        """The paths, with their numbers of records."""
        return self.opened().files()

    def get(self, index: int) -> Any:
        files = self.opened()
        index = _checked(index, len(files))
        if self._spec is None:
            return files.get(index)
        return files.parse_many([index], self._spec, True)

    def get_many(self, indexes: list[int]) -> list[Any]:
        files = self.opened()
        count = len(files)
        checked = [_checked(index, count) for index in indexes]
        if self._spec is None:
            return files.get_many(checked)
        if self._one_by_one:
            return [files.parse_many([index], self._spec, True) for index in checked]
        if not checked:
            return []
        return list(unstack(files.parse_many(checked, self._spec, False)))


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
