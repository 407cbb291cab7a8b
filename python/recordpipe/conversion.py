"""convert: recompresses, splits, merges, shuffles, samples and edits, as ``tfrecord convert``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from recordpipe import _native as native
from recordpipe.features import known_compression
from recordpipe.inputs import (
    Paths,
    checked_threads,
    limit_of,
    path_of,
    paths_of,
    reading,
    whole_number,
)
from recordpipe.progress import Progress, reported

__all__ = ["ConvertReport", "SkippedRecord", "SkippedRegion", "WrittenFile", "convert"]


@dataclass(frozen=True)
class WrittenFile:
    """A file that was written.

    Attributes:
        path: of the file.
        records: their number.
        bytes: the size of the file.
    """

    path: str
    records: int
    bytes: int


@dataclass(frozen=True)
class SkippedRegion:
    """Damaged bytes that ``skip_corrupt=True`` skipped.

    Attributes:
        path: of the input.
        begin: the offset of the first of these bytes, in the (decompressed) content.
        end: the offset behind the last of these bytes.
        reason: what is wrong at ``begin``.
        hint: what to do; may be empty.
    """

    path: str
    begin: int
    end: int
    reason: str
    hint: str = ""


@dataclass(frozen=True)
class SkippedRecord:
    """A record whose image can't be resized, that ``skip_corrupt=True`` skipped.

    Attributes:
        path: of the input.
        offset: of the record, in the (decompressed) content.
        reason: what is wrong with the image.
    """

    path: str
    offset: int
    reason: str


@dataclass(frozen=True)
class ConvertReport:
    """What :func:`convert` wrote.

    Attributes:
        files: the files, in the order of the records.
        records_read: the number of records that were read.
        regions_skipped: the number of damaged regions that were skipped.
        bytes_skipped: the size of these regions.
        skipped: the first 10,000 of these regions.
        records_skipped: the number of records whose image can't be resized.
        skipped_records: the first 10,000 of these records.
    """

    files: tuple[WrittenFile, ...]
    records_read: int
    regions_skipped: int = 0
    bytes_skipped: int = 0
    skipped: tuple[SkippedRegion, ...] = ()
    records_skipped: int = 0
    skipped_records: tuple[SkippedRecord, ...] = ()

    @property
    def paths(self) -> list[str]:
        """The paths of the files."""
        return [file.path for file in self.files]

    @property
    def records(self) -> int:
        """The number of records that were written."""
        return sum(file.records for file in self.files)

    @property
    def bytes(self) -> int:
        """The size of all files that were written."""
        return sum(file.bytes for file in self.files)


def convert(
    sources: Paths,
    target: str | os.PathLike[str],
    *,
    compression: str | None = None,
    level: int | Literal["fast"] | None = None,
    shards: int | None = None,
    max_bytes: int | None = None,
    shuffle: bool = False,
    tmp_dir: str | os.PathLike[str] | None = None,
    where: str | None = None,
    sample: float | None = None,
    sample_count: int | None = None,
    seed: int = 0,
    limit: int | None = None,
    select: str | Sequence[str] | None = None,
    drop: str | Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    resize: int | None = None,
    quality: int = 90,
    images: str | Sequence[str] = (),
    skip_corrupt: bool = False,
    check_crc: bool = True,
    input_compression: str | None = None,
    max_record_size: int = 2**30,
    threads: int = 0,
    progress: Progress = False,
) -> ConvertReport:
    """Writes the records of all files anew: compressed, split, merged, shuffled, sampled, edited.

        rp.convert("train.tfrecord", "train.tfrecord.gz")
        rp.convert("train-*", "all.tfrecord", where="label == 3", select=["image", "label"])
        rp.convert("all.tfrecord", "train", shards=64, shuffle=True, seed=7)

    Records are read in the order of the files; those that aren't edited are copied unchanged. The
    output appears at the end, whole. After an error nothing appears, and older files are unchanged.
    The same sources, options and seed give the same files with any number of threads. Memory: about
    64 MiB, and the largest record.

    Args:
        sources: a path, a pattern ("train-*.tfrecord"), or several.
        target: the path of the file to write; with ``shards`` or ``max_bytes``, the start of the
            paths: TARGET-00000-of-00064, .... Must not be one of the sources, unless all their
            records and features are kept.
        compression: "none", "gzip", "zlib" or "zstd". Default: by the target's name (.gz, .zlib,
            .zst), or none.
        level: 0 to 9 for gzip and zlib (default 1), 1 to 22 for zstd (default 3); "fast": gzip with
            ISA-L.
        shards: the number of files, of nearly equal numbers of records, filled one after another.
            Without ``shuffle``, the sources are read twice.
        max_bytes: begin another file before one would be larger, counted before compression.
        shuffle: put the records into a random order, all orders being equally likely. What doesn't
            fit into memory goes to temporary files.
        tmp_dir: the directory of these. Default: the target's.
        where: the records to take, for example ``"label == 3 and len(box) > 0"``. Default: all.
        sample: take each record with this probability, 0 to 1.
        sample_count: take so many records, drawn at random. Without ``shuffle``, the sources are
            read twice.
        seed: of ``shuffle``, ``sample`` and ``sample_count``.
        limit: at most the first so many records.
        select: the features to keep. Default: all.
        drop: features to leave out.
        rename: new names of features, by their old names.
        resize: make JPEG and PNG images smaller: their shorter side becomes so many pixels, by
            PIL's bilinear filter. Smaller images stay as they are. Features with the old height and
            width get the new ones; of EXIF, only a JPEG's orientation is kept.
        quality: of resized JPEG images, 1 to 100.
        images: the features that ``resize`` resizes, with one image or any number in each record.
            Default: image/encoded, image or the like.
        skip_corrupt: skip damaged regions, and keep all intact records behind them; skip records
            whose image ``resize`` can't decode. Default: both are an error.
        check_crc: False accepts wrong CRCs.
        input_compression: "none", "gzip", "zlib" or "zstd". Default: found out from the first
            bytes of each file.
        max_record_size: of a compressed file, in bytes; a longer record is an error.
        threads: default: one for each core.
        progress: True (a bar), or a function of the bytes done and the bytes in all, which may
            raise an exception to stop the work; see ``help(recordpipe.inputs)``.

    Raises:
        DataLossError: a record is damaged, or to be edited and no Example or SequenceExample.
        NotFoundError: a file, or a feature that is named, doesn't exist.
        AlreadyExistsError: two features would get the same name.
        InvalidArgumentError: ``where`` has a syntax error, ``level`` isn't one of the compression,
            or the target is one of the sources.
    """
    if shards is not None and max_bytes is not None:
        raise ValueError("shards and max_bytes are two ways to split: give one of them")
    if sample is not None and sample_count is not None:
        raise ValueError("sample and sample_count are two ways to sample: give one of them")
    if sample is not None and not 0 <= sample <= 1:
        raise ValueError(f"sample is a probability, 0 to 1, not {sample}")
    if skip_corrupt and not check_crc:
        raise ValueError("skip_corrupt=True and check_crc=False contradict each other")
    if resize is None and images:
        raise ValueError("images are the features that resize=N resizes")
    arguments = native.ConvertArguments()
    arguments.compression = known_compression(compression) or None
    arguments.fast = level == "fast"
    if level is not None and level != "fast":
        arguments.level = whole_number("level", level, 0, 22)
    if shards is not None:
        arguments.shards = whole_number("shards", shards, 1, 99_999)
    if max_bytes is not None:
        arguments.max_bytes = whole_number("max_bytes", max_bytes, 1)
    arguments.shuffle = shuffle
    arguments.tmp_dir = "" if tmp_dir is None else path_of(tmp_dir)
    arguments.where = where
    arguments.sample = sample
    if sample_count is not None:
        arguments.sample_count = whole_number("sample_count", sample_count)
    arguments.seed = whole_number("seed", seed)
    arguments.limit = limit_of(limit)
    arguments.select = None if select is None else _names(select)
    arguments.drop = _names(drop)
    arguments.rename = dict(rename or {})
    if resize is not None:
        arguments.resize = whole_number("resize", resize, 1, 2**20)
    arguments.quality = whole_number("quality", quality, 1, 100)
    arguments.images = _names(images)
    arguments.skip_corrupt = skip_corrupt
    arguments.threads = checked_threads(threads)
    with reported(progress, "convert") as function:
        files, read, regions, size, skipped, failed, broken = native.convert(
            paths_of(sources),
            path_of(target),
            reading(input_compression, max_record_size, check_crc),
            arguments,
            function,
        )
    return ConvertReport(
        tuple(WrittenFile(*file) for file in files),
        read,
        regions,
        size,
        tuple(SkippedRegion(*region) for region in skipped),
        failed,
        tuple(SkippedRecord(*record) for record in broken),
    )


def _names(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
