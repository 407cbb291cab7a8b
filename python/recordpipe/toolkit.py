"""info, verify, salvage and index: what the commands of ``tfrecord`` do, as functions."""

from __future__ import annotations

import os

from recordpipe import _native as native
from recordpipe.features import known_compression
from recordpipe.inputs import Paths, checked_threads, path_of, paths_of, reading
from recordpipe.progress import Progress, reported
from recordpipe.reports import FileIndex, FileReport, Info, SalvageReport, VerifyReport

__all__ = ["index", "info", "salvage", "verify"]


def info(
    paths: Paths,
    *,
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
        paths: a path, a pattern ("train-*.tfrecord"), or several.
        check_crc: False accepts wrong CRCs.
        input_compression: "none", "gzip", "zlib" or "zstd". Default: found out from the first
            bytes of each file.
        max_record_size: of a compressed file, in bytes; a longer record is an error.
        progress: True (a bar), or a function of the bytes done and the bytes in all, which may
            raise an exception to stop the work; see ``help(recordpipe.inputs)``.

    Raises:
        NotFoundError: a file doesn't exist, or a pattern matches none.
    """
    with reported(progress, "info") as function:
        files, total = native.info(
            paths_of(paths), reading(input_compression, max_record_size, check_crc), function
        )
    return Info._of(files, total)


def verify(
    paths: Paths,
    *,
    input_compression: str | None = None,
    max_record_size: int = 2**30,
    threads: int = 0,
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
        paths: a path, a pattern ("train-*.tfrecord"), or several.
        input_compression: "none", "gzip", "zlib" or "zstd". Default: found out from the first
            bytes of each file.
        max_record_size: of a compressed file, in bytes; a longer record is an error.
        threads: default: one for each core.
        progress: True (a bar), or a function of the bytes done and the bytes in all, which may
            raise an exception to stop the work; see ``help(recordpipe.inputs)``.

    Raises:
        NotFoundError: a file doesn't exist, or a pattern matches none.
    """
    with reported(progress, "verify") as function:
        found = native.verify(
            paths_of(paths),
            reading(input_compression, max_record_size),
            checked_threads(threads),
            function,
        )
    return VerifyReport(tuple(map(FileReport._of, found)))


def salvage(
    sources: Paths,
    target: str | os.PathLike[str],
    *,
    compression: str | None = None,
    input_compression: str | None = None,
    max_record_size: int = 2**30,
    threads: int = 0,
    progress: Progress = False,
) -> SalvageReport:
    """Writes all intact records of damaged files, one file after another, to ``target``.

        >>> report = rp.salvage("damaged.tfrecord", "intact.tfrecord")
        >>> report.records_written, report.bytes_lost
        (99998, 8192)

    Records are found as by :func:`verify`. ``target`` appears complete or not at all. Behind damage
    inside of compressed data, which refers to bytes before it, the decompressor may repeat earlier
    records: copies with correct CRCs, which are written too.

    Args:
        sources: damaged and intact files: a path, a pattern, or several.
        target: the path of the file to write. Must not be one of ``sources``.
        compression: "none", "gzip", "zlib" or "zstd". Default: by the target's name (.gz, .zlib,
            .zst), or none.
        input_compression: "none", "gzip", "zlib" or "zstd". Default: found out from the first
            bytes of each file.
        max_record_size: of a compressed file, in bytes; a longer record is an error.
        threads: default: one for each core.
        progress: True (a bar), or a function of the bytes done and the bytes in all, which may
            raise an exception to stop the work; see ``help(recordpipe.inputs)``.

    Raises:
        DataLossError: no intact record was found; nothing was written.
        NotFoundError: a file doesn't exist, or a pattern matches none.
    """
    path = path_of(target)
    with reported(progress, "salvage") as function:
        found, written = native.salvage(
            paths_of(sources),
            path,
            reading(input_compression, max_record_size),
            known_compression(compression) or None,
            checked_threads(threads),
            function,
        )
    return SalvageReport(tuple(map(FileReport._of, found)), path, written)


def index(
    paths: Paths,
    output: str | os.PathLike[str] | None = None,
    *,
    check: bool = False,
    threads: int = 0,
    progress: Progress = False,
) -> tuple[FileIndex, ...]:
    """Writes the index PATH.idx beside each file, or checks it; for random access, and for DALI.

    An index has one line "START SIZE" for each record, as those of DALI's tfrecord2idx. Every CRC
    is checked: a damaged file gets no index. An existing index is replaced.

    Args:
        paths: plain files: a path, a pattern ("train-*.tfrecord"), or several.
        output: the path of the index, for a single file. Default: PATH.idx.
        check: don't write, but compare every record's header with the index. A misfit doesn't
            raise: it is in ``FileIndex.error``.
        threads: default: one for each core.
        progress: True (a bar), or a function of the bytes done and the bytes in all, which may
            raise an exception to stop the work; see ``help(recordpipe.inputs)``.

    Raises:
        DataLossError: a file is damaged. Files before it have their indexes.
        UnsupportedError: a file is compressed.
        NotFoundError: a file doesn't exist, or a pattern matches none.
    """
    files = native.expand_inputs(paths_of(paths))
    if output is None:
        indexes = [native.record_index_path(path) for path in files]
    elif len(files) == 1:
        indexes = [path_of(output)]
    else:
        raise ValueError(f"output is for a single file, and there are {len(files)}")
    with reported(progress, "index") as function:
        if not check:
            counts = native.index(files, indexes, checked_threads(threads), function)
            return tuple(map(FileIndex, files, indexes, counts))
        results = native.check_index(files, indexes, function)
    return tuple(
        FileIndex(path, index, result)
        if isinstance(result, int)
        else FileIndex(path, index, None, result)
        for path, index, result in zip(files, indexes, results, strict=True)
    )
