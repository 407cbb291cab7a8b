"""The arguments that the functions on whole files have in common.

Most have the name of an option of the ``tfrecord`` command. The exceptions: ``paths`` are its
arguments, ``check_crc=False`` is ``--no-crc``, and ``filesystem`` and ``progress`` have no option.

- ``paths``: what names files, or several of them. Files are found now, in the order of the names.
  A missing file is an error before anything begins. In all paths, ~/ is the home folder. A name is
  one of:

  - a path of a file. A file that exists is never taken for one of the others;
  - a folder: the record files in it, sorted by name: those whose names contain "tfrec", and shards
    ("train-00000-of-01024"), except indexes (.idx, .index, .steps), checksums (.md5, .sha1,
    .sha256, .crc), .json, .txt, and names that begin with . or _;
  - a pattern ("train-*.tfrecord"), sorted by name. An index beside a file that it matches is left
    out. ``**`` stands for any number of folders, also none, but not for those that begin with a
    dot, nor for links to folders. A pattern that ends with / matches folders
    (as a str: pathlib drops the slash);
  - braces, as in bash: "train-{000..127}.tfrecord", "{train,val}.tfrecord". All files must exist;
  - a set of shards, as Beam writes it: "train@64" is train-00000-of-00064 and so on, "train@64.gz"
    is train-00000-of-00064.gz and so on. All files must exist.

  - a URL of an object store (s3://, gs://), of its folder (with a slash at the end) or
    pattern; a URL of a web server (https://); or any name on a ``filesystem``.

- ``filesystem``: where all paths are, also that of the output: a filesystem of fsspec or pyarrow,
  or of your own; see ``help(recordpipe.filesystem)``. Default: this machine, and the
  object stores that URLs name.
- ``recursive``: True reads the folders below a folder, too, except those that begin with . or _,
  and links to folders.
- ``input_compression``: "none", "gzip", "zlib" or "zstd". Default: found out from the first bytes
  of each file.
- ``check_crc``: False accepts wrong CRCs (``--no-crc``).
- ``on_damage``: what is done about a wrong CRC, a truncated file and a damaged compressed stream. A
  file that is missing or can't be read is an error in any case.

  - "raise" (default): a DataLossError, after the records before the damage.
  - "skip_file": leaves out each record whose data is damaged, and after other damage the rest of
    the file.
  - "resync" (``--skip-corrupt``): leaves out only what is damaged, and goes on at the next intact
    record, which ``salvage`` would find; of a compressed file, in the next gzip member or zstd
    frame. Damaged data that contains records, a TFRecord file say, yields these.

  What is left out is counted: ``regions_skipped`` (damage in one place, or in adjacent records),
  ``bytes_skipped`` (of the decompressed content) and ``compressed_bytes_skipped``, which can't be
  decompressed. How many records were in these bytes is unknown.
- ``max_record_size``: of a compressed file, in bytes; a longer record is an error. Default: 1 GiB.
- ``where``: selects records: ``"label == 3"``, ``"label in [3, 5] and not has(mask)"``,
  ``"text != 'none' or len(box) >= 4"``. A comparison is true if it is true for any value of the
  feature; it is false for a feature that is missing or of another kind. A feature that no record
  has is an error. Strings: ``startswith(text, "a")``, ``endswith``, ``contains`` and
  ``matches(text, r"^a.*z$")``, a regular expression of RE2, in linear time, that matches anywhere
  unless ``^`` and ``$`` anchor it; ``*`` in place of the feature is every feature. Of the record
  itself: ``record.size`` (bytes of its data), ``record.number`` (in its file, from 0) and
  ``record.path``; a feature with such a name, or with blanks, stands in backticks.
- ``limit``: at most the first so many of the selected records. What lies behind is not read.
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
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, get_args

from recordpipe import _native as native
from recordpipe.errors import error_of
from recordpipe.features import known_compression
from recordpipe.filesystem_adapters import files_on

__all__ = [
    "FoundFiles",
    "OnDamage",
    "Paths",
    "Reading",
    "absolute_path",
    "checked_on_damage",
    "checked_threads",
    "file_path_of",
    "files_of",
    "found_files",
    "limit_of",
    "path_of",
    "paths_of",
    "reading",
    "require_no_limit",
    "whole_number",
]

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
OnDamage = Literal["raise", "skip_file", "resync"]
Reading = tuple[str, bool, int, str, str]
# The types of messages, as `kind` names them.
KINDS = ("example", "sequence_example", "elwc", "event", "unknown")

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_STORES = ("s3://", "gs://", "http://", "https://", "file://")


def paths_of(paths: Paths, filesystem: Any) -> list[str]:
    if isinstance(paths, (str, bytes, os.PathLike)):
        return [file_path_of(paths, filesystem)]
    if not isinstance(paths, Iterable):
        raise TypeError(f"paths are a path, a folder, a pattern, or several of them, not {paths!r}")
    listed = [file_path_of(path, filesystem) for path in paths]
    if not listed:
        raise ValueError("no path is given: the list of paths is empty")
    return listed


def files_of(paths: Paths, recursive: bool, filesystem: Any) -> tuple[native.FileSystem, list[str]]:
    """Returns files and paths for a native function that finds files, but not in folders below."""
    files, listed = files_on(filesystem), paths_of(paths, filesystem)
    return files, native.find_inputs(files, listed, True)[0] if recursive else listed


class FoundFiles(NamedTuple):
    """Files for the tasks of an executor, whose workers have them under the same paths.

    ``folders`` are those that were read with the folders below them.
    """

    paths: list[str]
    sizes: list[int]
    folders: Sequence[str] = ()


def found_files(paths: Paths | FoundFiles, recursive: bool, filesystem: Any) -> FoundFiles:
    if isinstance(paths, FoundFiles):
        return paths
    listed = paths_of(paths, filesystem)
    return FoundFiles(*native.find_inputs(files_on(filesystem), listed, bool(recursive)))


def file_path_of(path: str | bytes | os.PathLike[str], filesystem: Any) -> str:
    """Returns the name of a file on ``filesystem``, or, if that is None, here or in a store."""
    name = _checked_name(path)
    if filesystem is None and _URL.match(name) and not name.startswith(_STORES):
        raise error_of(
            "unsupported",
            "only local files, s3://, gs:// and https:// are read without filesystem=",
            'download it first, or pass one, such as fsspec.filesystem("abfs")',
            name,
        )
    if filesystem is None:
        name = _at_home(name)
    if filesystem is None and name.startswith(_STORES):
        is_web = name.startswith("http")
        if (is_web and "?" in name) or "@" in name.split("/")[2]:
            raise error_of(
                "unsupported",
                "URLs with a query or a user are not read without filesystem=",
                'download it first, or pass one, such as fsspec.filesystem("https")',
                name,
            )
    return name


def absolute_path(name: str, filesystem: Any) -> str:
    """The path of a file in any working directory; the names on other file systems have none."""
    return name if filesystem is not None or _URL.match(name) else os.path.abspath(name)


def path_of(path: str | bytes | os.PathLike[str]) -> str:
    """Returns the path of a file on this machine."""
    name = _at_home(_checked_name(path))
    if _URL.match(name):
        reason = "only local files are read here, not URLs"
        raise error_of("unsupported", reason, "download it first", name)
    return name


def _at_home(name: str) -> str:
    return os.path.expanduser(name) if name == "~" or name.startswith("~/") else name


def _checked_name(path: str | bytes | os.PathLike[str]) -> str:
    name = os.fsdecode(path)
    if "\0" in name:
        raise ValueError(f"a path has no null bytes, unlike {name!r}")
    return name


def checked_on_damage(on_damage: OnDamage, check_crc: bool) -> str:
    if on_damage not in get_args(OnDamage):
        raise ValueError(f'on_damage is "raise", "skip_file" or "resync", not {on_damage!r}')
    if on_damage != "raise" and not check_crc:
        raise ValueError(f'on_damage="{on_damage}" and check_crc=False contradict each other')
    return on_damage


def reading(
    input_compression: str | None,
    max_record_size: int,
    check_crc: bool = True,
    kind: str | None = None,
    on_damage: OnDamage = "raise",
) -> Reading:
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind is one of {', '.join(map(repr, KINDS))}, not {kind!r}")
    return (
        known_compression(input_compression),
        check_crc,
        whole_number("max_record_size", max_record_size, 1),
        kind or "",
        checked_on_damage(on_damage, check_crc),
    )


def whole_number(name: str, value: int, least: int = 0, most: int = 2**64 - 1) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is an integer, not {value!r}") from None
    if not least <= number <= most:
        bounds = f"at least {least}" if most == 2**64 - 1 else f"{least} to {most}"
        raise ValueError(f"{name} is {bounds}, not {number}")
    return number


def limit_of(limit: int | None) -> int | None:
    return None if limit is None else whole_number("limit", limit)


def require_no_limit(limit: int | None) -> None:
    if limit is not None:
        raise ValueError(
            "limit needs the files in their order: it can't be used with an executor, which reads "
            "them at a time"
        )


def checked_threads(threads: int) -> int:
    return whole_number("threads", threads, 0, 1024)
