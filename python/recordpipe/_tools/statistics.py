"""stats: statistics of the values of features, as ``tfrecord stats``."""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from recordpipe import _native as native
from recordpipe._tools.shards import Executor, merge_files
from recordpipe._tools.statistics_report import (
    BytesStats,
    Distribution,
    FeatureStats,
    Histogram,
    NumberStats,
    Stats,
)
from recordpipe.features import feature_names, where_text
from recordpipe.filesystem_adapters import files_on
from recordpipe.inputs import (
    OnDamage,
    Paths,
    Reading,
    checked_threads,
    files_of,
    found_files,
    limit_of,
    reading,
    require_no_limit,
)
from recordpipe.progress import Progress, reported, task_check

__all__ = ["stats"]


def stats(
    paths: Paths,
    features: str | Sequence[str] = (),
    *,
    recursive: bool = False,
    filesystem: Any = None,
    kind: str | None = None,
    where: str | None = None,
    limit: int | None = None,
    on_damage: OnDamage = "raise",
    check_crc: bool = True,
    input_compression: str | None = None,
    max_record_size: int = 2**30,
    threads: int = 0,
    executor: Executor | None = None,
    progress: Progress = False,
) -> Stats:
    """Says what values features have: ranges, quantiles, counts; of all files together.

        >>> rp.stats("train-*.tfrecord", "label")["label"].int64.most_frequent
        ((1, 6742), (7, 6265), (3, 6131), (2, 5958), (9, 5949))

    Memory is bounded: at most about 32 MiB, and some records for each thread.

    Args:
        paths: a path, a folder, a pattern, or several; see ``help(recordpipe.inputs)``.
        features: the names of those to look at. Default: all, at most 200.
        recursive: True reads the folders below a folder, too.
        filesystem: of all paths; see ``help(recordpipe.inputs)``.
        kind: reads every record as this type of message, as protobuf's parser does, which skips
            unknown fields: "example", "sequence_example", "elwc", "event" or "unknown" (no
            features). Default: the type whose fields explain every byte of the record.
        where: the records to look at, for example ``"label == 3 and len(box) > 0"``. Default: all.
        limit: at most the first so many of these.
        on_damage: "raise", "skip_file" or "resync"; the result counts what was left out.
        check_crc: False accepts wrong CRCs.
        input_compression: "none", "gzip", "zlib" or "zstd". Default: found out.
        max_record_size: of a compressed file, in bytes; a longer record is an error.
        threads: default: one for each core.
        executor: reads each file as a task of this ``concurrent.futures.Executor``, with
            ``threads`` threads each (default: one); see :func:`map_shards`. Not with ``limit``.
            ``mean`` and ``sd`` may differ in the last digits from those without it; all else that
            is exact is the same. Default: threads of this process.
        progress: True (a bar), or a function; see ``help(recordpipe.inputs)``.

    Raises:
        DataLossError: a record is damaged (only with ``on_damage="raise"``).
        NotFoundError: a file, or a feature that is named, doesn't exist.
        InvalidArgumentError: ``where`` has a syntax error.
    """
    names = set(feature_names(features))
    where = where_text(where)
    how = reading(input_compression, max_record_size, check_crc, kind, on_damage)
    if executor is not None:
        require_no_limit(limit)
        merge = native.StatisticsMerge(names, where)
        merge_files(
            functools.partial(_part, names, how, where, checked_threads(threads) or 1, filesystem),
            found_files(paths, recursive, filesystem),
            merge.add,
            executor=executor,
            progress=progress,
            activity="stats",
        )
        found = merge.finish()
    else:
        with reported(progress, "stats") as function:
            found = native.stats(
                *files_of(paths, recursive, filesystem),
                names,
                how,
                where,
                limit_of(limit),
                checked_threads(threads),
                function,
            )
    values = json.loads(found)
    undecided = values.get("undecided", {"records": 0, "first": ""})
    return Stats(
        values["records"],
        values["with_features"],
        {name: _feature(one) for name, one in values["features"].items()},
        {name: _feature(one) for name, one in values.get("feature_lists", {}).items()},
        Distribution(**_distribution(values.get("record_sizes", {}))),
        values.get("left_out", 0),
        undecided["records"],
        undecided["first"],
        values.get("regions_skipped", 0),
        values.get("bytes_skipped", 0),
        values.get("compressed_bytes_skipped", 0),
    )


def _part(
    names: set[str], how: Reading, where: str | None, threads: int, filesystem: Any, path: str
) -> bytes:
    return native.statistics_part(
        files_on(filesystem), path, names, how, where, threads, task_check()
    )


def _feature(found: dict[str, Any]) -> FeatureStats:
    values = found["values"]
    if isinstance(values, int):
        values = values, values
    elif values is not None:
        values = values["min"], values["max"]
    return FeatureStats(
        found["kind"],
        found["records"] if "records" in found else found["steps"],
        found.get("share"),
        values,
        _numbers(found.get("int64")),
        _numbers(_float32(found.get("float"))),
        _bytes(found.get("bytes")),
    )


def _distribution(found: dict[str, Any]) -> dict[str, Any]:
    histogram = found.get("histogram")
    return {
        **{name: found.get(name) for name in ("min", "max", "mean", "sd")},
        "quantiles": {float(place): value for place, value in found.get("quantiles", {}).items()},
        "quantiles_within": found.get("quantiles_are_within", 0.0),
        "histogram": histogram
        and Histogram(histogram["min"], histogram["max"], tuple(histogram["counts"])),
    }


def _frequent(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "distinct": found.get("distinct", 0),
        "distinct_is_exact": found.get("distinct_is_exact", True),
        "most_frequent": tuple(
            (_value(one["value"]), one["count"]) for one in found.get("most_frequent", ())
        ),
    }


def _value(found: Any) -> Any:
    if isinstance(found, str):
        return found.encode()
    if isinstance(found, dict):
        return base64.b64decode(found["base64"])
    return found


def _float32(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """Returns ``found`` with the values themselves, of which it has the shortest decimals."""
    if found is None:
        return None
    exact = dict(found)
    for name in ("min", "max"):
        if found.get(name) is not None:
            exact[name] = float(np.float32(found[name]))
    exact["most_frequent"] = [
        {**one, "value": float(np.float32(one["value"]))} for one in found.get("most_frequent", ())
    ]
    return exact


def _numbers(found: dict[str, Any] | None) -> NumberStats | None:
    if found is None:
        return None
    return NumberStats(
        count=found["count"], nan=found.get("nan", 0), **_distribution(found), **_frequent(found)
    )


def _bytes(found: dict[str, Any] | None) -> BytesStats | None:
    if found is None:
        return None
    return BytesStats(
        found["count"],
        found["total_bytes"],
        Distribution(**_distribution(found["lengths"])),
        found["long_values"],
        **_frequent(found),
    )
