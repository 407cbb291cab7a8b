"""Modules of other packages, which the extras of this one install."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["extra"]


@contextlib.contextmanager
def extra(name: str) -> Iterator[None]:
    """Adds what installs the extra ``name`` to the error of an import that needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        error.msg = f"{error.msg} (to install what is needed: pip install 'recordpipe[{name}]')"
        raise
