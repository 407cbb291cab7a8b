"""What the operators of a Dataset share, which are in a class for each kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from recordpipe import _native as native

if TYPE_CHECKING:
    from recordpipe.dataset import Dataset
    from recordpipe.features import Feature

__all__ = ["Operators"]


class Operators:
    """The base of the classes of operators; :class:`Dataset` has the methods."""

    __slots__ = ()
    _native: native.Dataset

    def _derive(
        self,
        method: str,
        arguments: tuple[Any, ...],
        make: Callable[[], native.Dataset],
        random: bool = False,
        **keywords: Any,
    ) -> Dataset:
        raise NotImplementedError

    @property
    def features(self) -> dict[str, Feature] | None:
        raise NotImplementedError
