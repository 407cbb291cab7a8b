"""Object stores and web servers, through obstore: for ``filesystem`` and for URLs."""

from __future__ import annotations

import contextlib
import os
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from recordpipe.errors import Error, _make
from recordpipe.filesystem import Status, WritableFile
from recordpipe.obstore_uploads import Upload
from recordpipe.store_requests import Requests, failure
from recordpipe.store_settings import Use, options_of

__all__ = ["StoreFiles", "store_of"]

_WEB = ("http://", "https://")

Answer = TypeVar("Answer")

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
            store = _stores[bucket] = StoreFiles(_opened(bucket, "read"), bucket)
        return store


def _opened(bucket: str, use: Use) -> Any:
    from obstore.exceptions import BaseError
    from obstore.store import from_url

    try:
        return from_url(bucket, **options_of(bucket, use))
    except BaseError as error:
        raise failure(error, bucket) from None


class StoreFiles:
    """The objects of a store. A path is a key, or a URL that starts with ``url``."""

    is_object_store = True
    reads_are_conditional = True

    def __init__(self, store: Any, url: str = "") -> None:
        self._stores = {"read": store} if url else dict.fromkeys(("read", "write", "parts"), store)
        self._url = url
        self._requests = Requests() if url else None
        self._process: int | None = None
        # False once the service has refused conditions of a write.
        self.has_conditions = True

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
            return _status(self._send(lambda: self._store("read").head(key), path))
        except FileNotFoundError:
            return None

    def read_head(self, path: str, length: int, /) -> tuple[Status, Any] | None:
        from obstore.exceptions import BaseError

        key = self._key(path)
        if not key or key.endswith("/"):
            return ("directory", 0, ""), b""

        def read() -> tuple[Status, Any]:
            found = self._store("read").get(key, options={"range": (0, length)})
            return _status(found.meta), found.bytes()

        try:
            return self._send(read, path, 0)
        except FileNotFoundError:
            return None
        except (BaseError, Error) as error:
            if isinstance(error, Error) and "416" not in error.reason:
                raise
            # An empty object has no range.
            status = self.status(path)
            if status is None or status[1] > 0:
                raise
            return status, b""

    def read_range(self, path: str, start: int, length: int, version: str, /) -> Any:
        from obstore.exceptions import PreconditionError

        options: dict[str, Any] = {"range": (start, start + length)}
        if version.startswith('"'):
            options["if_match"] = version

        def read() -> Any:
            found = self._store("read").get(self._key(path), options=options)
            # A weak ETag is no condition, and some servers ignore conditions.
            if _status(found.meta)[2] != version:
                raise PreconditionError(path)
            return found.bytes()

        try:
            return self._send(read, path, start)
        except (PreconditionError, FileNotFoundError):
            raise _replaced(path, start) from None

    def list(self, directory: str, prefix: str, /) -> Iterator[tuple[str, str, int | None]]:
        folder = self._key(directory)
        if folder and not folder.endswith("/"):
            folder += "/"
        # The store lists whole folders only.
        found = self._send(
            lambda: self._store("read").list_with_delimiter(folder or None), directory
        )
        for name in found["common_prefixes"]:
            yield name.rstrip("/").rpartition("/")[2], "directory", None
        for entry in found["objects"]:
            yield entry["path"].rpartition("/")[2], "file", entry["size"]

    def open_writer(self, path: str, /) -> WritableFile:
        if path.startswith(_WEB):
            raise _unsupported(path, "nothing is written to web servers", "write a local file")
        return Upload(self, self._key(path), path)

    def remove(self, path: str, /) -> None:
        key = self._key(path)
        with contextlib.suppress(FileNotFoundError):
            self._send(lambda: self._store("read").delete(key), path)

    # For uploads (obstore_uploads.py). Once ``stopped`` is set, nothing is repeated.

    def head(self, key: str, path: str, stopped: threading.Event) -> Any:
        return self._send(lambda: self._store("read").head(key), path, stopped=stopped)

    def get(self, key: str, path: str, begin: int, end: int, stopped: threading.Event) -> bytes:
        def read() -> bytes:
            found = self._store("read").get(key, options={"range": (begin, end)})
            return bytes(found.bytes())

        return self._send(read, path, stopped=stopped) if begin < end else b""

    def put(self, key: str, path: str, content: bytes, mode: Any, stopped: threading.Event) -> None:
        options = {} if mode == "overwrite" else {"mode": mode}
        try:
            self._send(
                lambda: self._store("write").put(key, content, **options), path, stopped=stopped
            )
        except FileNotFoundError as error:
            raise self._failure(error, path) from None

    def put_parts(self, key: str, path: str, parts: Iterator[bytes], size: int) -> None:
        """Can't be repeated: the parts are gone."""
        from obstore.exceptions import BaseError

        try:
            self._store("parts").put(key, parts, chunk_size=size)
        except (BaseError, FileNotFoundError) as error:
            raise self._failure(error, path) from None

    def _failure(self, error: Exception, path: str) -> Exception:
        return failure(error, path) if self._url else error

    def _store(self, use: Use) -> Any:
        store = self._stores.get(use)
        if store is None:
            # Two threads may open one each: then one of them is dropped.
            store = self._stores.setdefault(use, _opened(self._url, use))
        return store

    def _send(
        self,
        request: Callable[[], Answer],
        path: str,
        offset: int | None = None,
        stopped: threading.Event | None = None,
    ) -> Answer:
        """Exceptions of a store that the user has passed are raised as they are."""
        if self._requests is None:
            return request()
        return self._requests.send(request, path, offset, stopped)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_process": None}


def _status(found: Any) -> Status:
    return "file", found["size"], found["e_tag"] or str(found["last_modified"])


def _unsupported(path: str, reason: str, hint: str) -> Error:
    return _make("unsupported", f"{path}: {reason} ({hint})", path, None, reason, hint)


def _replaced(path: str, offset: int) -> Error:
    reason, hint = "it was replaced while it was read", "read it again from the start"
    return _make("network", f"{path}: {reason} at {offset} ({hint})", path, offset, reason, hint)
