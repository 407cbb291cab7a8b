"""verify_manifest: checks the files of a job by what its manifest says of them."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

from recordpipe import _native as native
from recordpipe._tools.reports import OfFiles
from recordpipe._tools.shards import Executor, merge_files
from recordpipe.filesystem_adapters import files_on
from recordpipe.inputs import FoundFiles, Paths, checked_threads, paths_of
from recordpipe.progress import Progress, reported, task_check
from recordpipe.schema import counted

__all__ = ["ManifestFile", "ManifestReport", "verify_manifest"]


@dataclass(frozen=True)
class ManifestFile:
    """A file of a manifest, and how it differs now. The truth value is ``matches``.

    Attributes:
        path: of the file, beside the manifest.
        input: the path of the file that it was made from.
        records: their number, as in the manifest.
        bytes: the size, as in the manifest.
        crc32c: of all bytes, as in the manifest: eight hexadecimal digits.
        difference: "" if it is as in the manifest; otherwise what it is: "missing", "no regular
            file", "80 bytes, not the 88 of the manifest", "CRC-32C 00000000, not the 1234abcd of
            the manifest", "not made: " and why the job (``keep_going``) has failed for this input,
            or the message of ``error``.
        error: the exception of recordpipe or of the file system if it could not be read; otherwise
            None.
    """

    path: str
    input: str
    records: int
    bytes: int
    crc32c: str
    difference: str = ""
    error: Exception | None = None

    def __bool__(self) -> bool:
        return self.matches

    @property
    def matches(self) -> bool:
        """Whether the file is as in the manifest."""
        return not self.difference


@dataclass(frozen=True)
class ManifestReport(OfFiles[ManifestFile]):
    """What :func:`verify_manifest` finds.

    ``report[0]``, ``len(report)`` and ``for file in report`` are those of ``files``. The truth
    value is ``intact``.

    Attributes:
        files: a :class:`ManifestFile` for each line of the manifests, in their order.
    """

    files: tuple[ManifestFile, ...]

    def __bool__(self) -> bool:
        return self.intact

    @property
    def intact(self) -> bool:
        """Whether all files are as in the manifests."""
        return all(file.matches for file in self.files)

    @property
    def differing(self) -> tuple[ManifestFile, ...]:
        """The files that are not as in the manifests."""
        return tuple(file for file in self.files if not file.matches)

    @property
    def records(self) -> int:
        """The number of records of all files, as in the manifests."""
        return sum(file.records for file in self.files)

    @property
    def bytes(self) -> int:
        """The size of all files, as in the manifests."""
        return sum(file.bytes for file in self.files)

    def __repr__(self) -> str:
        differing = self.differing
        if not differing:
            return f"ManifestReport({counted(len(self.files), 'file')} as in the manifest)"
        first = differing[0].difference
        if differing[0].path not in first:
            first = f"{differing[0].path}: {first}"
        return f"ManifestReport({len(differing):,} of {len(self.files):,} files differ; {first})"


def verify_manifest(
    manifests: Paths,
    *,
    filesystem: Any = None,
    threads: int = 0,
    executor: Executor | None = None,
    progress: Progress = False,
) -> ManifestReport:
    """Compares the files beside a manifest with it, as ``tfrecord verify --manifest`` does.

    A manifest is the manifest.jsonl of :func:`convert_to_dir` and :func:`salvage_to_dir`, or of
    ``tfrecord convert`` and ``salvage`` with ``--to-dir``. The size and the CRC-32C of each file
    are compared: also a file that is missing, or intact but another one, is found, where
    :func:`verify` sees only damage.

        >>> report = rp.verify_manifest("train/manifest.jsonl")
        >>> report.intact
        False
        >>> [(file.path, file.difference) for file in report.differing]
        [('train/train-00007.zst', 'missing')]

    A difference doesn't raise: it is in the report, as is an error of reading a file. A file whose
    size differs is not read.

    Args:
        manifests: the path of a manifest, or of several. Their files are beside them, also where
            they were copied to.
        filesystem: of all paths; see ``help(recordpipe.inputs)``.
        threads: of which each reads one file. Default: one for each core.
        executor: reads each file as a task of this ``concurrent.futures.Executor``; see
            :func:`map_shards`. Default: threads.
        progress: True (a bar), or a function; see ``help(recordpipe.inputs)``.

    Raises:
        NotFoundError: a manifest doesn't exist.
        DataLossError: a manifest is damaged; the message names the line.
    """
    files = files_on(filesystem)
    outputs: list[_Output] = []
    for manifest in paths_of(manifests, filesystem):
        folder = manifest[: manifest.rfind("/") + 1]
        for line in native.manifest_lines(files, manifest):
            outputs.append(_Output(folder + json.loads(line)["output"]))
            outputs[-1].line = line
    checked_threads(threads)
    found: list[Any] = []
    if executor is not None:
        sizes = [json.loads(output.line).get("bytes", 0) for output in outputs]
        merge_files(
            functools.partial(_check_file, filesystem),
            FoundFiles(list(outputs), sizes),
            found.append,
            executor=executor,
            progress=progress,
            activity="verify",
        )
    else:
        lines = [output.line for output in outputs]
        with reported(progress, "verify") as report:
            found = native.check_outputs(files, list(map(str, outputs)), lines, threads, report)
    return ManifestReport(tuple(map(_compared, outputs, found)))


class _Output(str):
    """The path of a file, with its line of the manifest: what a task gets, and no other lines."""

    line: str


def _check_file(filesystem: Any, output: str) -> Any:
    assert isinstance(output, _Output)
    files = files_on(filesystem)
    (found,) = native.check_outputs(files, [str(output)], [output.line], 1, task_check())
    return found


def _compared(output: _Output, found: Any) -> ManifestFile:
    expected = json.loads(output.line)
    error = found if isinstance(found, Exception) else None
    # An exception of a file system may have no message.
    difference = str(found) or (type(error).__name__ if error else "")
    return ManifestFile(
        str(output),
        expected["input"],
        expected.get("records", 0),
        expected.get("bytes", 0),
        expected.get("crc32c", ""),
        difference,
        error,
    )
