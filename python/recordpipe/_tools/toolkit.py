"""info, verify, salvage and index: what the commands of ``tfrecord`` do, as functions."""

from __future__ import annotations

import functools
import json
import os
from typing import Any

from recordpipe import _native as native
from recordpipe._tools.conversion_reports import SkippedRegion
from recordpipe._tools.reports import FileIndex, FileReport, Info, SalvageReport, VerifyReport
from recordpipe._tools.shard_jobs import Made, ShardJobReport, run_shard_job
from recordpipe._tools.shards import Executor, merge_files
from recordpipe.features import known_compression
from recordpipe.filesystem_adapters import files_on
from recordpipe.inputs import (
    Paths,
    Reading,
    checked_threads,
    file_path_of,
    files_of,
    found_files,
    reading,
)
from recordpipe.progress import Progress, reported, task_check

__all__ = ["index", "info", "salvage", "salvage_to_dir", "verify"]


def info(
    paths: Paths,
    *,
    recursive: bool = False,
    filesystem: Any = None,
    kind: str | None = None,
    check_crc: bool = True,
    input_compression: str | None = None,
    max_record_size: int = 2**30,
    progress: Progress = False,
) -> Info:
    """Says what is in files: records, bytes, sizes, kind, features.

        >>> rp.info("train-*.tfrecord").records
        60000

    Of a plain file only the records' headers are read, and not even those if an index (PATH.idx)
    is beside it and fits. CRCs of data are checked in the sample only; :func:`verify` checks all of
    them. Compressed files are read whole. Damage doesn't raise: it is in ``FileInfo.error``.

    Args:
        paths: a path, a folder, a pattern, or several; see ``help(recordpipe.inputs)``.
        recursive: True reads the folders below a folder, too.
        filesystem: of all paths; see ``help(recordpipe.inputs)``.
        kind: reads every record as this type of message, as in :func:`recordpipe.schema`.
        check_crc: False accepts wrong CRCs.
        input_compression: "none", "gzip", "zlib" or "zstd". Default: found out.
        max_record_size: of a compressed file, in bytes; a longer record is an error.
        progress: True (a bar), or a function; see ``help(recordpipe.inputs)``.

    Raises:
        NotFoundError: a file doesn't exist, or a pattern matches none.
    """
    with reported(progress, "info") as function:
        files, total = native.info(
            *files_of(paths, recursive, filesystem),
            reading(input_compression, max_record_size, check_crc, kind),
            function,
        )
    return Info._of(files, total)


def verify(
    paths: Paths,
    *,
    recursive: bool = False,
    filesystem: Any = None,
    input_compression: str | None = None,
    max_record_size: int = 2**30,
    threads: int = 0,
    executor: Executor | None = None,
    progress: Progress = False,
) -> VerifyReport:
    """Checks every CRC of every record, and says which bytes are damaged.

        >>> report = rp.verify("train-*.tfrecord", progress=True)
        >>> report.intact
        False
        >>> [region.begin for region in report.damaged[0].regions]
        [4096]

    Plain files are checked on all cores. After damage the next record is searched for at every
    byte. In a damaged compressed file, reading goes on with the next gzip member or zstd frame.
    Damage doesn't raise: it is in the report, as is an error of reading a file that exists.

    Args:
        paths: a path, a folder, a pattern, or several; see ``help(recordpipe.inputs)``.
        recursive: True reads the folders below a folder, too.
        filesystem: of all paths; see ``help(recordpipe.inputs)``.
        input_compression: "none", "gzip", "zlib" or "zstd". Default: found out.
        max_record_size: of a compressed file, in bytes; a longer record is an error.
        threads: default: one for each core.
        executor: reads each file as a task of this ``concurrent.futures.Executor``, with
            ``threads`` threads each (default: one); see :func:`map_shards`. Default: threads.
        progress: True (a bar), or a function; see ``help(recordpipe.inputs)``.

    Raises:
        NotFoundError: a file doesn't exist, or a pattern matches none.
    """
    how = reading(input_compression, max_record_size)
    if executor is not None:
        found: list[tuple[Any, ...]] = []
        merge_files(
            functools.partial(_verify_file, how, checked_threads(threads) or 1, filesystem),
            found_files(paths, recursive, filesystem),
            found.extend,
            executor=executor,
            progress=progress,
            activity="verify",
        )
        return VerifyReport(tuple(map(FileReport._of, found)))
    with reported(progress, "verify") as function:
        found = native.verify(
            *files_of(paths, recursive, filesystem), how, checked_threads(threads), function
        )
    return VerifyReport(tuple(map(FileReport._of, found)))


