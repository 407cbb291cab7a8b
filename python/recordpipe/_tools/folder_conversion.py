"""convert_to_dir: converts each file by itself, as ``tfrecord convert --to-dir``."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import warnings
from typing import Any, Literal

from recordpipe import _native as native
from recordpipe._plan.found_features import chosen_features
from recordpipe._tools.conversion import convert
from recordpipe._tools.conversion_reports import ConvertReport
from recordpipe._tools.record_conversion import part_features, set_selection
from recordpipe._tools.shard_jobs import Made, ShardJobReport, run_shard_job
from recordpipe._tools.shards import Executor
from recordpipe._tools.table_columns import Damage, TableSurvey, survey_files
from recordpipe._tools.table_conversion import (
    are_tables,
    from_table_options,
    is_direct,
    table_options,
    temporary_records,
    write_rows,
)
from recordpipe.errors import NotFoundError
from recordpipe.features import known_compression
from recordpipe.filesystem_adapters import files_on
from recordpipe.inputs import FoundFiles, Paths, found_files, reading, whole_number
from recordpipe.progress import Progress
from recordpipe.tables import checked_codec, is_table, pyarrow_for

__all__ = ["convert_to_dir"]


def convert_to_dir(
    sources: Paths,
    folder: str | os.PathLike[str],
    *,
    recursive: bool = False,
    filesystem: Any = None,
    executor: Executor | None = None,
    resume: bool = False,
    keep_going: bool = False,
    no_clobber: bool = False,
    progress: Progress = False,
    format: Literal["parquet", "arrow"] | None = None,
    **options: Any,
) -> ShardJobReport:
    """Writes the records of each file anew, to a file of the same name in ``folder``.

        with ProcessPoolExecutor() as processes:
            rp.convert_to_dir("raw/*.gz", "train", compression="zstd", executor=processes)

    Each output appears when it is whole, and is a task of ``executor``. Beside the outputs,
    .shards/NAME.json says what each was made from: the job (all options), the input and its size
    and time of modification, records, bytes, CRC-32C. When all are there, these become the lines of
    manifest.jsonl, which :func:`verify_manifest` and ``tfrecord verify --manifest`` check; with
    ``keep_going``, an input that failed has a line with an "error". A task that an executor runs
    twice makes the same bytes under the same name. Two jobs can't use a folder at a time
    (BusyError), except on other file systems, which have no locks: there, they do the work twice.

    Of a Parquet or Arrow IPC file, "x.parquet", the output is x.tfrecord; see :func:`convert`. A
    folder without record files stands for the tables in it.

    Args:
        sources: a path, a folder, a pattern ("train-*.tfrecord", "train-{000..127}"), a set of
            shards ("train@64"), or several; see ``help(recordpipe.inputs)``. All files have
            different names.
        folder: of the outputs, of which none may be a source; made if it is missing. Workers on
            other machines must have it, and ``sources``, under the same paths: in an object store,
            or a shared file system.
        recursive: True reads the folders below a folder, too, and makes the same folders below
            ``folder``: "in/a/x" of "in" becomes "a/x".
        filesystem: of all paths; see ``help(recordpipe.inputs)``.
        executor: any ``concurrent.futures.Executor``; see :func:`map_shards`. Default: threads, one
            for each core.
        resume: keeps the outputs that an earlier run has made from the same inputs with the same
            options; a damaged input that has failed, and has not changed, fails again without being
            read.
        keep_going: goes on after a file that failed; its error is in the report.
        no_clobber: True refuses to replace a file that exists (AlreadyExistsError).
        progress: True (a bar), or a function; see ``help(recordpipe.inputs)``.
        format: makes tables instead: "x.tfrecord.gz" becomes x.parquet or x.arrow. All files are
            looked into first, so that the tables have the same columns, in the same order. Then
            ``compression`` is that of :func:`write_table`.
        options: those of :func:`convert`, except ``shards``, ``max_bytes``, ``split``,
            ``split_by`` and ``dry_run``, for each file by itself. A file may lack a feature that
            they name; if all files do, NotFoundError says so
            when all outputs are written. ``compression``: default that of each input; if it is
            given, names get its extension. ``seed``: of each file, one that is derived from it and
            from the output's name. ``threads``: default: one.
    """
    seed = whole_number("seed", options.pop("seed", 0))
    if refused := {"dry_run", "max_bytes", "shards", "split", "split_by"} & options.keys():
        raise TypeError(f"each file becomes one file: convert_to_dir() has no {min(refused)}")
    if format not in (None, "parquet", "arrow"):
        raise ValueError(f'format is "parquet" or "arrow", not {format!r}')
    files = _found(sources, bool(recursive), filesystem, format)
    from_tables = are_tables(files.paths)
    if not from_tables:
        options = {"threads": 1, **options}
    defaults = convert.__kwdefaults__ or {}
    if unknown := options.keys() - defaults.keys():
        raise TypeError(f"convert() has no {min(unknown)}")
    compression = check = skipped = None
    ending = "" if format is None else f".{format}"
    if from_tables or format is not None:
        pyarrow_for("a Parquet or Arrow IPC file")  # before anything is read
    if format is None:
        compression = known_compression(options.pop("compression", None)) or None
        if from_tables:
            options = from_table_options(options, defaults)
            ending, compression = ".tfrecord", compression or "none"
        how = options = {**options, "compression": compression}
        work = functools.partial(_convert_file, options, seed, filesystem)
        check = functools.partial(_require_columns if from_tables else _require_found, options)
    elif from_tables:
        raise ValueError("format is of tables that are made, and the sources are tables, too")
    else:
        options = table_options(options, defaults)
        checked_codec(ending, options.get("compression"))
        if "tmp_dir" in options and not is_direct(options):
            with temporary_records("", "", options):
                pass
        survey, skipped = survey_files(files, options, executor, keep_going, filesystem)
        columns = {name: repr(feature) for name, feature in survey.columns.items()}
        how = {**options, "columns": [*columns.items()]}
        work = functools.partial(_write_table, survey, options, seed, filesystem)
    how = {name: value for name, value in how.items() if name not in ("threads", "tmp_dir")}
    return run_shard_job(
        work,
        files,
        folder,
        filesystem=filesystem,
        operation="convert " + json.dumps([seed, how], sort_keys=True, default=list),
        compression=compression,
        ending=ending,
        executor=executor,
        resume=resume,
        keep_going=keep_going,
        no_clobber=no_clobber,
        progress=progress,
        activity="convert",
        check=check,
        # Without a temporary file, nothing else names the regions.
        skipped=skipped if is_direct(options) else None,
    )


def _found(
    sources: Paths | FoundFiles, recursive: bool, filesystem: Any, format: str | None
) -> FoundFiles:
    """Of a folder without record files, the tables in it."""
    try:
        return found_files(sources, recursive, filesystem)
    except NotFoundError as error:
        if format is not None or not isinstance(sources, str | os.PathLike) or not error.path:
            raise
        pattern = re.sub(r"([\\*?\[{])", r"\\\1", error.path.rstrip("/"))
        try:
            found = found_files(pattern + ("/**/*" if recursive else "/*"), False, filesystem)
        except NotFoundError:
            raise error from None
        # As of record files, those that are hidden or unfinished are left out.
        below = len(error.path.rstrip("/"))
        tables = [
            each
            for each in zip(found.paths, found.sizes, strict=True)
            if is_table(each[0]) and not re.search(r"/[._]", each[0][below:])
        ]
        if not tables:
            raise
        paths, sizes = (list(each) for each in zip(*tables, strict=True))
        return FoundFiles(paths, sizes, [error.path] if recursive else ())


def _require_found(options: dict[str, Any], files: list[bytes], are_all: bool) -> None:
    names = ("where", "sample", "limit", "select", "drop", "rename", "resize", "images")
    selection = native.ConvertOptions()
    set_selection(selection, **{name: options[name] for name in names if name in options})
    native.require_found_in_any(selection, files, are_all)


def _require_columns(options: dict[str, Any], files: list[bytes], are_all: bool) -> None:
    """The same of tables: a column may be null in all rows, of which the records don't have it."""
    found = [file.partition(b"\n") for file in files]
    columns = {name: None for names, *_ in found for name in json.loads(names)}
    named = [name for key in ("select", "drop", "rename") for name in options.get(key, ())]
    try:
        chosen_features(named if columns else [], columns, "no table has a column {!r}")
    except NotFoundError as error:
        if are_all:
            raise
        warnings.warn(str(error), stacklevel=2)
    others = {key: options[key] for key in options.keys() - {"select", "drop", "rename"}}
    _require_found(others, [records for *_, records in found if records], are_all)


