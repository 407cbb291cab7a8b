"""File objects for pyarrow: of this machine, of URLs, and of any ``filesystem``."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from typing import Any

from recordpipe import _native
from recordpipe.filesystem_adapters import files_on
from recordpipe.inputs import file_path_of

__all__ = ["file_size", "reading_file", "writing_file"]

_BUFFER = 8 << 20


def file_size(path: str, filesystem: Any) -> int:
    return files_on(filesystem).size(file_path_of(path, filesystem))


@contextlib.contextmanager
def reading_file(path: str, filesystem: Any) -> Iterator[Any]:
    """A path or a file object, as pyarrow takes it."""
    name = file_path_of(path, filesystem)
    if name.startswith("file://") or (filesystem is None and "://" not in name):
        yield name.removeprefix("file://")
    else:
        with io.BufferedReader(_Ranges(files_on(filesystem).open(name)), _BUFFER) as file:
            yield file


@contextlib.contextmanager
def writing_file(path: str, filesystem: Any) -> Iterator[Any]:
    """A file object whose file appears under its name when the block ends without exception."""
    file = files_on(filesystem).create(file_path_of(path, filesystem))
    sink = io.BufferedWriter(_Sink(file), _BUFFER)
    try:
        yield sink
        sink.flush()
        file.commit()
    except BaseException:
        file.drop()
        raise


class _Ranges(io.RawIOBase):
    """A file that is read in ranges."""

    def __init__(self, file: _native.InputFile) -> None:
        self._file = file
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._file.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(self._at, len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


class _Sink(io.RawIOBase):
    """What pyarrow writes to. Closing it doesn't complete the file."""

    def __init__(self, file: _native.OutputFile) -> None:
        self._file = file
        self._written = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written

    def write(self, data: Any) -> int:
        # The buffer's memory is used again.
        part = bytes(data)
        self._file.write(part)
        self._written += len(part)
        return len(part)
