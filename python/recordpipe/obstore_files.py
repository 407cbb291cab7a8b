"""Object stores and web servers, through obstore: for ``filesystem`` and for URLs."""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import threading
import urllib.parse
from collections.abc import Iterator
from typing import Any

from recordpipe.aws_profile import options_of_profile
from recordpipe.errors import Error, _make
from recordpipe.filesystem import Status, WritableFile

__all__ = ["StoreFiles", "store_of"]

_PART_SIZE = 16 << 20
_WEB = ("http://", "https://")
_UNKNOWN: dict[str, str] = {}

_stores: dict[str, StoreFiles] = {}
_lock = threading.Lock()
os.register_at_fork(
    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
)


def store_of(url: str) -> StoreFiles:
    """Returns the store of a URL's bucket, with the settings of the environment."""
    scheme, _, rest = url.partition("://")
    bucket = f"{scheme}://{rest.partition('/')[0]}"
    with _lock:
        store = _stores.get(bucket)
        if store is None:
            store = _stores[bucket] = StoreFiles(_opened(bucket), bucket)
        return store


def _opened(bucket: str) -> Any:
    from obstore.store import from_url

    options: dict[str, Any] = {}
    if bucket.startswith("s3://"):
        # Endpoints on this machine (MinIO, moto) have no TLS.
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
        if endpoint:
            options["endpoint"] = endpoint
        if endpoint.startswith("http://"):
            options["client_options"] = {"allow_http": True}
        if os.environ.get("AWS_NO_SIGN_REQUEST", "").lower() == "true":
            options["skip_signature"] = True
        options |= options_of_profile()
    if bucket.startswith("http://"):
        options["client_options"] = {"allow_http": True}
    return from_url(bucket, **options)


class StoreFiles:
    """The objects of a store. A path is a key, or a URL that starts with ``url``."""

    is_object_store = True
    reads_are_conditional = True

    def __init__(self, store: Any, url: str = "") -> None:
        self._store = store
        self._url = url
        self._process: int | None = None

    def _key(self, path: str) -> str:
        if self._process is None:
            self._process = os.getpid()
        elif self._process != os.getpid():
            hint = 'start processes by "forkserver" or "spawn": multiprocessing_context= of a '
            hint += "DataLoader, mp_context= of a ProcessPoolExecutor"
            reason = "obstore was used before fork(), and doesn't work in this process"
            raise _unsupported(path, reason, hint)
        if path == ".":
            return ""  # the folder of names without one
        if "://" not in path:
            return path.lstrip("/")
        key = path.partition("://")[2].partition("/")[2]
        return urllib.parse.unquote(key) if path.startswith(_WEB) else key

    def status(self, path: str, /) -> Status | None:
        key = self._key(path)
        if not key or key.endswith("/"):
            return "directory", 0, ""
        try:
            found = self._store.head(key)
        except FileNotFoundError:
            return None
        return _status(found)

    def read_head(self, path: str, length: int, /) -> tuple[Status, Any] | None:
        from obstore.exceptions import BaseError

        key = self._key(path)
        if not key or key.endswith("/"):
            return ("directory", 0, ""), b""
        try:
            found = self._store.get(key, options={"range": (0, length)})
            return _status(found.meta), found.bytes()
        except FileNotFoundError:
            return None
        except BaseError:
            # An empty object has no range.
            status = self.status(path)
            if status is None or status[1] > 0:
                raise
            return status, b""

    def read_range(self, path: str, start: int, length: int, version: str, /) -> Any:
        from obstore.exceptions import NotFoundError, PreconditionError

        options: dict[str, Any] = {"range": (start, start + length)}
        if version.startswith(('"', "W/")):
            options["if_match"] = version
        try:
            return self._store.get(self._key(path), options=options).bytes()
        except (PreconditionError, NotFoundError, FileNotFoundError):
            raise _replaced(path) from None

    def list(self, directory: str, prefix: str, /) -> Iterator[tuple[str, str, int | None]]:
        folder = self._key(directory)
        if folder and not folder.endswith("/"):
            folder += "/"
        # The store lists whole folders only.
        found = self._store.list_with_delimiter(folder or None)
        for name in found["common_prefixes"]:
            yield name.rstrip("/").rpartition("/")[2], "directory", None
        for entry in found["objects"]:
            yield entry["path"].rpartition("/")[2], "file", entry["size"]

    def open_writer(self, path: str, /) -> WritableFile:
        if path.startswith(_WEB):
            raise _unsupported(path, "nothing is written to web servers", "write a local file")
        return _Upload(self._store, self._key(path), path)

    def remove(self, path: str, /) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._store.delete(self._key(path))

    def __getstate__(self) -> dict[str, Any]:
        return {"_store": self._store, "_url": self._url, "_process": None}


def _status(found: Any) -> Status:
    return "file", found["size"], found["e_tag"] or str(found["last_modified"])


def _unsupported(path: str, reason: str, hint: str) -> Error:
    return _make("unsupported", f"{path}: {reason} ({hint})", path, None, reason, hint)


def _replaced(path: str) -> Error:
    reason, hint = "it was replaced while it was read", "read it again from the start"
    return _make("network", f"{path}: {reason} ({hint})", path, None, reason, hint)


class _Aborted(Exception):
    pass


class _Upload:
    """An upload, in parts if there are several, on a thread of its own.

    It replaces only the object that was there at its beginning, if it may look. The store checks
    that, but for an upload in parts, for which obstore has no condition: that is compared just
    before it is completed. obstore.open_writer() would leave the parts of an upload that isn't
    completed.
    """

    def __init__(self, store: Any, key: str, path: str) -> None:
        self._store, self._key, self._path = store, key, path
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
                    self._store.put(self._key, whole, chunk_size=_PART_SIZE)
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

        if self._before != _UNKNOWN:
            try:
                self._store.put(self._key, content, mode=self._before or "create")
                return
            except (AlreadyExistsError, PreconditionError, FileExistsError):
                # obstore repeats a request whose answer was lost.
                if bytes(self._store.get(self._key).bytes()) != content:
                    raise self._written_meanwhile() from None
                return
            except (NotSupportedError, NotImplementedError):
                pass
            except GenericError as error:
                if "501" not in str(error):  # Not Implemented
                    raise
            if self._has_changed():
                raise self._written_meanwhile()
        self._store.put(self._key, content)

    def _version(self) -> dict[str, str] | None:
        """Of the object; None if there is none, _UNKNOWN if it can't be told."""
        from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

        try:
            found = self._store.head(self._key)
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
