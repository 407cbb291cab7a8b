"""What native functions take for ``filesystem`` (filesystem.py), also of fsspec and pyarrow."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from recordpipe import _native
from recordpipe.filesystem import FileSystem, Status, WritableFile

__all__ = ["ArrowFiles", "FsspecFiles", "RenamedFile", "files_on"]

# How the variables begin that object stores read (docs/remote-files.md).
_VARIABLES = (
    "AWS_",
    "GOOGLE_",
    "CLOUDSDK_",
    "GCE_",
    "NO_GCE_CHECK",
    "STORAGE_EMULATOR_HOST",
    "HOME",
)

# The protocols of stores that keep what is written to a file apart until it is committed.
_STORES = {"s3", "gs"}

# What file systems call the version of a file.
_VERSIONS = (
    "ETag",
    "etag",
    "e_tag",
    "md5Hash",
    "LastModified",
    "last_modified",
    "mtime",
    "created",
)


def files_on(filesystem: Any) -> _native.FileSystem:
    """Returns what native functions take for the argument ``filesystem``."""
    if filesystem is None:
        return _files_and_urls(_settings())
    return _native.FileSystem(_adapted(filesystem))


def _settings() -> tuple[str, ...]:
    """The variables of object stores: a notebook may change them."""
    return tuple(f"{name}={os.environ[name]}" for name in os.environ if name.startswith(_VARIABLES))


@functools.cache  # it keeps credentials, and what is known of buckets
def _files_and_urls(settings: tuple[str, ...]) -> _native.FileSystem:
    ca_file = ""
    if not _native.has_certificates():
        with contextlib.suppress(ImportError):
            ca_file = importlib.import_module("certifi").where()
    return _native.FileSystem.of_urls(ca_file)


def _adapted(filesystem: Any) -> FileSystem:
    """Returns ``filesystem`` if it has the methods, or an adapter."""
    if isinstance(filesystem, FileSystem):
        return filesystem
    if hasattr(filesystem, "_strip_protocol") and hasattr(filesystem, "cat_file"):
        return FsspecFiles(filesystem)
    package = {name.__module__.partition(".")[0] for name in type(filesystem).__mro__}
    if "pyarrow" in package and hasattr(filesystem, "open_input_file"):
        return ArrowFiles(filesystem)
    raise TypeError(
        "filesystem is one of fsspec (of obstore: obstore.fsspec.FsspecStore) or pyarrow.fs, or "
        f"has the methods of recordpipe.FileSystem, unlike {type(filesystem).__name__}"
    )


class FsspecFiles:
    """The files of an fsspec file system. In a process made by fork(), a new one like it is used.

    Listings that fsspec keeps are not used to find out whether a file has changed.
    """

    def __init__(self, filesystem: Any) -> None:
        self._fs = filesystem
        self._process = os.getpid()

    def _own(self) -> Any:
        if self._process != os.getpid():
            # Asynchronous ones have a thread and connections in the parent.
            self._fs = _again(self._fs)
            self._process = os.getpid()
        return self._fs

    def status(self, path: str, /) -> Status | None:
        fs = self._own()
        fs.invalidate_cache(fs._parent(path))
        try:
            found = fs.info(path)
        except FileNotFoundError:
            return None
        kind = found["type"]
        if kind not in ("file", "directory"):
            kind = "other"
        return kind, found["size"] or 0, _version(found)

    def read_range(self, path: str, start: int, length: int, version: str, /) -> Any:
        return self._own().cat_file(path, start=start, end=start + length)

    def list(self, directory: str, prefix: str, /) -> Iterator[tuple[str, str, int | None]]:
        fs = self._own()
        folder = directory + "//" if directory.endswith(":") else directory
        fs.invalidate_cache(fs._strip_protocol(folder))
        try:
            found = fs.ls(folder, detail=True)
        except FileNotFoundError:
            return
        for entry in found:
            yield entry["name"].rstrip("/").rpartition("/")[2], entry["type"], entry.get("size")

    def open_writer(self, path: str, /) -> WritableFile:
        fs = self._own()
        protocols = {fs.protocol} if isinstance(fs.protocol, str) else set(fs.protocol)
        # obstore.fsspec doesn't know autocommit.
        if protocols & _STORES and not type(fs).__module__.startswith("obstore."):
            return _Committed(fs.open(path, "wb", autocommit=False))

        def make_folder() -> None:
            fs.makedirs(fs._parent(path), exist_ok=True)

        if "file" in protocols:
            return _Committed(
                _in_folder(make_folder, lambda: fs.open(path, "wb", autocommit=False))
            )
        return RenamedFile(
            path,
            lambda name: _in_folder(make_folder, lambda: fs.open(name, "wb")),
            fs.mv,
            fs.rm_file,
        )

    def remove(self, path: str, /) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._own().rm_file(path)


def _in_folder(make_folder: Callable[[], object], open_file: Callable[[], Any]) -> Any:
    """Opens a file for writing. Makes its folder if it is missing, as object stores do."""
    try:
        return open_file()
    except FileNotFoundError:
        make_folder()
        return open_file()


def _version(found: dict[str, Any]) -> str:
    for name in _VERSIONS:
        if found.get(name):
            return str(found[name])
    return ""


def _again(fs: Any) -> Any:
    from fsspec import asyn

    if getattr(fs, "async_impl", False):
        asyn.reset_lock()
        fs.clear_instance_cache()
        return type(fs)(*fs.storage_args, **fs.storage_options)
    return fs


class _Committed:
    """A file that fsspec completes when it is committed."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, data: bytes, /) -> None:
        self._file.write(data)

    def close(self) -> None:
        self._file.close()
        self._file.commit()

    def abort(self) -> None:
        try:
            self._file.close()
        finally:
            self._file.discard()


