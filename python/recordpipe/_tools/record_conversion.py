"""convert() from TFRecords to TFRecords."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

from recordpipe import _native as native
from recordpipe._tools.conversion_reports import (
    ConvertPlan,
    ConvertReport,
    SkippedRecord,
    SkippedRegion,
    WrittenFile,
)
from recordpipe.features import (
    feature_name,
    feature_names,
    known_compression,
    unicode_text,
    where_text,
)
from recordpipe.inputs import (
    checked_threads,
    file_path_of,
    files_of,
    limit_of,
    path_of,
    reading,
    whole_number,
)
from recordpipe.progress import reported

__all__ = [
    "conversion_options",
    "convert_records",
    "part_features",
    "renamed",
    "selected",
    "set_selection",
]


def convert_records(
    sources: list[str], target: str | os.PathLike[str], arguments: Mapping[str, Any]
) -> ConvertReport:
    """``arguments``: all of convert()."""
    given = SimpleNamespace(**arguments)
    if given.text != "auto":
        raise ValueError("text is about tables: the target is one of TFRecords")
    how = reading(
        given.input_compression,
        given.max_record_size,
        given.check_crc,
        given.kind,
        given.on_damage,
    )
    target = file_path_of(target, given.filesystem)
    options = conversion_options(target, arguments)
    job = (
        *files_of(sources, given.recursive, given.filesystem),
        target,
        how,
        options,
        bool(given.no_clobber),
    )
    if given.dry_run:
        with reported(given.progress, "count") as function:
            inputs, total, records, twice, outputs = native.plan_convert(*job, function)
        plan = ConvertPlan(inputs, total, records, tuple(twice), tuple(outputs))
        return ConvertReport((), 0, plan=plan)
    with reported(given.progress, "convert") as function:
        files, read, regions, size, skipped, failed, broken, lost, features = native.convert(
            *job, function
        )
    if (part := part_features.get()) is not None:
        part.append(features)
    return ConvertReport(
        tuple(WrittenFile(*file) for file in files),
        read,
        regions,
        size,
        tuple(SkippedRegion(*region) for region in skipped),
        failed,
        tuple(SkippedRecord(*record) for record in broken),
        compressed_bytes_skipped=lost,
    )


def conversion_options(target: str, arguments: Mapping[str, Any]) -> native.ConvertOptions:
    """``arguments``: of convert()."""
    given = SimpleNamespace(**arguments)
    if given.shards is not None and given.max_bytes is not None:
        raise ValueError("shards and max_bytes are two ways to split: give one of them")
    if given.shards_by not in ("blocks", "round-robin"):
        raise ValueError(f"shards_by is 'blocks' or 'round-robin', not {given.shards_by!r}")
    if given.shards_by == "round-robin" and given.shards is None:
        raise ValueError("shards_by is about shards=N")
    if given.split_by is not None and not given.split:
        raise ValueError("split_by is the feature that split={...} divides by")
    if given.sample is not None and given.sample_count is not None:
        raise ValueError("sample and sample_count are two ways to sample: give one of them")
    if given.sample is not None and not 0 <= given.sample <= 1:
        raise ValueError(f"sample is a probability, 0 to 1, not {given.sample}")
    if given.resize is None and (given.images or given.quality != 90):
        raise ValueError("images and quality are those of what resize=N resizes")
    options = native.ConvertOptions()
    options.set_compression(
        native.output_compression(target, known_compression(given.compression) or None)
    )
    options.fast = given.level == "fast"
    if given.level is not None and given.level != "fast":
        options.level = whole_number("level", given.level, 0, 22)
    if given.shards is not None:
        options.shards = whole_number("shards", given.shards, 1, 99_999)
    if given.shards_by == "round-robin":
        options.set_round_robin()
    if not isinstance(given.split, Mapping | None):
        raise TypeError(f"split is a dict of parts by the names of the splits, not {given.split!r}")
    for name, fraction in (given.split or {}).items():
        options.add_split(unicode_text("the name of a split", name), float(fraction))
    options.split_by = None if given.split_by is None else feature_name(given.split_by)
    if given.max_bytes is not None:
        options.max_bytes = whole_number("max_bytes", given.max_bytes, 1)
    options.shuffle = bool(given.shuffle)
    if given.tmp_dir is not None:
        options.set_tmp_dir(path_of(given.tmp_dir))
    elif given.filesystem is not None or "://" in target:
        options.set_tmp_dir(tempfile.gettempdir())
    quality = whole_number("quality", given.quality, 1, 100)
    names = ("where", "sample", "limit", "select", "drop", "rename", "resize", "images")
    selection = {name: getattr(given, name) for name in names}
    set_selection(options, **selection, quality=quality)
    if given.sample_count is not None:
        options.sample_count = whole_number("sample_count", given.sample_count)
    options.seed = whole_number("seed", given.seed)
    options.threads = checked_threads(given.threads)
    options.is_part = part_features.get() is not None
    return options


# Of a job that converts each file by itself, while it converts one: takes what is known of the
# features of the file, which may lack some that the job names.
part_features: ContextVar[list[bytes] | None] = ContextVar("part_features", default=None)


def set_selection(
    options: native.ConvertOptions,
    where: str | None = None,
    sample: float | None = None,
    limit: int | None = None,
    select: str | Sequence[str] | None = None,
    drop: str | Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    resize: int | None = None,
    images: str | Sequence[str] = (),
    quality: int = 90,
) -> None:
    if (expression := where_text(where)) is not None:
        options.set_where(expression)
    options.sample = sample
    options.limit = limit_of(limit)
    options.select = None if select is None else set(selected(select))
    options.drop = set(feature_names(drop))
    options.rename = renamed(rename)
    if resize is not None:
        side = whole_number("resize", resize, 1, 2**20)
        options.resize_images(side, quality, feature_names(images))


def selected(select: str | Sequence[str]) -> list[str]:
    names = feature_names(select)
    if not names:
        raise ValueError("select names no feature: leave it out to keep all")
    return names


def renamed(rename: Mapping[str, str] | None) -> dict[str, str]:
    if not isinstance(rename, Mapping | None):
        raise TypeError(f"rename is a dict of new names by the old ones, not {rename!r}")
    return {feature_name(old): feature_name(new) for old, new in (rename or {}).items()}
