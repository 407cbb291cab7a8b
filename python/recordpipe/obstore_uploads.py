"""Uploads to object stores, through obstore."""

from __future__ import annotations

import contextlib
import itertools
import queue
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from recordpipe.errors import Error, UnsupportedError, _make

if TYPE_CHECKING:
    from recordpipe.obstore_files import StoreFiles

__all__ = ["Upload"]

_PART_SIZE = 16 << 20
_UNKNOWN: dict[str, str] = {}


class _Aborted(Exception):
    pass


class Upload:
    """An upload, in parts if there are several, on a thread of its own.

    It replaces only the object that was there at its beginning, if it may look. The store checks
    that, but for an upload in parts, for which obstore has no condition: that is compared just
    before it is completed. obstore.open_writer() would leave the parts of an upload that isn't
    completed.
    """

    def __init__(self, files: StoreFiles, key: str, path: str) -> None:
        self._files, self._key, self._path = files, key, path
        self._before = self._version()
        self._parts: queue.Queue[bytes | None] = queue.Queue(maxsize=1)
        self._size = 0
        self._is_aborted = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def write(self, data: bytes, /) -> None:
        self._size += len(data)
        self._send(data)

    def close(self) -> None:
        # Here: the thread that uploads parts can't make other requests.
        if self._size > _PART_SIZE and self._has_changed():
            self.abort()
            raise self._written_meanwhile()
        self._send(None)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def abort(self) -> None:
        self._is_aborted = True
        while self._thread.is_alive():
            with contextlib.suppress(queue.Full):
                self._parts.put(None, timeout=0.1)
                self._thread.join()

    def _send(self, part: bytes | None) -> None:
        while True:
            if self._error is not None:
                raise self._error
            with contextlib.suppress(queue.Full):
                return self._parts.put(part, timeout=0.1)

    def _run(self) -> None:
        try:
            parts = self._received()
            begin, size = [], 0
            for part in parts:
                begin.append(part)
                size += len(part)
                if size > _PART_SIZE:
                    whole = itertools.chain(begin, parts)
                    self._files.put_parts(self._key, self._path, whole, _PART_SIZE)
                    return
            self._put(b"".join(begin))
        except BaseException as error:
            self._error = error

    def _put(self, content: bytes) -> None:
        from obstore.exceptions import (
            AlreadyExistsError,
            GenericError,
            NotSupportedError,
            PreconditionError,
        )

        files, key, path = self._files, self._key, self._path
        if self._before != _UNKNOWN:
            try:
                if files.has_conditions:
                    files.put(key, path, content, self._before or "create")
                    return
            except (AlreadyExistsError, PreconditionError, FileExistsError):
                # A request is repeated whose answer was lost.
                if files.get(key, path) != content:
                    raise self._written_meanwhile() from None
                return
            except (NotSupportedError, NotImplementedError, UnsupportedError):
                files.has_conditions = False
            except GenericError as error:
                if "501" not in str(error):  # Not Implemented
                    raise
                files.has_conditions = False
            if self._has_changed():
                raise self._written_meanwhile()
        files.put(key, path, content, "overwrite")

    def _version(self) -> dict[str, str] | None:
        """Of the object; None if there is none, _UNKNOWN if it can't be told."""
        from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

        try:
            found = self._files.head(self._key, self._path)
        except FileNotFoundError:
            return None
        except (PermissionDeniedError, UnauthenticatedError, PermissionError):
            return _UNKNOWN  # one may be allowed to write only
        return {name: found[name] for name in ("e_tag", "version") if found[name]}

    def _has_changed(self) -> bool:
        return self._before != _UNKNOWN and self._version() != self._before

    def _written_meanwhile(self) -> Error:
        reason = "another program has written this object meanwhile"
        hint = "give another name, or repeat to replace the object"
        message = f"{self._path}: {reason} ({hint})"
        return _make("already_exists", message, self._path, None, reason, hint)

    def _received(self) -> Iterator[bytes]:
        while (part := self._parts.get()) is not None:
            yield part
        if self._is_aborted:
            raise _Aborted