class ArrowFiles:
    """The files of a pyarrow.fs.FileSystem. Their version is the time of modification."""

    def __init__(self, filesystem: Any) -> None:
        self._fs = filesystem

    def _name(self, path: str) -> str:
        """The path without a scheme, which pyarrow refuses."""
        scheme, mark, rest = path.partition("://")
        return rest if mark and scheme.isalnum() else path

    def status(self, path: str, /) -> Status | None:
        found = self._fs.get_file_info(self._name(path))
        kind = _kind(found)
        if kind == "missing":
            return None
        version = "" if found.mtime_ns is None else str(found.mtime_ns)
        return kind, found.size or 0, version

    def read_range(self, path: str, start: int, length: int, version: str, /) -> Any:
        with self._fs.open_input_file(self._name(path)) as file:
            return file.read_at(length, start)

    def list(self, directory: str, prefix: str, /) -> Iterator[tuple[str, str, int | None]]:
        from pyarrow.fs import FileSelector

        selector = FileSelector(self._name(directory), allow_not_found=True)
        for found in self._fs.get_file_info(selector):
            yield found.base_name, _kind(found), found.size

    def open_writer(self, path: str, /) -> WritableFile:
        fs, own = self._fs, self._name(path)

        def make_folder() -> None:
            fs.create_dir(own.rpartition("/")[0], recursive=True)

        return RenamedFile(
            own,
            lambda name: _in_folder(
                make_folder, lambda: fs.open_output_stream(name, compression=None)
            ),
            fs.move,
            fs.delete_file,
        )

    def remove(self, path: str, /) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._fs.delete_file(self._name(path))


def _kind(found: Any) -> str:
    return {"File": "file", "Directory": "directory", "NotFound": "missing"}.get(
        found.type.name, "other"
    )


class RenamedFile:
    """A file that gets its name when it is complete; until then it is ``.NAME.XXXXXXXX.partial``.

    Two writers of the same file, such as a task and its repetition, write different ones.
    """

    def __init__(
        self,
        path: str,
        open_file: Callable[[str], Any],
        rename: Callable[[str, str], Any],
        remove: Callable[[str], Any],
    ) -> None:
        folder, slash, name = path.rpartition("/")
        self._path = path
        self._partial = f"{folder}{slash}.{name}.{os.urandom(4).hex()}.partial"
        self._rename = rename
        self._remove = remove
        self._file = open_file(self._partial)

    def write(self, data: bytes, /) -> None:
        self._file.write(data)

    def close(self) -> None:
        self._file.close()
        self._rename(self._partial, self._path)

    def abort(self) -> None:
        self._file.close()
        with contextlib.suppress(FileNotFoundError):
            self._remove(self._partial)
