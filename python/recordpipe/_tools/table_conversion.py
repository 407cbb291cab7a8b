"""convert() from and to Parquet and Arrow IPC files."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from recordpipe import _native as native
from recordpipe._plan.found_features import FoundFeatures
from recordpipe._tools.conversion_reports import ConvertReport, WrittenFile
from recordpipe._tools.record_conversion import (
    conversion_options,
    convert_records,
    part_features,
    renamed,
    selected,
)
from recordpipe._tools.table_columns import (
    columns_of,
    is_column,
    refused,
    refused_file,
    survey_options,
    without_mask,
)
from recordpipe.errors import Error, UnsupportedError, error_of
from recordpipe.features import Feature, feature_names
from recordpipe.filesystem_adapters import files_on
from recordpipe.inputs import (
    FoundFiles,
    checked_on_damage,
    checked_threads,
    file_path_of,
    found_files,
    limit_of,
    path_of,
)
from recordpipe.progress import ProgressFunction, reported
from recordpipe.schema import schema
from recordpipe.sources import tfrecords
from recordpipe.table_files import file_size
from recordpipe.tables import (
    checked_codec,
    is_table,
    pyarrow_for,
    table_batches,
    write_empty_table,
    write_table,
)
from recordpipe.writer import Writer

__all__ = [
    "are_tables",
    "convert_tables",
    "from_table_options",
    "is_direct",
    "table_options",
    "temporary_records",
    "write_rows",
]

# The options of convert() that need no temporary TFRecords on the way.
_ALWAYS = {"filesystem", "images", "no_clobber", "progress", "quality", "seed", "tmp_dir"}
_TO_DIRECTLY = _ALWAYS | {
    *("check_crc", "compression", "drop", "input_compression", "limit", "on_damage"),
    *("recursive", "select", "text", "threads"),
}
_FROM_DIRECTLY = _ALWAYS | {"compression", "drop", "level", "limit", "rename", "select", "threads"}
# Those that tables don't have.
_NOT_TO = {"dry_run", "level", "max_bytes", "shards", "shards_by", "split", "split_by"}
_NOT_FROM = {
    *("check_crc", "dry_run", "input_compression", "kind", "max_record_size", "on_damage"),
    *("recursive", "text"),
}
_WITH_BITS = (
    "give the column another type first; in Python, write_tfrecords(path, table, uint64_bits=True) "
    "keeps its bits"
)


def convert_tables(
    sources: list[str],
    target: str | os.PathLike[str],
    arguments: Mapping[str, Any],
    defaults: Mapping[str, Any],
) -> ConvertReport:
    """``arguments``: all of convert(); ``defaults``: theirs, here and below."""
    filesystem = arguments["filesystem"]
    path = file_path_of(target, filesystem)
    found = found_files(sources, arguments["recursive"], filesystem)
    pyarrow_for("a Parquet or Arrow IPC file", path)  # before anything is read
    tables = are_tables(found.paths)
    if tables and is_table(path):
        raise refused(path, "the sources are tables, too: convert those with pyarrow")
    make = _from_tables if tables else _to_table
    options = (from_table_options if tables else table_options)(arguments, defaults)
    if not tables:
        checked_codec(path, options.get("compression"))
    with reported(arguments["progress"], "convert") as progress:
        return make(found, path, options, defaults, progress)


def are_tables(paths: list[str]) -> bool:
    """Whether all files are tables; refuses tables among others."""
    tables = [name for name in paths if is_table(name)]
    if tables and len(tables) < len(paths):
        other = next(name for name in paths if not is_table(name))
        table = native.without_secrets(tables[0])
        raise refused(other, f"tables and other files are given, such as {table}")
    return bool(tables)


def table_options(arguments: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments for convert() to a table that are no defaults, checked."""
    options = _given(arguments, defaults)
    if options.get("text", "auto") not in ("auto", "never"):
        raise ValueError(f'text is "auto" or "never", not {options["text"]!r}')
    _require(options, _NOT_TO, "to a table")
    return options


