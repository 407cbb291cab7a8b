"""convert: recompresses, splits, merges, shuffles, samples and edits, as ``tfrecord convert``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from recordpipe._tools.conversion_reports import ConvertReport
from recordpipe._tools.record_conversion import convert_records
from recordpipe.inputs import OnDamage, Paths, paths_of
from recordpipe.progress import Progress
from recordpipe.tables import is_table

__all__ = ["convert"]


def convert(
    sources: Paths,
    target: str | os.PathLike[str],
    *,
    recursive: bool = False,
    filesystem: Any = None,
    compression: str | None = None,
    level: int | Literal["fast"] | None = None,
    shards: int | None = None,
    shards_by: Literal["blocks", "round-robin"] = "blocks",
    split: Mapping[str, float] | None = None,
    split_by: str | None = None,
    max_bytes: int | None = None,
    shuffle: bool = False,
    tmp_dir: str | os.PathLike[str] | None = None,
    kind: str | None = None,
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
    text: Literal["auto", "never"] = "auto",
    on_damage: OnDamage = "raise",
    check_crc: bool = True,
    input_compression: str | None = None,
    max_record_size: int = 2**30,
    threads: int = 0,
    no_clobber: bool = False,
    dry_run: bool = False,
    progress: Progress = False,
) -> ConvertReport:
    """Writes the records of all files anew: compressed, split, merged, shuffled, sampled, edited.

        rp.convert("train.tfrecord", "train.tfrecord.gz")
        rp.convert("train-*", "all.tfrecord", where="label == 3", select=["image", "label"])
        rp.convert("all.tfrecord", "train", shards=64, shuffle=True, seed=7)
        rp.convert("all-*", "set.tfrecord", split={"train": 0.9, "val": 0.1}, split_by="user")

    This is one task of one process, on its threads: what it writes depends on all sources.
    :func:`convert_to_dir` makes a file from each, as tasks of an ``executor``.

    A source or a target whose name ends in .parquet, .pq, .arrow, .feather or .ipc is a Parquet or
    Arrow IPC file (pyarrow; :func:`write_table` and :meth:`Writer.write_table` say what becomes of
    columns). To a table, the sources are read twice, first for their features: one that some
    records lack is null there. All options are possible, except to a table ``level``, ``dry_run``
    and those that make several files, and from one ``dry_run``, ``recursive``, ``kind`` and those
    of reading. With ``where``, ``shuffle`` and others that choose or change records, and to a
    table ``rename``, the records go through a temporary file (``tmp_dir``): not with
    ``filesystem``.

        rp.convert("train-*", "train.parquet", select=["image", "label"])
        rp.convert("tables/*.parquet", "train.tfrecord.gz")

    Records are read in the order of the files, of which the next ones are opened and decompressed
    ahead; those that aren't edited are copied unchanged. The
    output appears at the end, whole. After an error nothing appears, and older files are unchanged.
    The same sources, options and seed give the same files with any number of threads. Memory: about
    64 MiB, and the largest record.

    Args:
        sources: a path, a folder, a pattern, or several; see ``help(recordpipe.inputs)``.
        target: the path of the file to write; with ``shards`` or ``max_bytes``, the start of the
            paths: TARGET-00000-of-00064, ...; with ``split``, see there. Must not be one of the
            sources, unless it is the only one and all its records and features are kept, nor have
            the name of another format (.csv, .npz, ...).
        recursive: True reads the folders below a folder, too.
        filesystem: of all paths; see ``help(recordpipe.inputs)``.
        compression: "none", "gzip", "zlib" or "zstd". Default: by the target's name (.gz, .zlib,
            .zst), or none.
        level: 0 to 9 for gzip and zlib (default 1), 1 to 22 for zstd (default 3); "fast": gzip with
            ISA-L.
        shards: the number of files, of nearly equal numbers of records.
        shards_by: "blocks" fills the shards one after another, so that reading them in order gives
            the order of the sources. Without ``shuffle``, the number of records is needed first. It
            comes from the index PATH.idx beside a source (:func:`index`) or, of a file that isn't
            compressed, from the records' headers; compressed sources are read twice, and so are all
            with ``where``, ``limit`` (up to there), ``on_damage`` or ``split_by``.
            "round-robin" deals the records out in turn, and needs no numbers.
        split: the splits and their parts of the records, which add up to 1: {"train": 0.9, "val":
            0.1} writes TARGET-train and TARGET-val, each with ``shards``, if given. The name
            precedes the extensions .tfrecord, .tfrecords and those of compressions, as in TFDS:
            "a/mnist.tfrecord" gives a/mnist-train.tfrecord, and "a/" gives a/train. All files
            appear together. By default, each record is drawn by the seed, the name of its file
            (without folder and compression) and its number there: its split depends neither on
            other files nor on threads, and sources of equal names are an error.
        split_by: the feature that decides the split instead, one int64 or bytes value in each
            record: equal values are in the same split. Of an int64, the value is its 8 bytes,
            little-endian. h / 2**64 is compared with the fractions, in the order of ``split``::

                def mix(x):
                    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
                    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
                    return x ^ x >> 31

                h = seed
                for x in [*value, len(value)]:
                    h = mix((h + 0x9E3779B97F4A7C15) % 2**64)
                    h = mix((h + x * 0x9E3779B97F4A7C15) % 2**64)

            Neither way will change.
        max_bytes: begin another file before one would be larger, counted before compression.
        shuffle: put the records into a random order, all orders being equally likely. What doesn't
            fit into memory goes to temporary files.
        tmp_dir: the directory of these, on this machine. Default: the target's, or that of
            ``tempfile`` for a target elsewhere.
        kind: reads every record as this type of message, for ``where``, ``select``, ``drop``,
            ``rename`` and ``resize``, as in :func:`recordpipe.schema`.
        where: the records to take, for example ``"label == 3 and len(box) > 0"``. Default: all.
        sample: take each record with this probability, 0 to 1.
        sample_count: take so many records, drawn at random. Without ``shuffle``, the number of
            records is needed first; see ``shards_by``.
        seed: of ``shuffle``, ``sample``, ``sample_count`` and ``split``.
        limit: at most the first so many records.
        select: the features to keep. Default: all.
        drop: features to leave out.
        rename: new names of features, by their old names.
        resize: make JPEG and PNG images smaller: their shorter side becomes so many pixels, by
            PIL's bilinear filter. Smaller images stay as they are. Features with the old height and
            width get the new ones; of EXIF, only a JPEG's orientation is kept.
        quality: of resized JPEG images, 1 to 100.
        images: the features that ``resize`` resizes, with one image or any number in each record.
            Default: the first of image/encoded, image, image_raw, image/raw and img that holds
            bytes.
        text: of a table: "auto" makes strings of the bytes of a feature whose values are all text
            (UTF-8 without control characters), "never" binary data.
        on_damage: "raise", "skip_file" or "resync"; the last two also leave out records whose image
            ``resize`` can't decode. The report counts what was left out.
        check_crc: False accepts wrong CRCs.
        input_compression: "none", "gzip", "zlib" or "zstd". Default: found out.
        max_record_size: of a compressed file, in bytes; a longer record is an error.
        threads: default: one for each core.
        no_clobber: True refuses to replace a file that exists (AlreadyExistsError).
        dry_run: True writes nothing, and only reads indexes and headers; the report has a ``plan``.
        progress: True (a bar), or a function; see ``help(recordpipe.inputs)``.

    Raises:
        DataLossError: a record is damaged, or to be edited and no Example or SequenceExample.
        NotFoundError: a file, or a feature that is named, doesn't exist.
        AlreadyExistsError: two features would get the same name; a file exists (``no_clobber``).
        InvalidArgumentError: ``where`` has a syntax error, ``level`` isn't one of the compression,
            the target is one of the sources, a split has a fraction or a name that can't be, or
            sources have equal names.
        LimitExceededError: more than 10,000 files would be written at a time, with "round-robin".
    """
    arguments = locals()
    sources = paths_of(sources, filesystem)
    if any(is_table(os.fsdecode(path)) for path in [*sources, target]):
        from recordpipe._tools.table_conversion import convert_tables  # others don't wait for it

        return convert_tables(sources, target, arguments, convert.__kwdefaults__ or {})
    return convert_records(sources, target, arguments)
