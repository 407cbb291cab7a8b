"""The arguments that the functions on whole files have in common.

They are those of the ``tfrecord`` command, under the same names:

- ``paths``: a path, a pattern ("train-*.tfrecord"; expanded now, sorted by name; an index beside a
  file that it matches is left out), or several. A missing file is an error before anything begins.
- ``input_compression``: "none", "gzip", "zlib" or "zstd". Default: found out from the first bytes
  of each file.
- ``check_crc``: False accepts wrong CRCs (``--no-crc``).
- ``max_record_size``: of a compressed file, in bytes; a longer record is an error. Default: 1 GiB.
- ``where``: selects records: ``"label == 3"``, ``"label in [3, 5] and not has(mask)"``,
  ``"text != 'none' or len(box) >= 4"``. A comparison is true if it is true for any value of the
  feature; it is false for a feature that is missing or of another kind. A feature that no record
  has is an error.
- ``limit``: at most the first so many of the selected records.
- ``threads``: 1 to 1,024; default 0: one for each core. Results don't depend on it.
- ``progress``: True shows a bar: of tqdm if it is installed, otherwise a line on standard error. A
  function is called with the bytes read so far and the bytes of all files: on the caller's thread,
  at most ten times a second, and at the end. An exception that it raises, and Ctrl-C, stop the
  work; no file is left half-written. At the end the files are in place already, and remain also
  if that call raises. Default: neither.
"""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Iterable

from recordpipe.errors import _make
from recordpipe.features import known_compression

__all__ = [
    "Paths",
    "Reading",
    "checked_threads",
    "limit_of",
    "path_of",
    "paths_of",
    "reading",
    "whole_number",
]

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
Reading = tuple[str, bool, int]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def paths_of(paths: Paths, *, may_be_empty: bool = False) -> list[str]:
    if isinstance(paths, (str, bytes, os.PathLike)):
        return [path_of(paths)]
    if not isinstance(paths, Iterable):
        raise TypeError(f"paths are a path, a pattern, or several of them, not {paths!r}")
    listed = [path_of(path) for path in paths]
    if not listed and not may_be_empty:
        raise ValueError("no path is given")
    return listed


def path_of(path: str | bytes | os.PathLike[str]) -> str:
    name = os.fsdecode(path)
    if "\0" in name:
        raise ValueError(f"a path has no null bytes, unlike {name!r}")
    if _URL.match(name):
        raise _make(
            "unsupported",
            f"{name}: the Python package reads local files, not URLs (download it first)",
            name,
            None,
            "the Python package reads local files, not URLs",
            "download it first",
        )
    return name


def reading(input_compression: str | None, max_record_size: int, check_crc: bool = True) -> Reading:
    return (
        known_compression(input_compression),
        check_crc,
        whole_number("max_record_size", max_record_size, 1),
    )


def whole_number(name: str, value: int, least: int = 0, most: int = 2**64 - 1) -> int:
    number = operator.index(value)
    if not least <= number <= most:
        bounds = f"at least {least}" if most == 2**64 - 1 else f"{least} to {most}"
        raise ValueError(f"{name} is {bounds}, not {number}")
    return number


def limit_of(limit: int | None) -> int | None:
    return None if limit is None else whole_number("limit", limit)


def checked_threads(threads: int) -> int:
    return whole_number("threads", threads, 0, 1024)
