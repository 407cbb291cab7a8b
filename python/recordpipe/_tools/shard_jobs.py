"""Jobs that make a file from each of many, in a folder, and that can be stopped and resumed."""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from recordpipe import _native as native
from recordpipe._tools.conversion_reports import SkippedRegion
from recordpipe._tools.shards import Executor, OnError, map_files
from recordpipe.errors import BusyError, DataLossError, Error, error_of
from recordpipe.filesystem_adapters import files_on
from recordpipe.inputs import FoundFiles, file_path_of
from recordpipe.progress import Progress, reported, task_check
from recordpipe.schema import counted

__all__ = ["FailedShard", "Made", "ShardJobReport", "WrittenShard", "run_shard_job"]

_BUSY_SECONDS = 0.2


class Made(NamedTuple):
    """What is known of an output, beside its size.

    ``counts``: records; damaged regions that were skipped, their bytes, and compressed bytes;
    records that were skipped. ``skipped``: the regions. ``found_out``: for the end of the job.
    """

    counts: tuple[int, int, int, int, int]
    skipped: tuple[SkippedRegion, ...] = ()
    found_out: bytes = b""


@dataclass(frozen=True)
class WrittenShard:
    """An output of a job, as in a line of its manifest.

    Attributes:
        input: the path of the file that it was made from.
        path: of the output.
        records: their number in the output.
        bytes: the size of the output.
        crc32c: of all its bytes, as eight hexadecimal digits.
        was_there: an earlier run has made it (``resume=True``).
        regions_skipped: the number of damaged regions of the input that were skipped.
        skipped: the first 10,000 of these regions; none if ``was_there``.
        bytes_skipped: their size, in the (decompressed) content.
        compressed_bytes_skipped: as of :class:`ConvertReport`.
        records_skipped: how many records ``resize`` has left out, whose image can't be decoded.
    """

    input: str
    path: str
    records: int
    bytes: int
    crc32c: str
    was_there: bool = False
    regions_skipped: int = 0
    bytes_skipped: int = 0
    compressed_bytes_skipped: int = 0
    records_skipped: int = 0
    skipped: tuple[SkippedRegion, ...] = ()


@dataclass(frozen=True)
class FailedShard:
    """An input whose output was not made.

    Attributes:
        input: its path.
        error: why.
    """

    input: str
    error: Exception


@dataclass(frozen=True)
class ShardJobReport:
    """What a job made. The truth value is ``complete``.

    Attributes:
        folder: of the outputs.
        shards: the outputs, in the order of the inputs.
        failed: the inputs that failed, with ``keep_going=True``.
        manifest: the path of manifest.jsonl, with a line of JSON for each output, and for each
            input that failed; :func:`verify_manifest` checks the outputs by it.
    """

    folder: str
    shards: tuple[WrittenShard, ...]
    failed: tuple[FailedShard, ...] = ()
    manifest: str = ""

    def __bool__(self) -> bool:
        return self.complete

    @property
    def complete(self) -> bool:
        """Whether all outputs are there."""
        return not self.failed

    @property
    def records(self) -> int:
        """The number of records of all outputs."""
        return sum(shard.records for shard in self.shards)

    @property
    def bytes(self) -> int:
        """The size of all outputs."""
        return sum(shard.bytes for shard in self.shards)

    @property
    def regions_skipped(self) -> int:
        """The number of damaged regions that were skipped in all inputs."""
        return sum(shard.regions_skipped for shard in self.shards)

    @property
    def bytes_skipped(self) -> int:
        """The size of the damaged regions."""
        return sum(shard.bytes_skipped for shard in self.shards)

    @property
    def compressed_bytes_skipped(self) -> int:
        """How many bytes of compressed inputs can't be decompressed."""
        return sum(shard.compressed_bytes_skipped for shard in self.shards)

    @property
    def records_skipped(self) -> int:
        """How many records of all inputs ``resize`` has left out."""
        return sum(shard.records_skipped for shard in self.shards)

    def __repr__(self) -> str:
        regions = self.regions_skipped
        skipped = f", {counted(regions, 'damaged region')} of {self.bytes_skipped:,} bytes skipped"
        if self.compressed_bytes_skipped:
            skipped += f", {self.compressed_bytes_skipped:,} compressed bytes lost"
        return (
            f"ShardJobReport({self.folder}: {counted(len(self.shards), 'file')} of "
            + counted(self.records, "record")
            + (skipped if regions else "")
            + (f", {counted(self.records_skipped, 'record')} left out" * bool(self.records_skipped))
            + (f", {sum(shard.was_there for shard in self.shards):,} of them there already")
            + (f", {len(self.failed):,} failed)" if self.failed else ")")
        )


