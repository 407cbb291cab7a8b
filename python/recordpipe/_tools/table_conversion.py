"""convert() from and to Parquet and Arrow IPC files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from recordpipe.errors import UnsupportedError, error_of
from recordpipe.features import Feature, FixedLenFeature
from recordpipe.inputs import FoundFiles, Paths, file_path_of, found_files
from recordpipe.progress import ProgressFunction
from recordpipe.schema import Schema, schema
from recordpipe.sources import tfrecords
from recordpipe.table_files import file_size
from recordpipe.tables import is_table, table_batches, write_empty_table, write_table
from recordpipe.writer import Writer

__all__ = ["convert_tables", "names_tables"]

# A report of the written file: (path, records, bytes).
Written = tuple[str, int, int]
# Regions, their bytes, and compressed bytes.
Skipped = tuple[int, int, int]

# What convert() does with tables.
_FROM_TABLES = {"compression", "level", "limit", "select", "drop", "rename"}
_TO_TABLES = {
    *("compression", "limit", "select", "drop", "check_crc", "on_damage"),
    *("input_compression", "threads", "recursive"),
}


def names_tables(sources: list[str], target: str | os.PathLike[str]) -> bool:
    """Whether a source or the target is a table, by its suffix."""
    return any(is_table(os.fsdecode(path)) for path in [*sources, target])


def convert_tables(
    sources: Paths,
    target: str | os.PathLike[str],
    options: dict[str, Any],
    filesystem: Any,
    progress: ProgressFunction | None,
) -> tuple[Written, int, Skipped]:
    """Returns what was written, the number of records read, and what ``on_damage`` left out.

    ``options``: those of convert() that were given.
    """
    path = file_path_of(target, filesystem)
    found = found_files(sources, options.get("recursive", False), filesystem)
    names = found.paths
    tables = [name for name in names if is_table(name)]
    if not tables:
        _require(options, _TO_TABLES, "to a table")
        return _to_table(names, path, options, filesystem, progress)
    if len(tables) < len(names):
        other = next(name for name in names if not is_table(name))
        raise _refused(other, f"tables and other files are given, such as {tables[0]}")
    if is_table(path):
        raise _refused(path, "the sources are tables, too: convert those with pyarrow")
    _require(options, _FROM_TABLES, "from a table")
    return *_from_tables(found, path, options, filesystem, progress), (0, 0, 0)


def _require(options: Mapping[str, Any], possible: set[str], what: str) -> None:
    for name in options:
        if name not in possible:
            raise ValueError(
                f"{name} is not possible {what}: convert to TFRecords, and these with {name}"
            )


def _refused(path: str, reason: str, hint: str = "") -> Exception:
    return error_of("unsupported", reason, hint, path)


def _from_tables(
    tables: FoundFiles,
    path: str,
    options: dict[str, Any],
    filesystem: Any,
    progress: ProgressFunction | None,
) -> tuple[Written, int]:
    total, before = sum(tables.sizes), 0
    left = options.get("limit")
    codec = options.get("compression")
    level = {} if options.get("level") is None else {"compression_level": options["level"]}
    with Writer(path, compression=codec, filesystem=filesystem, **level) as writer:
        for name, size in zip(tables.paths, tables.sizes, strict=True):

            def advance(share: float, before: int = before, size: int = size) -> None:
                if progress is not None:
                    progress(before + int(share * size), total)

            first = 0
            for batch in table_batches(name, filesystem, None, advance):
                if left is not None:
                    batch = batch.slice(0, left)
                    left -= batch.num_rows
                rows = _selected(batch, options, name)
                try:
                    writer._write_rows(rows, first)
                except UnsupportedError as error:
                    raise _refused(name, error.reason, error.hint) from None
                first += rows.num_rows
                if left == 0:
                    break
            before += size
    if progress is not None:
        progress(total, total)
    return (path, writer.records, file_size(path, filesystem)), writer.records


def _selected(batch: Any, options: Mapping[str, Any], name: str) -> Any:
    columns = list(batch.schema.names)
    wanted = options.get("select")
    dropped = options.get("drop", [])
    renamed = dict(options.get("rename", {}))
    for column in [*(wanted or []), *dropped, *renamed]:
        if column not in columns:
            reason = f"no column {column!r}; there are {', '.join(columns)}"
            raise error_of("not_found", reason, path=name)
    kept = [column for column in wanted or columns if column not in dropped]
    return batch.select(kept).rename_columns([renamed.get(column, column) for column in kept])


def _to_table(
    names: list[str],
    path: str,
    options: dict[str, Any],
    filesystem: Any,
    progress: ProgressFunction | None,
) -> tuple[Written, int, Skipped]:
    reading = {
        "check_crc": options.get("check_crc", True),
        "on_damage": options.get("on_damage", "raise"),
        "filesystem": filesystem,
    }
    total = [0]

    def first_half(done: int, size: int) -> None:
        total[0] = size
        if progress is not None:
            progress(done, 2 * size)

    found = schema(
        names,
        input_compression=options.get("input_compression"),
        threads=options.get("threads", 0),
        progress=first_half,
        **reading,
    )
    skipped = found.regions_skipped, found.bytes_skipped, found.compressed_bytes_skipped
    features = _columns(found, options, names[0])
    if not features:
        write_empty_table(path, compression=options.get("compression"), filesystem=filesystem)
        return (path, 0, file_size(path, filesystem)), 0, skipped
    dataset = tfrecords(names, compression=options.get("input_compression"), **reading)
    if "limit" in options:
        dataset = dataset.take(options["limit"])
    dataset = dataset.parse(features)
    if options.get("threads"):
        dataset = dataset.with_options(threads=options["threads"])
    rows = write_table(path, dataset, compression=options.get("compression"), filesystem=filesystem)
    if progress is not None:
        progress(2 * total[0], 2 * total[0])
    return (path, rows, file_size(path, filesystem)), rows, skipped


def _columns(found: Schema, options: Mapping[str, Any], name: str) -> dict[str, Feature]:
    features = found.features()
    for feature, one in found.fields.items():
        # A feature that some records lack is null there.
        if feature in features and one.values is not None and 0 < one.values[0] == one.values[1]:
            shape = [] if one.values[0] == 1 else [one.values[0]]
            features[feature] = FixedLenFeature(shape, features[feature].dtype)
    if found.kind in ("SequenceExample", "ExampleListWithContext"):
        raise _refused(name, f"{found.kind}s: parse them, and call write_table()")
    wanted, dropped = options.get("select"), options.get("drop", [])
    for feature, one in found.fields.items():
        if one.kind == "mixed" and feature not in dropped and feature in (wanted or found.fields):
            raise _refused(
                name,
                f"feature {feature!r} has values of several types, of which no column is made: "
                f"drop it (drop=[{feature!r}])",
            )
    if found.left_out and not wanted:
        raise _refused(name, "more features than a schema holds: select those of the columns")
    if found.records == 0 and not wanted and not dropped:
        return {}
    for feature in [*(wanted or []), *dropped]:
        if feature not in found.fields:
            reason = f"no record has a feature {feature!r}"
            raise error_of("not_found", reason, path=name)
    chosen = (key for key in wanted or features if key not in dropped)
    kept = {key: features[key] for key in chosen if key in features}
    if not kept and not found.fields:
        raise _refused(
            name, f"none of {found.records:,} records has a feature, and rows need a column"
        )
    if not kept:
        raise _refused(name, "no feature is left for the columns")
    return kept
