"""Which columns tables of records have, found out by looking into the records."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from recordpipe import _native as native
from recordpipe._plan.found_features import chosen_features
from recordpipe._tools.conversion_reports import SkippedRegion
from recordpipe._tools.shards import Executor, OnError, map_files
from recordpipe.errors import NotFoundError, UnsupportedError, error_of
from recordpipe.features import Feature, FixedLenFeature
from recordpipe.inputs import FoundFiles, reading
from recordpipe.schema import Schema, SchemaMerge, SchemaPart, schema_part

__all__ = [
    "Damage",
    "TableSurvey",
    "columns_of",
    "is_column",
    "refused",
    "refused_file",
    "survey_files",
    "survey_options",
    "without_mask",
]

# Those of convert() that schema() has, too.
_SURVEYED = {
    *("check_crc", "input_compression", "kind", "limit", "max_record_size", "on_damage", "where"),
}
# Regions that were skipped, their bytes, and compressed bytes.
Damage = tuple[int, int, int]


@dataclass
class TableSurvey:
    """The columns of all files of a job, and which files are damaged, or have no place in it."""

    columns: dict[str, Feature] = field(default_factory=dict)
    damage: dict[str, Damage] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)


def survey_files(
    files: FoundFiles,
    options: Mapping[str, Any],
    executor: Executor | None,
    keep_going: bool,
    filesystem: Any,
) -> tuple[TableSurvey, dict[str, tuple[SkippedRegion, ...]]]:
    """Looks into all files, so that the tables of all have the same columns.

    Also returns the regions that were skipped, which tasks don't need.
    """
    survey = TableSurvey()
    skipped: dict[str, tuple[SkippedRegion, ...]] = {}
    merge = SchemaMerge(options.get("where"))
    types = _FirstTypes(options)
    look = _look(options, options.get("threads") or 1, filesystem)
    on_error: OnError = "keep_going" if keep_going else "raise"
    for shard in map_files(look, files.paths, executor=executor, on_error=on_error):
        error = shard.error
        if shard.value is not None:
            found = _schema_of(shard.value)
            error = types.refusal(found, shard.path)
            if found.regions_skipped:
                damage = found.regions_skipped, found.bytes_skipped, found.compressed_bytes_skipped
                survey.damage[shard.path], skipped[shard.path] = damage, found.skipped
        if error is None:
            merge.add(shard.value)  # type: ignore[arg-type]  # without errors there is a value
        elif keep_going:
            survey.failed[shard.path] = error
        else:
            raise error
    rest = [path for path in files.paths if path not in survey.failed]
    try:
        survey.columns = columns_of(merge.schema(), options, rest) if rest else {}
    except UnsupportedError as error:
        if not keep_going:
            raise
        survey.failed |= {path: refused(path, error.reason, error.hint) for path in rest}
    return survey, skipped


def refused_file(
    paths: Sequence[str], options: Mapping[str, Any], threads: int, filesystem: Any
) -> Exception | None:
    """Why the first of the files that has no place in a table with those before it is refused."""
    left = options.get("limit")
    types = _FirstTypes(options)
    for path in paths:
        found = _schema_of(_look({**options, "limit": left}, threads, filesystem)(path))
        if error := types.refusal(found, path):
            return error
        if left is not None:
            left -= found.records
    return None


def _look(options: Mapping[str, Any], threads: int, filesystem: Any) -> Callable[[str], SchemaPart]:
    given = survey_options(options)
    how = reading(
        given.get("input_compression"),
        given.get("max_record_size", 2**30),
        given.get("check_crc", True),
        given.get("kind"),
        given.get("on_damage", "raise"),
    )
    where, limit = given.get("where"), given.get("limit")
    return functools.partial(schema_part, how, where, limit, threads, filesystem)


def survey_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of schema() that looks into the records, of those of convert()."""
    given = {name: options[name] for name in _SURVEYED if name in options}
    if "sample" in options and "limit" in given:
        del given["limit"]  # more records are read, and it is unknown how many
        if options.get("check_crc", True):
            given["on_damage"] = "resync"  # damage before the limit is found by convert()
    return given


def _schema_of(part: SchemaPart) -> Schema:
    merge = SchemaMerge()
    merge.add(part)
    return merge.schema()