def salvage(
    sources: Paths,
    target: str | os.PathLike[str],
    *,
    recursive: bool = False,
    filesystem: Any = None,
    compression: str | None = None,
    input_compression: str | None = None,
    max_record_size: int = 2**30,
    threads: int = 0,
    no_clobber: bool = False,
    progress: Progress = False,
) -> SalvageReport:
    """Writes all intact records of damaged files, one file after another, to ``target``.

    This is one task of one process, on its threads. :func:`salvage_to_dir` makes a file from each,
    as tasks of an ``executor``.

        >>> report = rp.salvage("damaged.tfrecord", "intact.tfrecord")
        >>> report.records_written, report.bytes_lost
        (99998, 8192)

    Records are found as by :func:`verify`. ``target`` appears complete or not at all. Behind damage
    inside of compressed data, which refers to bytes before it, the decompressor may repeat earlier
    records: copies with correct CRCs, which are written too.

    Args:
        sources: damaged and intact files; see ``help(recordpipe.inputs)``.
        target: the path of the file to write. Must not be one of ``sources``, nor have the name of
            another format (.csv, .parquet, ...).
        recursive: True reads the folders below a folder, too.
        filesystem: of all paths; see ``help(recordpipe.inputs)``.
        compression: "none", "gzip", "zlib" or "zstd". Default: by the target's name (.gz, .zlib,
            .zst), or none.
        input_compression: "none", "gzip", "zlib" or "zstd". Default: found out.
        max_record_size: of a compressed file, in bytes; a longer record is an error.
        threads: default: one for each core.
        no_clobber: True refuses to replace a file that exists (AlreadyExistsError).
        progress: True (a bar), or a function; see ``help(recordpipe.inputs)``.

    Raises:
        DataLossError: no intact record was found; nothing was written.
        NotFoundError: a file doesn't exist, or a pattern matches none.
    """
    path = file_path_of(target, filesystem)
    compression = native.output_compression(path, known_compression(compression) or None)
    if no_clobber:
        native.require_absent(files_on(filesystem), [path])
    with reported(progress, "salvage") as function:
        found, written = native.salvage(
            *files_of(sources, recursive, filesystem),
            path,
            reading(input_compression, max_record_size),
            compression,
            checked_threads(threads),
            function,
        )
    return SalvageReport(tuple(map(FileReport._of, found)), path, written)


def salvage_to_dir(
    sources: Paths,
    folder: str | os.PathLike[str],
    *,
    recursive: bool = False,
    filesystem: Any = None,
    compression: str | None = None,
    input_compression: str | None = None,
    max_record_size: int = 2**30,
    threads: int = 0,
    executor: Executor | None = None,
    resume: bool = False,
    keep_going: bool = False,
    no_clobber: bool = False,
    progress: Progress = False,
) -> ShardJobReport:
    """Writes the intact records of each file to a file of the same name in ``folder``.

    Each output appears when it is whole, and is a task of ``executor``. A job that was stopped goes
    on with ``resume=True``: see :func:`convert_to_dir`, which has the same arguments. A damaged
    file without any intact record is an error (DataLossError) of that file.

    Args:
        sources: damaged and intact files; see ``help(recordpipe.inputs)``.
        folder: of the outputs; made if it is missing.
        recursive: True reads the folders below a folder, too, and makes the same folders below
            ``folder``.
        filesystem: of all paths; see ``help(recordpipe.inputs)``.
        compression: "none", "gzip", "zlib" or "zstd"; names get its extension. Default: that of
            each input.
        input_compression: "none", "gzip", "zlib" or "zstd". Default: found out.
        max_record_size: of a compressed file, in bytes; a longer record is an error.
        threads: of each task. Default: one.
        executor: any ``concurrent.futures.Executor``; see :func:`map_shards`. Default: threads,
            one for each core.
        resume: keeps the outputs that an earlier run has made from the same inputs with the same
            options.
        keep_going: goes on after a file that failed; its error is in the report.
        no_clobber: True refuses to replace a file that exists (AlreadyExistsError).
        progress: True (a bar), or a function; see ``help(recordpipe.inputs)``.
    """
    how = reading(input_compression, max_record_size)
    wanted = known_compression(compression) or None
    return run_shard_job(
        functools.partial(_salvage_file, how, wanted, checked_threads(threads) or 1, filesystem),
        found_files(sources, recursive, filesystem),
        folder,
        filesystem=filesystem,
        operation="salvage " + json.dumps([how, wanted]),
        compression=wanted,
        executor=executor,
        resume=resume,
        keep_going=keep_going,
        no_clobber=no_clobber,
        progress=progress,
        activity="salvage",
    )


