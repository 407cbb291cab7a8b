"""What stats() returns: statistics of features, as text, tables of notebooks and plots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recordpipe._notebook.report_table import Bars, Report, ReportTable
from recordpipe.schema import ValueKind, counted, shown_name

__all__ = [
    "BytesStats",
    "Distribution",
    "FeatureStats",
    "Histogram",
    "NumberStats",
    "Stats",
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
class Stats(Report):
    """Statistics of all features, of all files together. ``stats["label"]`` is that of a feature.

    Attributes:
        records: the number of records.
        record_sizes: the distribution of their sizes in bytes, without framing.
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
    record_sizes: Distribution = Distribution()
    left_out: int = 0
    undecided: int = 0
    undecided_because: str = ""
    regions_skipped: int = 0
    bytes_skipped: int = 0
    compressed_bytes_skipped: int = 0

    def __getitem__(self, name: str) -> FeatureStats:
        return self.features[name] if name in self.features else self.feature_lists[name]

    def _all(self) -> Iterator[tuple[str, FeatureStats]]:
        for features in self.features, self.feature_lists:
            for name, one in features.items():
                yield shown_name(name), one

    def plot(self) -> Any:
        """Draws the histograms of all features with matplotlib; returns its Figure.

        Of features of bytes, those of the lengths.
        """
        import matplotlib.figure

        drawn = [
            (f"{name} ({row[0]})", histogram)
            for name, one in self._all()
            for row, histogram in zip(_rows(one), _histograms(one), strict=True)
            if histogram
        ]
        columns = min(3, len(drawn)) or 1
        lines = -(-len(drawn) // columns) or 1
        figure = matplotlib.figure.Figure(figsize=(4 * columns, 2.5 * lines), layout="constrained")
        places = figure.subplots(lines, columns, squeeze=False).flat
        for axes, (title, one) in zip(places, drawn, strict=False):
            edges = np.linspace(one.min, one.max, len(one.counts) + 1)
            axes.stairs(one.counts, edges if one.max > one.min else None, fill=True)
            axes.set_title(title, fontsize="medium")
        for axes in [*places][len(drawn) :]:
            axes.set_axis_off()
        return figure

    def _report(self) -> ReportTable:
        rows = [
            (name, *row, Bars(histogram.counts if histogram else ()))
            for name, one in self._all()
            for row, histogram in zip(_rows(one), _histograms(one), strict=True)
        ]
        columns = "feature", "kind", "values", "range", "histogram"
        return ReportTable(f"Stats of {counted(self.records, 'record')}", columns, rows)

    def __repr__(self) -> str:
        lines = [f"Stats of {counted(self.records, 'record')}"]
        rows = [(name, *row) for name, one in self._all() for row in _rows(one)]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
        lines += ["  " + "  ".join(map(str.ljust, row, [*widths, 0])).rstrip() for row in rows]
        if self.undecided:
            lines.append(f"  undecided: {self.undecided:,}, the first {self.undecided_because}")
        return "\n".join(lines)


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


def _histograms(feature: FeatureStats) -> list[Histogram | None]:
    """Those of the rows."""
    lengths = None if feature.bytes is None else feature.bytes.lengths
    given = [one.histogram for one in (feature.int64, feature.float, lengths) if one is not None]
    return given or [None]


def _summary(numbers: Distribution) -> str:
    if numbers.min is None or numbers.max is None:
        return ""
    if numbers.min == numbers.max:
        return f"{numbers.min:,.6g}"
    mean = "" if numbers.mean is None else f", mean {numbers.mean:,.6g}"
    return f"{numbers.min:,.6g} to {numbers.max:,.6g}{mean}"