class _FirstTypes:
    """The types that features have in the files so far, and which file has each."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        self._types: dict[str, tuple[str, str]] = {}

    def refusal(self, found: Schema, path: str) -> Exception | None:
        """Why the records of one more file have no place in a table with those before."""
        try:
            _require_rows(found, self._options, path)
        except UnsupportedError as error:
            return error
        kinds = {
            name: one.kind
            for name, one in found.fields.items()
            if one.kind != "none" and is_column(name, self._options)
        }
        for name, kind in kinds.items():
            first, other = self._types.get(name, (kind, path))
            if first != kind:
                there = native.without_secrets(other)
                reason = f"feature {name!r} is {kind} here, and {first} in {there}"
                return refused(path, f"{reason}: no column holds both", _OTHERS)
        self._types = {name: (kind, path) for name, kind in kinds.items()} | self._types
        return None


_EXAMPLES = "the rows of a table are Examples"
_OTHERS = "leave it out, or select others"


def is_column(name: str, options: Mapping[str, Any]) -> bool:
    """Whether ``options`` keep the feature, or the column, of this name."""
    wanted = options.get("select")
    return name not in options.get("drop", []) and (wanted is None or name in wanted)


def _require_rows(found: Schema, options: Mapping[str, Any], path: str | None) -> None:
    """Refuses records that are no rows, or of which a feature is no column."""
    try:
        found.features()
    except UnsupportedError as error:
        hint = "if they are Examples, give their kind" if found.undecided else _EXAMPLES
        raise refused(path, error.reason, hint) from None
    if found.kind in ("SequenceExample", "ExampleListWithContext"):
        hint = "JSON lines (tfrecord export) keep all of them; in Python, parse them"
        raise refused(path, f"{found.kind}s, of which no row is made", hint)
    for feature, one in found.fields.items():
        if one.kind == "mixed" and is_column(feature, options):
            reason = f"feature {feature!r} has values of several types, of which no column is made"
            raise refused(path, reason, _OTHERS)


def columns_of(
    found: Schema, options: Mapping[str, Any], paths: Sequence[str]
) -> dict[str, Feature]:
    """The features of the columns, by the names in the records; ``options``: of convert()."""
    name = paths[0] if len(paths) == 1 else None  # of what is about all of them
    _require_rows(found, options, name)
    features = found.features(for_table=True)
    if options.get("text") == "never":
        text = [name for name, one in found.fields.items() if one.text]
        features |= {name: replace(features[name], dtype="bytes") for name in text}
    if found.records == 0:  # of which any feature may be named
        return {}
    wanted = options.get("select")
    if found.left_out and not wanted:
        raise refused(name, "more features than a schema holds: select those of the columns")
    chosen = (key for key in wanted or features if is_column(key, options))
    kept = {key: features[key] for key in chosen if key in features}
    named, missing = [*(wanted or [])], f"none of the first {found.records:,} records has"
    if "limit" not in options:  # else others may have what is dropped or renamed
        named += [*options.get("drop", []), *options.get("rename", {})]
        missing = "no record has"
    try:
        chosen_features(named, found.fields, missing + " a feature {!r}")
    except NotFoundError as error:
        if "limit" not in options or not kept:
            raise
        warnings.warn(str(error), stacklevel=2)
    if not kept and not found.fields:
        raise refused(
            name, f"none of {found.records:,} records has a feature, and rows need a column"
        )
    if not kept:
        raise refused(name, "no feature is left for the columns")
    _require_columns(kept, options.get("rename", {}), name)
    return kept


def _require_columns(
    features: Mapping[str, Feature], rename: Mapping[str, str], path: str | None
) -> None:
    """Refuses features that get one name, if a column can't hold both."""
    columns: dict[str, str] = {}
    for name in features:
        column = rename.get(name, name)
        other = columns.setdefault(column, name)
        if without_mask(features[other]) != without_mask(features[name]):
            reason = (
                f"{other!r} and {name!r} would both be the column {column!r}, "
                "and have different types or numbers of values"
            )
            raise error_of("already_exists", reason, "drop one, or give it another name", path)


def without_mask(feature: Feature) -> Feature:
    """A column has nulls, and needs no mask, whose name may be that of another column."""
    return replace(feature, optional=False) if isinstance(feature, FixedLenFeature) else feature


def refused(path: str | None, reason: str, hint: str = "") -> Exception:
    return error_of("unsupported", reason, hint, path)
