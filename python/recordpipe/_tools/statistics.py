"""stats: statistics of the values of features, as ``tfrecord stats``."""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recordpipe import _native as native
from recordpipe._tools.shards import Executor, merge_files
from recordpipe.features import feature_names, where_text
from recordpipe.filesystem import files_on
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
from recordpipe.schema import ValueKind, counted, shown_name

__all__ = [
    "BytesStats",
    "Distribution",
    "FeatureStats",
    "Histogram",
    "NumberStats",
    "Stats",
    "stats",
]


@dataclass(frozen=True)
class Histogram:
    """Counts of finite numbers in 16 bins of equal width over [min, max], as np.histogram.

    Attributes:
        min: the smallest finite number.
        max: the largest finite number.
        counts: of the bins.
    """

    min: float
    max: float
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Distribution:
    """How numbers are distributed. NaNs are left out.

    Attributes:
        min: the smallest number; None if there is none, as the others.
        max: the largest number.
        mean: of the finite numbers.
        sd: the standard deviation of the finite numbers, with the population's formula (ddof=0).
        quantiles: by place: 0.01, 0.05, 0.25, 0.5, 0.75, 0.95 and 0.99; interpolated as
            np.quantile.
        quantiles_within: the largest relative error of the quantiles: 0.0 up to 4,096 different
            numbers, beyond 0.004 (more, if dozens of features have many different values).
        histogram: None without finite numbers.
    """

    min: float | None = None
    max: float | None = None
    mean: float | None = None
    sd: float | None = None
    quantiles: Mapping[float, float] = field(default_factory=dict)
    quantiles_within: float = 0.0
    histogram: Histogram | None = None


@dataclass(frozen=True)
class NumberStats(Distribution):
    """Statistics of the int64 or float values of a feature.

    Attributes:
        count: the number of values, NaNs included.
        nan: the number of NaNs.
        distinct: the number of different values that are counted.
        distinct_is_exact: True up to 1,024 different values; beyond, those that came first are
            counted.
        most_frequent: the five most frequent of these values, each with its count. Beyond 1,024
            different values, of those that came first; with ``executor=``, their counts may then be
            too low.
    """

    count: int = 0
    nan: int = 0
    distinct: int = 0
    distinct_is_exact: bool = True
    most_frequent: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True)
class BytesStats:
    """Statistics of the bytes values of a feature.

    Attributes:
        count: the number of values.
        total_bytes: of all values.
        lengths: the distribution of the values' lengths in bytes.
        long_values: the number of values of more than 32 bytes, which are not in ``distinct``.
        distinct: this, ``distinct_is_exact`` and ``most_frequent``: as of :class:`NumberStats`.
    """

    count: int
    total_bytes: int
    lengths: Distribution
    long_values: int = 0
    distinct: int = 0
    distinct_is_exact: bool = True
    most_frequent: tuple[tuple[bytes, int], ...] = ()


@dataclass(frozen=True)
class FeatureStats:
    """Statistics of one feature, or of all steps of a feature list.

    Attributes:
        kind: "bytes", "float" or "int64"; "mixed" for lists of different kinds, "none" without
            lists.
        records: the number of records (of a feature list: of steps) that have the feature with a
            list.
        share: ``records`` as a share of all records that may have features; None of a feature list.
        values: the smallest and the largest number of values of a list; None without lists.
        int64: of int64 values; None if there are none.
        float: of float values; None if there are none.
        bytes: of bytes values; None if there are none.
    """

    kind: ValueKind
    records: int
    share: float | None
    values: tuple[int, int] | None
    int64: NumberStats | None = None
    float: NumberStats | None = None
    bytes: BytesStats | None = None


@dataclass(frozen=True)
class Stats:
    """Statistics of all features, of all files together. ``stats["label"]`` is that of a feature.

    Attributes:
        records: the number of records.
        with_features: of these, the Examples, SequenceExamples and ExampleListWithContexts.
        features: by name; at most 200.
        feature_lists: by name, of SequenceExamples, or of the Examples in ExampleListWithContexts;
            at most 200.
        left_out: how often features of further names occurred.
        undecided, undecided_because: as in :class:`Schema`.
        regions_skipped, bytes_skipped, compressed_bytes_skipped: as in :class:`Schema`.
    """

    records: int
    with_features: int
    features: Mapping[str, FeatureStats]
    feature_lists: Mapping[str, FeatureStats] = field(default_factory=dict)
    left_out: int = 0
    undecided: int = 0
    undecided_because: str = ""
    regions_skipped: int = 0
    bytes_skipped: int = 0
    compressed_bytes_skipped: int = 0

    def __getitem__(self, name: str) -> FeatureStats:
        return self.features[name] if name in self.features else self.feature_lists[name]

    def __repr__(self) -> str:
        lines = [f"Stats of {counted(self.records, 'record')}"]
        rows = [
            (shown_name(name), *row)
            for features in (self.features, self.feature_lists)
            for name, one in features.items()
            for row in _rows(one)
        ]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
        lines += ["  " + "  ".join(map(str.ljust, row, [*widths, 0])).rstrip() for row in rows]
        return "\n".join(lines)


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


def _rows(feature: FeatureStats) -> list[tuple[str, str, str]]:
    """The kind, the number of values, and a summary, for each kind of values."""
    rows = []
    for kind, numbers in (("int64", feature.int64), ("float", feature.float)):
        if numbers is not None:
            nans = f", {numbers.nan:,} NaN" if numbers.nan else ""
            rows.append((kind, counted(numbers.count, "value"), _summary(numbers) + nans))
    if feature.bytes is not None:
        summary = f"of {_summary(feature.bytes.lengths)} bytes"
        rows.append(("bytes", counted(feature.bytes.count, "value"), summary))
    return rows or [(feature.kind, "no values", "")]


def _summary(numbers: Distribution) -> str:
    if numbers.min is None or numbers.max is None:
        return ""
    if numbers.min == numbers.max:
        return f"{numbers.min:,.6g}"
    mean = "" if numbers.mean is None else f", mean {numbers.mean:,.6g}"
    return f"{numbers.min:,.6g} to {numbers.max:,.6g}{mean}"
