"""Which columns tables of records have, found out by looking into the records."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from recordpipe import _native as native
from recordpipe._plan.found_features import chosen_features
from recordpipe._tools.shards import Executor, OnError, map_files
from recordpipe.errors import error_of
from recordpipe.features import Feature, FixedLenFeature
from recordpipe.inputs import FoundFiles, reading
from recordpipe.schema import Schema, schema_part

__all__ = ["Damage", "TableSurvey", "columns_of", "damage_of", "survey_files", "without_mask"]

# Regions that were skipped, their bytes, and compressed bytes.
Damage = tuple[int, int, int]


def damage_of(found: Schema) -> Damage:
    return found.regions_skipped, found.bytes_skipped, found.compressed_bytes_skipped


@dataclass
class TableSurvey:
    """The columns of all files of a job, and which files are damaged, or can't be read."""

    columns: dict[str, Feature] = field(default_factory=dict)
    damage: dict[str, Damage] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)


def survey_files(
    files: FoundFiles,
    options: Mapping[str, Any],
    executor: Executor | None,
    on_error: OnError,
    filesystem: Any,
) -> TableSurvey:
    """Looks into all files, so that the tables of all have the same columns."""
    how = reading(
        options.get("input_compression"),
        options.get("max_record_size", 2**30),
        options.get("check_crc", True),
        options.get("kind"),
        options.get("on_damage", "raise"),
    )
    where = options.get("where")
    look = functools.partial(schema_part, how, where, options.get("threads") or 1, filesystem)
    survey = TableSurvey()
    parts = []
    for shard in map_files(look, files.paths, executor=executor, on_error=on_error):
        if shard.error is not None:
            survey.failed[shard.path] = shard.error
        elif shard.value is not None:
            parts.append(shard.value)
            damage = damage_of(_merged([shard.value], None))
            if damage[0]:
                survey.damage[shard.path] = damage
    if parts:
        survey.columns = columns_of(_merged(parts, where), options, files.paths[0])
    return survey


def _merged(parts: Sequence[bytes], where: str | None) -> Schema:
    merge = native.SchemaMerge(where)
    for part in parts:
        merge.add(part)
    return Schema._of(merge.finish())


def columns_of(found: Schema, options: Mapping[str, Any], name: str) -> dict[str, Feature]:
    """The features of the columns, by the names in the records; ``options``: of convert()."""
    features = found.features(for_table=True)
    if options.get("text") == "never":
        text = [name for name, one in found.fields.items() if one.text]
        features |= {name: replace(features[name], dtype="bytes") for name in text}
    if found.kind in ("SequenceExample", "ExampleListWithContext"):
        raise _refused(name, f"{found.kind}s: parse them, and call write_table()")
    if found.records == 0:  # of which any feature may be named
        return {}
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
    named, missing = [*(wanted or [])], f"none of the first {found.records:,} records has"
    if "limit" not in options:  # else others may have what is dropped or renamed
        named, missing = [*named, *dropped, *options.get("rename", {})], "no record has"
    chosen_features(named, found.fields, missing + " a feature {!r}")
    chosen = (key for key in wanted or features if key not in dropped)
    kept = {key: features[key] for key in chosen if key in features}
    if not kept and not found.fields:
        raise _refused(
            name, f"none of {found.records:,} records has a feature, and rows need a column"
        )
    if not kept:
        raise _refused(name, "no feature is left for the columns")
    _require_columns(kept, options.get("rename", {}), name)
    return kept


def _require_columns(features: Mapping[str, Feature], rename: Mapping[str, str], path: str) -> None:
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


def _refused(path: str, reason: str) -> Exception:
    return error_of("unsupported", reason, path=path)