def run_shard_job(
    work: Callable[[str, str, str], Made],
    files: FoundFiles,
    folder: str | os.PathLike[str],
    *,
    filesystem: Any,
    operation: str,
    compression: str | None,
    executor: Executor | None,
    resume: bool,
    keep_going: bool,
    no_clobber: bool,
    progress: Progress,
    activity: str,
    check: Callable[[list[bytes], bool], None] | None = None,
    ending: str = "",
    skipped: Mapping[str, tuple[SkippedRegion, ...]] | None = None,
) -> ShardJobReport:
    """Calls work(input, output, name) for each file. ``check``, which may raise an exception, gets
    what was found out of the files that were made, and whether these are all.

    ``name`` is that of the output in the folder. ``compression``: None is that of each input.
    ``ending``: of outputs of another format than the inputs. ``skipped``: what is known of inputs
    beside what work() returns.
    ``operation`` is all that determines an output, except for its input. A task may run twice, and
    at a time: it makes the same output under the same name.
    """
    target = _folder_of(folder, filesystem)
    sizes = dict(zip(files.paths, files.sizes, strict=True))
    names = native.shard_names(files.paths, compression, files.folders, ending)
    outputs = dict(zip(files.paths, names, strict=True))
    paths = [os.path.join(target, name) for name in names]
    native.require_no_input(files_on(filesystem), files.paths, paths)
    if no_clobber:
        native.require_absent(files_on(filesystem), paths)
    job = native.ShardJob(files_on(filesystem), target, operation, resume)
    try:
        found = job.earlier(files.paths, names)
        lines = {
            path: line for path, line in zip(files.paths, found, strict=True) if line is not None
        }
        were_there = frozenset(lines)
        missing = [path for path in files.paths if path not in lines]
        errors = {path: _failed_before(path, lines[path]) for path in lines}
        failed = [FailedShard(path, error) for path, error in errors.items() if error is not None]
        if failed and not keep_going:
            raise failed[0].error
        task = functools.partial(
            _make, work, compression, ending, files.folders, target, job.hash, filesystem
        )
        with reported(progress, activity) as report:
            total = sum(sizes[path] for path in missing)
            done = 0
            found_out: list[bytes] = []
            regions = dict(skipped or {})
            on_error: OnError = "keep_going" if keep_going else "raise"
            for shard in map_files(task, missing, executor=executor, on_error=on_error):
                if shard.error is not None:
                    failed.append(FailedShard(shard.path, shard.error))
                    lines[shard.path] = _failure(
                        files_on(filesystem), job.hash, shard.path, outputs[shard.path], shard.error
                    )
                elif shard.value is not None:
                    lines[shard.path], made = shard.value
                    if made.found_out:
                        found_out.append(made.found_out)
                    if made.skipped:
                        regions[shard.path] = made.skipped
                done += sizes[shard.path]
                if report:
                    report(done, total)
        job.commit([lines[path] for path in files.paths])
        if check:
            check(found_out, len(found_out) == len(files.paths))
    finally:
        # Unlocks the folder, even if the traceback of an error keeps this function's frame.
        del job
    places = {path: place for place, path in enumerate(files.paths)}
    failed.sort(key=lambda shard: places[shard.input])
    without = {shard.input for shard in failed}
    shards = (
        _written(target, path, lines[path], None if path in were_there else regions.get(path, ()))
        for path in files.paths
        if path not in without
    )
    manifest = os.path.join(target, "manifest.jsonl")
    return ShardJobReport(target, tuple(shards), tuple(failed), manifest)


def _folder_of(folder: str | os.PathLike[str], filesystem: Any) -> str:
    """Without slashes at the end: in the names of objects, a double one is another folder."""
    name = file_path_of(folder, filesystem)
    bare = name.rstrip("/")
    return name if not bare or bare.endswith(":") else bare


def _make(
    work: Callable[[str, str, str], Made],
    compression: str | None,
    ending: str,
    folders: Sequence[str],
    folder: str,
    job: str,
    filesystem: Any,
    path: str,
) -> tuple[str, Made]:
    files = files_on(filesystem)
    (name,) = native.shard_names([path], compression, folders, ending)
    check = task_check()
    while True:
        line = native.begin_shard(files, job, path, name)
        try:
            made = work(path, os.path.join(folder, name), name)
            return native.end_shard(files, folder, line, made.counts), made
        except BusyError:
            # The task runs twice, and another worker is making the same output. Its lock ends with
            # its process.
            time.sleep(_BUSY_SECONDS)
            if check:
                check(0, 0)


def _failure(files: native.FileSystem, job: str, path: str, output: str, error: Exception) -> str:
    """The line of the manifest. What may pass, such as a failure of a network, is tried again."""
    reason = error.reason if isinstance(error, Error) else f"{type(error).__name__}: {error}"
    return native.failed_shard(
        files, job, path, output, reason or "failed", isinstance(error, DataLossError)
    )


def _failed_before(path: str, line: str) -> Exception | None:
    reason = json.loads(line).get("error")
    if reason is None:
        return None
    reason = f"failed in an earlier run, and has not changed: {reason}"
    return error_of("corrupted", reason, path=path)


def _written(
    folder: str, path: str, line: str, skipped: tuple[SkippedRegion, ...] | None
) -> WrittenShard:
    """``skipped``: None if an earlier run has made it."""
    found = json.loads(line)
    return WrittenShard(
        path,
        os.path.join(folder, found["output"]),
        found["records"],
        found["bytes"],
        found["crc32c"],
        skipped is None,
        found.get("regions_skipped", 0),
        found.get("bytes_skipped", 0),
        found.get("compressed_bytes_skipped", 0),
        found.get("records_skipped", 0),
        skipped or (),
    )
