"""Files in object stores and on other file systems: the argument ``filesystem``.

Without it, paths that begin with ``s3://``, ``gs://`` or ``az://`` are read and written through
obstore (``pip install obstore``), with the settings and credentials of the environment (AWS_...,
GOOGLE_..., AZURE_...), and all others are files on this machine.

With it, all paths of the call are names on that file system, except ``file://`` URLs, which are on
this machine in any case. It is one of:

- a filesystem of fsspec: ``s3fs.S3FileSystem()``, ``fsspec.filesystem("gcs")``, ...;
- a filesystem of pyarrow: ``pyarrow.fs.S3FileSystem()``, ``pyarrow.fs.SubTreeFileSystem(...)``;
- a store of obstore: ``obstore.store.S3Store("bucket")``. Paths are keys in it, also behind its own
  URL (``s3://bucket/KEY``);
- any object with the methods of :class:`FileSystem`.

    fs = s3fs.S3FileSystem(profile="training")
    ds = rp.tfrecords("s3://bucket/train-*.tfrecord", filesystem=fs)
    rp.convert("s3://bucket/train-*", "file:///data/train.tfrecord", filesystem=fs)

Files are read in ranges of up to 8 MiB, up to four at a time for each open file (32 MiB), and as
streams. The next 64 files of a Dataset are opened ahead, and the next four are read ahead, so that
many small files take as long as a large one. All streams of a Dataset together hold at most 128 MiB
of ranges, and 8 MiB more each; with ``memory_limit``, at most half of it. Patterns list their
folder. Random access (``ds[i]``, ``shuffle(seed=7)``) is one request for each record, and needs an
index (:func:`index`), or the headers of all records are read first.

Files appear whole or not at all, if the file system can do it: an upload is completed at the end
(obstore, fsspec), or the file is renamed (pyarrow).

A file that is replaced while it is read is an error that names it: for obstore at the next read
(If-Match), for others when their size changes, or at the end of the file.

Exceptions of a file system are raised as they are, with a note that names the path. Its requests
are not repeated here: obstore, s3fs and pyarrow do that themselves.

Of URLs, without ``filesystem``, errors are those of recordpipe, with URL, offset, reason and hint.
Transient failures (408, 429, 500, 502, 503, 504, broken connections) are retried for one minute. If
a server sends nothing for 30 seconds, the request is repeated; it fails after about one minute, or
two if a part of the answer has arrived.

A Dataset, and a task of an ``executor``, are pickled with the filesystem that was passed, which
must be picklable, and with its credentials if it has any. States, plans, manifests and messages
have none. Without ``filesystem``, each process takes its credentials from its own environment.
obstore doesn't work in a process made by fork() if the parent has used it: use no workers, or those
of ``multiprocessing_context="forkserver"`` or "spawn" (a ProcessPoolExecutor's:
``mp_context=multiprocessing.get_context("spawn")``).

While a read in Python hangs, Ctrl-C ends the pass at once; the read goes on on its own thread. An
upload through obstore ends within five seconds.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from recordpipe import _native
from recordpipe.errors import _make

if TYPE_CHECKING:
    from recordpipe.obstore_files import StoreFiles

__all__ = [
    "FileSystem",
    "Status",
    "WritableFile",
    "adapted",
    "clouds",
    "files_on",
    "require_obstore",
]

# The kind ("file", "directory" or "other"), the size in bytes, and the version: an ETag, a time of
# modification, or "" if neither is known.
Status = tuple[str, int, str]


class WritableFile(Protocol):
    """A file of :meth:`FileSystem.open_writer`. One thread at a time uses it."""

    def write(self, data: bytes, /) -> Any: ...

    def close(self) -> Any:
        """Completes the file, which appears under its name."""

    def abort(self) -> Any:
        """Drops what was written. May be called after a failed close()."""


@runtime_checkable
class FileSystem(Protocol):
    """What a file system of your own needs. All methods are called on any threads.

    Attributes that may be missing:
        is_object_store: True if names that end with a slash are folders, and no others.
        reads_are_conditional: True if ``read_range`` refuses a file of another version.

    Methods that may be missing:
        read_head(path, length): returns None if there is no such file, otherwise its ``status`` and
            its first bytes, at most ``length``, with one request.
        remove(path): removes a file, if it is there. Without it, jobs leave the records in .shards.
    """

    def status(self, path: str, /) -> Status | None:
        """Describes a file; None if there is none."""

    def read_range(self, path: str, start: int, length: int, version: str, /) -> Any:
        """Returns the bytes from ``start`` on, as an object with the buffer protocol.

        They may be fewer than ``length``, but at least one: the rest is then read again.
        ``version`` is that of ``status``.
        """

    def list(self, directory: str, prefix: str, /) -> Iterable[tuple[str, str, int | None]]:
        """Returns the names in a directory that start with ``prefix``, their kinds and sizes."""

    def open_writer(self, path: str, /) -> WritableFile:
        """Begins a file."""


def files_on(filesystem: Any) -> _native.FileSystem:
    """Returns what native functions take for the argument ``filesystem``."""
    if filesystem is None:
        return _DEFAULT
    return _native.FileSystem(adapted(filesystem), False)


def require_obstore(url: str) -> None:
    if importlib.util.find_spec("obstore") is None:
        reason, hint = "needs the package obstore", "pip install obstore"
        raise _make("unsupported", f"{url}: {reason} ({hint})", url, None, reason, hint)


def adapted(filesystem: Any) -> FileSystem:
    """Returns ``filesystem`` if it has the methods, or an adapter."""
    if isinstance(filesystem, FileSystem):
        return filesystem
    if hasattr(filesystem, "_strip_protocol") and hasattr(filesystem, "cat_file"):
        from recordpipe.filesystem_adapters import FsspecFiles

        return FsspecFiles(filesystem)
    package = {name.__module__.partition(".")[0] for name in type(filesystem).__mro__}
    if "pyarrow" in package and hasattr(filesystem, "open_input_file"):
        from recordpipe.filesystem_adapters import ArrowFiles

        return ArrowFiles(filesystem)
    if "obstore" in package:
        from recordpipe.obstore_files import StoreFiles

        return StoreFiles(filesystem)
    raise TypeError(
        "filesystem is one of fsspec, pyarrow.fs or obstore, or has the methods of "
        f"recordpipe.FileSystem, unlike {type(filesystem).__name__}"
    )


class _Clouds:
    """s3://, gs:// and az:// URLs: each bucket is a store of obstore, opened at its first use."""

    is_object_store = True
    reads_are_conditional = True

    def status(self, path: str, /) -> Status | None:
        return self._store(path).status(path)

    def read_range(self, path: str, start: int, length: int, version: str, /) -> Any:
        return self._store(path).read_range(path, start, length, version)

    def read_head(self, path: str, length: int, /) -> tuple[Status, Any] | None:
        return self._store(path).read_head(path, length)

    def list(self, directory: str, prefix: str, /) -> Iterable[tuple[str, str, int | None]]:
        return self._store(directory).list(directory, prefix)

    def open_writer(self, path: str, /) -> WritableFile:
        return self._store(path).open_writer(path)

    def remove(self, path: str, /) -> None:
        self._store(path).remove(path)

    def _store(self, url: str) -> StoreFiles:
        from recordpipe.obstore_files import store_of

        return store_of(url)


_CLOUDS = _Clouds()
_DEFAULT = _native.FileSystem(_CLOUDS, True)


def clouds() -> FileSystem:
    """The object stores that URLs name."""
    return _CLOUDS
