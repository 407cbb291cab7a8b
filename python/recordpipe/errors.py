"""The exceptions of recordpipe.

Every error names the file, the byte offset (if there is one), the reason, and what to do. Each
class is also a subclass of the exception that Python programs catch for such a problem: a missing
file is a ``FileNotFoundError`` with its ``errno``, damaged data a ``ValueError``.
"""

from __future__ import annotations

import errno as numbers
import json
from typing import Any

from recordpipe import _native as native

__all__ = [
    "AlreadyExistsError",
    "BusyError",
    "CancelledError",
    "DataLossError",
    "Error",
    "FileSystemError",
    "InvalidArgumentError",
    "LimitExceededError",
    "MissingFileError",
    "NotFoundError",
    "PermissionDeniedError",
    "UnsupportedError",
]


class Error(Exception):
    """The base class. ``str(error)`` is "PATH: REASON at OFFSET (HINT)", without the empty parts.

    Attributes:
        kind: what went wrong, in one word: "not_found", "corrupted", "truncated", ...
        path: the file, URL or "archive:member"; None if there is none.
        offset: in bytes from the start of ``path`` (for a compressed file, of its decompressed
            content); None if there is none.
        reason: a phrase, without path and offset.
        hint: what to do; may be empty.

    Those that are an OSError also have ``errno``, and ``path`` as ``filename``.

    Errors pickle, and keep their attributes where a DataLoader of PyTorch raises the error of a
    worker again, for which it makes a new one from the text.
    """

    kind: str = ""
    path: str | None = None
    offset: int | None = None
    reason: str = ""
    hint: str = ""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        if len(args) == 1 and isinstance(args[0], str) and _CARRIED in args[0]:
            _restore(self, args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        state = dict(self.__dict__)
        if isinstance(self, OSError):
            state["filename"] = self.filename  # not in __dict__
        return type(self), self.args, state

    def __str__(self) -> str:
        # Not that of OSError, which makes "[Errno 2] ..." of errno and filename.
        return Exception.__str__(self)


class NotFoundError(Error):
    """No such file, URL or feature."""


class MissingFileError(NotFoundError, FileNotFoundError):
    """No such file or URL."""

    errno: int | None = numbers.ENOENT


class AlreadyExistsError(Error, FileExistsError):
    """The target exists and must not be overwritten."""

    errno: int | None = numbers.EEXIST


class PermissionDeniedError(Error, PermissionError):
    """The operating system or the server denied access."""

    errno: int | None = numbers.EACCES


class FileSystemError(Error, OSError):
    """A system call or a transfer failed: kind "io", "no_space" or "network"."""

    errno: int | None = numbers.EIO


class BusyError(Error, BlockingIOError):
    """Another process holds the lock of the target."""

    errno: int | None = numbers.EAGAIN


class InvalidArgumentError(Error, ValueError):
    """The caller passed an invalid argument."""


class DataLossError(Error, ValueError):
    """The input is damaged: kind "truncated", "corrupted" or "checksum_mismatch"."""


class UnsupportedError(Error, ValueError):
    """The input is well formed, but not supported."""


class LimitExceededError(Error, ValueError):
    """A documented limit on memory, size, depth or count was reached."""


class CancelledError(Error):
    """The caller requested a stop."""


_CLASSES: dict[str, type[Error]] = {
    "invalid_argument": InvalidArgumentError,
    "not_found": NotFoundError,
    "already_exists": AlreadyExistsError,
    "permission_denied": PermissionDeniedError,
    "io": FileSystemError,
    "no_space": FileSystemError,
    "network": FileSystemError,
    "truncated": DataLossError,
    "corrupted": DataLossError,
    "checksum_mismatch": DataLossError,
    "unsupported": UnsupportedError,
    "limit_exceeded": LimitExceededError,
    "busy": BusyError,
    "cancelled": CancelledError,
}


def _make(
    kind: str, message: str, path: str | None, offset: int | None, reason: str, hint: str
) -> Error:
    error = _CLASSES[kind](message)
    if kind == "not_found" and path is not None and offset is None:
        error = MissingFileError(message)  # else a feature, or one of a record
    _describe(error, kind, path, offset, reason, hint)
    return error


def error_of(kind: str, reason: str, hint: str = "", path: str | None = None) -> Error:
    """An error that Python code finds, with the message that native code would make."""
    path = None if path is None else native.without_secrets(path)
    message = reason if path is None else f"{path}: {reason}"
    return _make(kind, f"{message} ({hint})" if hint else message, path, None, reason, hint)


def _describe(
    error: Error, kind: str, path: str | None, offset: int | None, reason: str, hint: str
) -> None:
    error.kind, error.path, error.offset, error.reason, error.hint = (
        kind,
        path,
        offset,
        reason,
        hint,
    )
    if isinstance(error, OSError):
        # Python's own str() would use it, but for Error.__str__.
        error.filename = path
    if kind == "no_space" and isinstance(error, FileSystemError):
        error.errno = numbers.ENOSPC


# Starts the line of a traceback that has the attributes of an error, as JSON.
_CARRIED = "\nrecordpipe.Error: "


def _carry(error: Error) -> None:
    """Adds the attributes to the text of the traceback, for a process that gets only that."""
    names = ("kind", "path", "offset", "reason", "hint")
    fields = {name: getattr(error, name) for name in names}
    error.add_note(_CARRIED[1:] + json.dumps(fields))


def _restore(error: Error, traceback: str) -> None:
    """Takes the attributes out of the text of a traceback, and leaves the rest as the message."""
    before, _, line = traceback.rpartition(_CARRIED)
    carried, _, after = line.partition("\n")
    try:
        fields = json.loads(carried)
        _describe(error, **fields)
    except (TypeError, ValueError):  # another text, which only looks like ours
        return
    error.args = (before + "\n" + after,)