def from_table_options(arguments: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The same from a table."""
    options = _given(arguments, defaults)
    _require(options, _NOT_FROM, "from a table")
    return options


def _given(arguments: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    checks: dict[str, Callable[[Any], Any]] = {
        "limit": limit_of,
        "select": selected,
        "drop": feature_names,
        "rename": renamed,
        "threads": checked_threads,
        "on_damage": lambda value: checked_on_damage(value, arguments.get("check_crc", True)),
    }
    values = {
        name: checks[name](arguments[name]) if name in checks else arguments[name]
        for name, default in defaults.items()
        if name in arguments and arguments[name] is not default
    }
    return {
        name: value for name, value in values.items() if value not in (defaults[name], (), [], {})
    }


def _require(options: Mapping[str, Any], impossible: set[str], what: str) -> None:
    for name in options:
        if name in impossible:
            raise ValueError(
                f"{name} is not possible {what}: convert to TFRecords, and these with {name}"
            )


@contextlib.contextmanager
def temporary_records(path: str, name: str, options: Mapping[str, Any]) -> Iterator[str]:
    """The path of a file for records on the way to ``path``."""
    given = options.get("tmp_dir")
    if given is not None:
        folder = path_of(given)
    else:
        folder = tempfile.gettempdir() if "://" in path else os.path.dirname(path) or "."
    with contextlib.ExitStack() as stack:
        try:
            made = tempfile.TemporaryDirectory(prefix=".recordpipe-", dir=folder)
        except OSError as error:
            reason = f"temporary files can't be made in it: {error.strerror}"
            hint = "name another folder: --tmp-dir (in Python, tmp_dir=)" if given else ""
            kind = "not_found" if isinstance(error, FileNotFoundError) else "io"
            raise error_of(kind, reason, hint, folder) from None
        yield os.path.join(stack.enter_context(made), name)


def _from_tables(
    tables: FoundFiles,
    path: str,
    options: dict[str, Any],
    defaults: Mapping[str, Any],
    progress: ProgressFunction | None,
) -> ConvertReport:
    files = files_on(options.get("filesystem"))
    made = conversion_options(path, {**defaults, **options})
    outputs = native.replaced_files(files, path, made)
    native.require_no_input(files, tables.paths, outputs)
    if options.get("no_clobber"):
        native.require_absent(files, outputs)
    others = options.keys() - _FROM_DIRECTLY
    if options.get("level") == "fast":
        others.add("level")
    if (part := part_features.get()) is not None:
        part.append(b"[]")  # the names of the columns, once they are known
    if not others:
        return _read_tables(tables, path, functools.partial(_selected, options), options, progress)
    if "filesystem" in options:
        _require(options, others, "from a table on a filesystem")
    # Records are drawn for the parts of split= by the name of their file.
    name = os.path.splitext(os.path.basename(tables.paths[0]))[0]
    with temporary_records(path, name, options) as records:
        gone: set[str] = set()
        _read_tables(tables, records, functools.partial(_needed, options, gone), {}, progress)
        drop = [each for each in options.get("drop", []) if each not in gone]
        try:
            how = {**defaults, **options, "drop": drop, "progress": False}
            return convert_records([records], path, how)
        except Error as error:
            if error.path != records:
                raise
            table = tables.paths[0] if len(tables.paths) == 1 else None
            reason = error.reason.removesuffix(" in the record")
            raise error_of(error.kind, reason, error.hint, table) from None


def _read_tables(
    tables: FoundFiles,
    path: str,
    choose: Callable[[Any, str], Any],
    options: dict[str, Any],
    progress: ProgressFunction | None,
) -> ConvertReport:
    part = part_features.get()
    filesystem = options.get("filesystem")
    total, before = sum(tables.sizes), 0
    left = options.get("limit")
    level = {} if options.get("level") is None else {"compression_level": options["level"]}
    with Writer(
        path,
        compression=options.get("compression"),
        no_clobber=options.get("no_clobber", False),
        filesystem=filesystem,
        **level,
    ) as writer:
        for name, size in zip(tables.paths, tables.sizes, strict=True):
            if left == 0:
                break

            def advance(share: float, before: int = before, size: int = size) -> None:
                if progress is not None:
                    progress(before + int(share * size), total)

            first = 0
            for batch in table_batches(name, filesystem, None, advance):
                if left is not None:
                    batch = batch.slice(0, left)
                    left -= batch.num_rows
                if part is not None:
                    part[0] = json.dumps(batch.schema.names).encode()
                rows = choose(batch, name)
                try:
                    writer._write_rows(rows, first)
                except UnsupportedError as error:
                    hint = _WITH_BITS if "uint64_bits" in error.hint else error.hint
                    raise refused(name, error.reason, hint) from None
                first += rows.num_rows
                if left == 0:
                    break
            before += size
    if progress is not None:
        progress(total, total)
    made = WrittenFile(path, writer.records, file_size(path, filesystem))
    return ConvertReport((made,), writer.records)


def _needed(options: Mapping[str, Any], gone: set[str], batch: Any, name: str) -> Any:
    """The columns that are kept, or that a condition may read; the others may be of any type."""
    where, named = options.get("where", ""), {options.get("split_by"), *options.get("rename", {})}
    reads_any = "*" in where or "\\" in where or "resize" in options
    kept = [
        column
        for column in batch.schema.names
        if reads_any or is_column(column, options) or column in where or column in named
    ]
    gone.update({*batch.schema.names} - {*kept})
    return batch.select(kept)


def _selected(options: Mapping[str, Any], batch: Any, name: str) -> Any:
    columns = list(batch.schema.names)
    wanted = options.get("select")
    dropped = options.get("drop", [])
    new_names = options.get("rename", {})
    for column in [*(wanted or []), *dropped, *new_names]:
        if column not in columns and part_features.get() is None:
            # Without the path as an attribute, which would say that the file is missing.
            there = f"no column {column!r}; there are {', '.join(columns)}"
            raise error_of("not_found", f"{native.without_secrets(name)}: {there}")
    kept = [one for one in wanted or columns if one in columns and one not in dropped]
    return batch.select(kept).rename_columns([new_names.get(column, column) for column in kept])


def _to_table(
    sources: FoundFiles,
    path: str,
    options: dict[str, Any],
    defaults: Mapping[str, Any],
    progress: ProgressFunction | None,
) -> ConvertReport:
    def first_half(done: int, size: int) -> None:
        if progress is not None:
            progress(done, 2 * size)

    filesystem = options.get("filesystem")
    if options.get("no_clobber"):
        native.require_absent(files_on(filesystem), [path])
    if not is_direct(options):
        with temporary_records(path, "", options):  # before anything is read
            pass
    threads = options.get("threads", 0)
    found = schema(
        sources.paths,
        filesystem=filesystem,
        threads=threads,
        progress=first_half,
        **survey_options(options),
    )
    try:
        columns = columns_of(found, options, sources.paths)
    except UnsupportedError as error:
        if len(sources.paths) == 1:
            raise
        raise refused_file(sources.paths, options, threads, filesystem) or error from None
    report = write_rows(sources.paths, path, columns, options, defaults)
    if progress is not None:
        progress(2 * sum(sources.sizes), 2 * sum(sources.sizes))
    if not is_direct(options):  # it was counted on the way
        return report
    return replace(
        report,
        regions_skipped=found.regions_skipped,
        bytes_skipped=found.bytes_skipped,
        compressed_bytes_skipped=found.compressed_bytes_skipped,
        skipped=found.skipped,
    )


def is_direct(options: Mapping[str, Any]) -> bool:
    """Whether no temporary TFRecords are needed on the way to a table."""
    return not options.keys() - _TO_DIRECTLY


def write_rows(
    sources: list[str],
    path: str,
    columns: Mapping[str, Feature],
    options: Mapping[str, Any],
    defaults: Mapping[str, Any],
) -> ConvertReport:
    """Writes the records to a table of these columns, which ``rename`` renames."""
    filesystem = options.get("filesystem")
    codec: dict[str, Any] = {"compression": options.get("compression"), "filesystem": filesystem}
    read = {name: options[name] for name in ("check_crc", "on_damage") if name in options}
    dataset = tfrecords(
        sources, compression=options.get("input_compression"), filesystem=filesystem, **read
    )
    report = ConvertReport((), 0)
    with contextlib.ExitStack() as stack:
        if others := options.keys() - _TO_DIRECTLY:
            if filesystem is not None:
                _require(options, others, "to a table on a filesystem")
            dataset._native.require_not_read(files_on(filesystem), [path])
            records = stack.enter_context(temporary_records(path, "records", options))
            # With kind=, records may have fields that are no features: an edit refuses them.
            edit = {"select": [*columns]} if "kind" in options and columns else {}
            report = _copied(sources, records, {**options, **edit}, defaults)
            dataset = tfrecords(records)
            new_names = options.get("rename", {})
            columns = {new_names.get(name, name): one for name, one in columns.items()}
        elif "limit" in options:
            dataset = dataset.take(options["limit"])
        if options.get("threads"):
            dataset = dataset.with_options(threads=options["threads"])
        rows = 0
        columns = {name: without_mask(one) for name, one in columns.items()}
        if columns:
            rows = write_table(path, dataset.parse(FoundFeatures(columns)), **codec)
        else:
            write_empty_table(path, **codec)
    made = WrittenFile(path, rows, file_size(path, filesystem))
    return replace(report, files=(made,), records_read=report.records_read or rows)


def _copied(
    sources: list[str], records: str, options: Mapping[str, Any], defaults: Mapping[str, Any]
) -> ConvertReport:
    not_here = {"compression", "no_clobber", "progress", "recursive", "text"}
    token = part_features.set([])  # what the options name is known to be somewhere
    try:
        how = {key: options[key] for key in options if key not in not_here}
        return convert_records(sources, records, {**defaults, **how})
    finally:
        part_features.reset(token)
