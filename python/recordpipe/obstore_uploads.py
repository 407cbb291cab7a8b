"""Uploads to object stores, through obstore."""

from __future__ import annotations

import contextlib
import itertools
import queue
import threading
import time
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from recordpipe.errors import Error, UnsupportedError, _make
from recordpipe.store_requests import status_of

if TYPE_CHECKING:
    from recordpipe.obstore_files import StoreFiles

__all__ = ["Upload"]

_PART_SIZE = 16 << 20
# Seconds in which an upload that is aborted may remove its parts.
_END = 5.0
_UNKNOWN: dict[str, str] = {}


class _Aborted(Exception):
    pass


class Upload:
    """An upload, in parts if there are several, on a thread of its own.

    It replaces only the object that was there at its beginning, if it may look. The store checks
    that, but for an upload in parts, for which obstore has no condition: that is compared just
    before it is completed. If the answer to the last request is lost, the content of the object
    tells whether the request was carried out. obstore.open_writer() would leave the parts of an
    upload that isn't completed.
    """

    is_abandonable = True  # abort() may be called while another method runs

    def __init__(self, files: StoreFiles, key: str, path: str) -> None:
        self._files, self._key, self._path = files, key, path
        self._stopped = threading.Event()  # by abort()
        self._before = self._version()
        self._parts: queue.Queue[bytes | None] = queue.Queue(maxsize=1)
        self._size = 0
        self._sent_size, self._sent_crc, self._is_sent = 0, 0, False
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
        """A request that the service doesn't answer is left alone."""
        self._stopped.set()
        end = time.monotonic() + _END
        while self._thread.is_alive() and time.monotonic() < end:
            # Whatever comes next, the thread ends at it.
            with contextlib.suppress(queue.Full):
                self._parts.put_nowait(None)
            self._thread.join(0.1)

    def _send(self, part: bytes | None) -> None:
        while True:
            if self._error is not None:
                raise self._error
            if self._stopped.is_set():
                raise _Aborted
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
                    self._put_parts(itertools.chain(begin, parts))
                    return
            self._put(b"".join(begin))
        except BaseException as error:
            self._error = error

    def _put_parts(self, parts: Iterator[bytes]) -> None:
        try:
            self._files.put_parts(self._key, self._path, parts, _PART_SIZE)
        except Exception:
            # The last request is repeated if its answer is lost, and then there is no such upload.
            with contextlib.suppress(Exception):
                if self._is_sent and self._is_there():
                    return
            raise

    def _put(self, content: bytes) -> None:
        from obstore.exceptions import (
            AlreadyExistsError,
            GenericError,
            NotSupportedError,
            PreconditionError,
        )

        files, key, path, stopped = self._files, self._key, self._path, self._stopped
        if self._before != _UNKNOWN:
            try:
                if files.has_conditions:
                    files.put(key, path, content, self._before or "create", stopped)
                    return
            except (AlreadyExistsError, PreconditionError, FileExistsError):
                # A request is repeated whose answer was lost.
                if not self._is_there():
                    raise self._written_meanwhile() from None
                return
            except FileNotFoundError:
                if not self._before:
                    raise  # no such bucket
                raise self._written_meanwhile() from None
            except (NotSupportedError, NotImplementedError, UnsupportedError):
                files.has_conditions = False
            except GenericError as error:
                if status_of(error) != 501:  # Not Implemented
                    raise
                files.has_conditions = False
            if self._has_changed():
                raise self._written_meanwhile()
        files.put(key, path, content, "overwrite", stopped)

    def _version(self) -> dict[str, str] | None:
        """Of the object; None if there is none, _UNKNOWN if it can't be told."""
        from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

        try:
            found = self._head()
        except FileNotFoundError:
            return None
        except (PermissionDeniedError, UnauthenticatedError, PermissionError):
            return _UNKNOWN  # one may be allowed to write only
        return _version_in(found)

    def _head(self) -> Any:
        return self._files.head(self._key, self._path, self._stopped)

    def _is_there(self) -> bool:
        """Whether the object is another one than before, and has the content that was sent."""
        try:
            found = self._head()
            if _version_in(found) == self._before or found["size"] != self._sent_size:
                return False
            crc = 0
            for begin in range(0, self._sent_size, _PART_SIZE):
                end = min(begin + _PART_SIZE, self._sent_size)
                if self._stopped.is_set():
                    raise _Aborted
                part = self._files.get(self._key, self._path, begin, end, self._stopped)
                crc = zlib.crc32(part, crc)
        except FileNotFoundError:
            return False
        return crc == self._sent_crc

    def _has_changed(self) -> bool:
        return self._before != _UNKNOWN and self._version() != self._before

    def _written_meanwhile(self) -> Error:
        reason = "another program has written this object meanwhile"
        hint = "give another name, or repeat to replace the object"
        message = f"{self._path}: {reason} ({hint})"
        return _make("already_exists", message, self._path, None, reason, hint)

    def _received(self) -> Iterator[bytes]:
        while (part := self._parts.get()) is not None and not self._stopped.is_set():
            self._sent_size += len(part)
            self._sent_crc = zlib.crc32(part, self._sent_crc)
            yield part
        if self._stopped.is_set():
            raise _Aborted
        self._is_sent = True


def _version_in(found: Any) -> dict[str, str]:
    return {name: found[name] for name in ("e_tag", "version") if found[name]}