def index(
    paths: Paths,
    output: str | os.PathLike[str] | None = None,
    *,
    recursive: bool = False,
    filesystem: Any = None,
    check: bool = False,
    threads: int = 0,
    executor: Executor | None = None,
    no_clobber: bool = False,
    progress: Progress = False,
) -> tuple[FileIndex, ...]:
    """Writes the index PATH.idx beside each file, or checks it; for random access, and for DALI.

    An index has one line "START SIZE" for each record, as those of DALI's tfrecord2idx. Every CRC
    is checked: a damaged file gets no index. An existing index is replaced.

    Args:
        paths: plain files; see ``help(recordpipe.inputs)``.
        recursive: True reads the folders below a folder, too.
        filesystem: of all paths; see ``help(recordpipe.inputs)``.
        output: the path of the index, for a single file. Default: PATH.idx.
        check: don't write, but compare every record's header with the index. A misfit doesn't
            raise: it is in ``FileIndex.error``.
        threads: default: one for each core.
        executor: reads each file as a task of this ``concurrent.futures.Executor``, with
            ``threads`` threads each (default: one); see :func:`map_shards`. Default: threads.
        no_clobber: True refuses to replace a file that exists (AlreadyExistsError).
        progress: True (a bar), or a function; see ``help(recordpipe.inputs)``.

    Raises:
        DataLossError: a file is damaged. Files before it have their indexes.
        UnsupportedError: a file is compressed.
        NotFoundError: a file doesn't exist, or a pattern matches none.
    """
    on = files_on(filesystem)
    found = found_files(paths, recursive, filesystem)
    files = found.paths
    if output is None:
        indexes = [native.record_index_path(path) for path in files]
    elif len(files) == 1:
        indexes = [file_path_of(output, filesystem)]
    else:
        raise ValueError(f"output is for a single file, and there are {len(files)}")
    if no_clobber and not check:
        native.require_absent(on, indexes)
    if executor is not None:
        written: list[FileIndex] = []
        merge_files(
            functools.partial(
                _index_file, output, filesystem, check, checked_threads(threads) or 1
            ),
            found,
            written.append,
            executor=executor,
            progress=progress,
            activity="index",
        )
        return tuple(written)
    with reported(progress, "index") as function:
        if not check:
            counts = native.index(on, files, indexes, checked_threads(threads), function)
            return tuple(map(FileIndex, files, indexes, counts))
        results = native.check_index(on, files, indexes, function)
    return tuple(
        FileIndex(path, index, result)
        if isinstance(result, int)
        else FileIndex(path, index, None, result)
        for path, index, result in zip(files, indexes, results, strict=True)
    )


def _verify_file(how: Reading, threads: int, filesystem: Any, path: str) -> list[tuple[Any, ...]]:
    return native.verify(files_on(filesystem), [path], how, threads, task_check())


def _index_file(
    output: str | os.PathLike[str] | None, filesystem: Any, check: bool, threads: int, path: str
) -> FileIndex:
    (found,) = index(path, output, filesystem=filesystem, check=check, threads=threads)
    return found


def _salvage_file(
    how: Reading,
    compression: str | None,
    threads: int,
    filesystem: Any,
    source: str,
    target: str,
    _: str,
) -> Made:
    files = files_on(filesystem)
    compression = native.compression_of_shard(files, source, compression, how)
    found, records = native.salvage(
        files, [source], target, how, compression, threads, task_check()
    )
    report = FileReport._of(found[0])
    lost = report.bytes_lost or 0
    counts = (records, report.damaged_regions, lost, report.compressed_bytes_lost, 0)
    regions = ((source, each.begin, each.end, each.reason, each.hint) for each in report.regions)
    return Made(counts, tuple(SkippedRegion(*region) for region in regions))
