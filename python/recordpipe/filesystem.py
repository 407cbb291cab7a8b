"""Files in object stores and on other file systems: the argument ``filesystem``.

Without it, ``s3://`` and ``gs://`` URLs are read and written, and ``http(s)://`` URLs read, as the
``tfrecord`` command does: with the settings and credentials of the environment (AWS_...,
GOOGLE_...), of AWS profiles and of the services' machines. docs/remote-files.md lists them. All
other paths are files on this machine.

With it, all paths of the call are names on that file system, except ``file://`` URLs, which are on
this machine in any case. It is one of:

- a filesystem of fsspec: ``s3fs.S3FileSystem()``, ``fsspec.filesystem("gcs")``,
  ``obstore.fsspec.FsspecStore("az")``, ...;
- a filesystem of pyarrow: ``pyarrow.fs.S3FileSystem()``, ``pyarrow.fs.SubTreeFileSystem(...)``;
- any object with the methods of :class:`FileSystem`.

    fs = s3fs.S3FileSystem(profile="training")
    ds = rp.tfrecords("s3://bucket/train-*.tfrecord", filesystem=fs)
    rp.convert("s3://bucket/train-*", "file:///data/train.tfrecord", filesystem=fs)

Files are read in ranges of up to 8 MiB, several at a time for each open file (four of a filesystem,
eight of a URL), and as streams. The next 64 files of a Dataset are opened ahead, and the next four
are read ahead, so that many small files take as long as a large one. All streams of a Dataset
together hold at most 128 MiB of ranges, and 8 MiB more each; with ``memory_limit``, at most half of
it. Patterns list their folder. Random access (``ds[i]``, ``shuffle(seed=7)``) is one request for
each record, and needs an index (:func:`index`), or the headers of all records are read first.

Files appear whole or not at all, if the file system can do it: an upload is completed at the end
(URLs, fsspec), or the file is renamed (pyarrow).

A file that is replaced while it is read is an error that names it: of a URL at the next read
(If-Match), of a filesystem when its size changes, or at the end of the file.

Errors of URLs are those of recordpipe, with URL, reason and hint. Transient failures (408, 429,
500, 502, 503, 504, broken connections, 30 seconds of silence) are retried five times, after 1 to 16
seconds; a server that never answered, once. Exceptions of a filesystem are raised as they are, with
a note that names the path, and its requests are not repeated here: s3fs and pyarrow do that
themselves.

The certificates that are trusted are those of CURL_CA_BUNDLE, or of SSL_CERT_FILE and SSL_CERT_DIR;
else the system's; and if it has none, certifi's. Proxies: http_proxy, https_proxy, no_proxy.

A Dataset, and a task of an ``executor``, are pickled with the filesystem that was passed, which
must be picklable, and with its credentials if it has any. States, plans, manifests and messages
have none. Without ``filesystem``, each process takes its credentials from its own environment; so
does one made by fork(), which has connections of its own.

Ctrl-C ends a pass or a call at once while it waits for a server. A read of a filesystem in Python
that hangs goes on on its own thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

__all__ = ["FileSystem", "Status", "WritableFile"]

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
