"""Files for Python code: of this machine, of object stores, and of any ``filesystem``."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from typing import Any

from recordpipe.errors import _make
from recordpipe.filesystem import FileSystem, WritableFile, adapted, clouds
from recordpipe.filesystem_adapters import RenamedFile
from recordpipe.inputs import file_path_of

__all__ = ["file_size", "place_of", "reading_file", "remove_file", "writing_file"]

_BUFFER = 8 << 20


def place_of(path: str, filesystem: Any) -> tuple[FileSystem | None, str]:
    """The file system, None for this machine, and the name on it."""
    name = file_path_of(path, filesystem)
    if name.startswith("file://"):
        return None, name.removeprefix("file://")
    if filesystem is not None:
        return adapted(filesystem), name
    return (clouds(), name) if "://" in name else (None, name)


def file_size(path: str, filesystem: Any) -> int:
    files, name = place_of(path, filesystem)
    if files is None:
        return os.path.getsize(name)
    status = files.status(name)
    if status is None:
        raise _make("not_found", f"{name}: no such file", name, None, "no such file", "")
    return status[1]


def remove_file(path: str, filesystem: Any) -> None:
    """Removes a file, if it is there; not on a file system of the user without ``remove()``."""
    files, name = place_of(path, filesystem)
    if files is None:
        with contextlib.suppress(FileNotFoundError):
            os.remove(name)
    elif remove := getattr(files, "remove", None):
        remove(name)


@contextlib.contextmanager
def reading_file(path: str, filesystem: Any) -> Iterator[Any]:
    """A path or a file object, as pyarrow takes it."""
    files, name = place_of(path, filesystem)
    if files is None:
        yield name
    else:
        with io.BufferedReader(_Ranges(files, name), _BUFFER) as file:
            yield file


@contextlib.contextmanager
def writing_file(path: str, filesystem: Any) -> Iterator[Any]:
    """A file object whose file appears under its name when the block ends without exception."""
    files, name = place_of(path, filesystem)
    writer = _here(name) if files is None else files.open_writer(name)
    sink = io.BufferedWriter(_Sink(writer), _BUFFER)
    try:
        yield sink
        sink.flush()
        writer.close()
    except BaseException:
        writer.abort()
        raise


class _Ranges(io.RawIOBase):
    """A file that is read in ranges."""

    def __init__(self, files: FileSystem, name: str) -> None:
        status = files.status(name)
        if status is None or status[0] != "file":
            raise _make("not_found", f"{name}: no such file", name, None, "no such file", "")
        self._files, self._name = files, name
        _, self._size, self._version = status
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        length = min(len(buffer), self._size - self._at)
        if length <= 0:
            return 0
        data = memoryview(self._files.read_range(self._name, self._at, length, self._version))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


class _Sink(io.RawIOBase):
    """What pyarrow writes to. Closing it doesn't complete the file."""

    def __init__(self, writer: WritableFile) -> None:
        self._writer = writer
        self._written = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written

    def write(self, data: Any) -> int:
        # The buffer's memory is used again.
        part = bytes(data)
        self._writer.write(part)
        self._written += len(part)
        return len(part)


def _here(path: str) -> RenamedFile:
    return RenamedFile(os.path.realpath(path), lambda name: open(name, "wb"), _replace, os.remove)


def _replace(partial: str, path: str) -> None:
    """Renames a file once it is on disk."""
    with open(partial, "rb") as file:
        os.fsync(file.fileno())
    os.replace(partial, path)