def _convert_file(
    options: dict[str, Any], seed: int, filesystem: Any, source: str, target: str, name: str
) -> Made:
    if options["compression"] is None:
        name = re.sub(r"(?<=.)\.(gz|gzip|zlib|zst|zstd)$", "", name)
        how = reading(options.get("input_compression"), 2**30)
        kept = native.compression_of_shard(files_on(filesystem), source, None, how)
        options = {**options, "compression": kept}
    features: list[bytes] = []
    token = part_features.set(features)
    try:
        report = convert(
            source, target, filesystem=filesystem, seed=_seed_of(seed, name), **options
        )
    finally:
        part_features.reset(token)
    return _made(report, _damage(report), b"\n".join(features))


def _write_table(
    survey: TableSurvey,
    options: dict[str, Any],
    seed: int,
    filesystem: Any,
    source: str,
    target: str,
    name: str,
) -> Made:
    if source in survey.failed:
        raise survey.failed[source]
    how = {**options, "filesystem": filesystem, "seed": _seed_of(seed, name)}
    report = write_rows([source], target, survey.columns, how, convert.__kwdefaults__ or {})
    known = survey.damage.get(source, (0, 0, 0))
    return _made(report, known if is_direct(options) else _damage(report))


def _damage(report: ConvertReport) -> Damage:
    return report.regions_skipped, report.bytes_skipped, report.compressed_bytes_skipped


def _made(report: ConvertReport, damage: Damage, found_out: bytes = b"") -> Made:
    return Made((report.records, *damage, report.records_skipped), report.skipped, found_out)


def _seed_of(seed: int, name: str) -> int:
    derived = hashlib.blake2b(f"{seed} {name}".encode(errors="surrogateescape"), digest_size=8)
    return int.from_bytes(derived.digest(), "little")
