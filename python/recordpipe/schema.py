"""Which features records have, found out by looking into them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from recordpipe import _native as native
from recordpipe._notebook.report_table import Bar, Report, ReportTable
from recordpipe.errors import error_of
from recordpipe.features import (
    Feature,
    FixedLenFeature,
    FixedLenSequenceFeature,
    ListFeature,
    RaggedFeature,
    where_text,
)
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

if TYPE_CHECKING:
    from recordpipe._tools.conversion_reports import SkippedRegion
    from recordpipe._tools.shards import Executor

__all__ = ["FeatureListSchema", "FeatureSchema", "Schema", "schema"]

ValueKind = Literal["bytes", "float", "int64", "mixed", "none"]
_DTYPES = {"bytes": "bytes", "float": "float32", "int64": "int64"}


@dataclass(frozen=True)
class FeatureSchema:
    """A feature of Examples, or of the contexts of SequenceExamples.

    Attributes:
        kind: of the values: "bytes", "float" or "int64"; "mixed" if lists are of different kinds,
            "none" if no record has a list.
        records: the number of records that have the feature with a list, if only an empty one.
        share: ``records`` as a share of the records that may have features, 0 to 1.
        values: the smallest and the largest number of values of a list; None without lists.
        fixed: the number of values, if every record has the feature with as many, at least one;
            otherwise None.
        text: whether the values are bytes, and all of them text: UTF-8 without control characters,
            except for tabs and ends of lines.
    """

    kind: ValueKind
    records: int
    share: float
    values: tuple[int, int] | None
    fixed: int | None
    text: bool = False

    @property
    def feature(self) -> Feature | None:
        """What ``parse()`` takes: a :class:`FixedLenFeature` if ``fixed``, one that is ``optional``
        if only some records have it, with the same number of values, otherwise a
        :class:`RaggedFeature`; None for the kinds "mixed" and "none".
        """
        if self.kind not in _DTYPES or self.values is None:
            return None
        dtype = _DTYPES[self.kind]
        least, most = self.values
        if not 0 < least == most:
            return RaggedFeature(dtype)
        return FixedLenFeature(_shape(most), dtype, optional=self.fixed is None)


@dataclass(frozen=True)
class FeatureListSchema:
    """A feature list of SequenceExamples.

    Attributes:
        kind: of the steps' values, as of :class:`FeatureSchema`.
        records: the number of records that have the feature list.
        share: ``records`` as a share of all records that may have features, 0 to 1.
        values: the smallest and the largest number of values of a step; None without lists.
        steps: the smallest and the largest number of steps; None without lists.
        fixed: the number of values, if every step has as many, at least one; otherwise None.
        text: as of :class:`FeatureSchema`.
        step_share: the share of the steps that have a list, 0 to 1; of ExampleListWithContexts, of
            the Examples that have the feature, in the records that have it at all.
    """

    kind: ValueKind
    records: int
    share: float
    values: tuple[int, int] | None
    steps: tuple[int, int] | None
    fixed: int | None
    text: bool = False
    step_share: float = 1.0

    @property
    def feature(self) -> ListFeature | None:
        """What ``parse_sequence_example()`` takes: a :class:`FixedLenSequenceFeature` if
        ``fixed``, otherwise a :class:`RaggedFeature`; None for the kinds "mixed" and "none".
        """
        dtype = _DTYPES.get(self.kind)
        if dtype is None:
            return None
        if self.fixed is None:
            return RaggedFeature(dtype)
        return FixedLenSequenceFeature(_shape(self.fixed), dtype, allow_missing=self.share < 1)


_WITH_FEATURES = ("Example", "SequenceExample", "ExampleListWithContext")


@dataclass(frozen=True, repr=False)
class Schema(Report):
    """The features of records. ``str(schema)`` is a table of them.

    Attributes:
        records: how many were looked into.
        kind: the type of message: "Example", "SequenceExample", "ExampleListWithContext" (of
            TensorFlow Ranking), "Event" (of TensorBoard), "unknown", or "mixed".
        kinds: the number of records of each type.
        fields: the features, by name, sorted.
        list_fields: the feature lists of SequenceExamples, or the features of the Examples in
            ExampleListWithContexts.
        left_out: how often features of further names occurred: the first 20,000 names are kept,
            and at most 4 MiB of names.
        undecided: how many records of unknown type are Examples or SequenceExamples except for
            some field, which a parser would drop; ``kind="example"`` reads them so.
        undecided_because: of the first of them: "an Example except for field 5 of an Example (byte
            20)".
        cpp: C++ code of an ExampleSchema of the C++ library; empty for ExampleListWithContext, as
            are ``python`` and ``tensorflow``.
        python: Python code of ``features()``, to be pasted into a program.
        tensorflow: Python code of features for tf.io.parse_example.
        regions_skipped, bytes_skipped, compressed_bytes_skipped: the damage that ``on_damage`` left
            out; the last are bytes that can't be decompressed.
        skipped: the first 10,000 of these regions.
    """

    records: int
    kind: str
    kinds: dict[str, int]
    fields: dict[str, FeatureSchema]
    list_fields: dict[str, FeatureListSchema] = field(default_factory=dict)
    left_out: int = 0
    undecided: int = 0
    undecided_because: str = ""
    cpp: str = ""
    python: str = ""
    tensorflow: str = ""
    regions_skipped: int = 0
    bytes_skipped: int = 0
    compressed_bytes_skipped: int = 0
    skipped: tuple[SkippedRegion, ...] = ()

    def features(self, *, for_table: bool = False) -> dict[str, Feature]:
        """Returns what ``Dataset.parse()`` takes; for SequenceExamples, the context's features.

        A feature with the same number of values in every record that has it is a
        :class:`FixedLenFeature`, ``optional`` if others lack it, any other a
        :class:`RaggedFeature`. Features of several kinds, and those that never have a list, are
        left out.

        Args:
            for_table: True declares those that are ``text`` as "string", as :func:`convert` does,
                which makes strings of them in Arrow. Default: as "bytes".

        Raises:
            UnsupportedError: the records are of several kinds, or of one without features.
        """
        self._require_features()
        return _chosen(self.fields, for_table)

    def feature_lists(self, *, for_table: bool = False) -> dict[str, ListFeature]:
        """Returns the second argument of ``Dataset.parse_sequence_example()``.

        A feature list whose steps all have the same number of values is a
        :class:`FixedLenSequenceFeature`, any other a :class:`RaggedFeature`. ``for_table``
        and exceptions: as of :meth:`features`.
        """
        self._require_features()
        return _chosen(self.list_fields, for_table)

    def to_code(self, name: str = "Batch") -> str:
        """Returns Python code of a ``TypedDict`` of the batches of ``parse(self.features())``.

        With it, editors and type checkers know the keys and arrays of a batch::

            print(rp.schema("train-*").to_code("Batch"))      # to be pasted into a program
            batch: Batch
            for batch in ds: ...

        Of SequenceExamples, and of lists of Examples, also the class ``<name>Lists``, of the second
        dict. Raises as :meth:`features` does.
        """
        from recordpipe._tools.schema_code import code_of

        self._require_features()
        features = {key: one.feature for key, one in self.fields.items()}
        lists = {key: one.feature for key, one in self.list_fields.items()}
        return code_of(name, features, None if self.kind == "Example" else lists)

    def _require_features(self) -> None:
        if not self.records or self.kind in _WITH_FEATURES:
            return
        counts = ", ".join(f"{count:,} {kind}" for kind, count in self.kinds.items())
        several = self.kind == "mixed"
        reason = f"records {'of several kinds' if several else 'without features'}: {counts}"
        hint = (
            "take files of one kind, or part them with convert(where=...)"
            if several
            else "parse them yourself, with map()"
        )
        if self.undecided:
            reason += f"; {self.undecided:,} undecided, the first {self.undecided_because}"
            hint = _way_to_parse(self.undecided_because)
        raise error_of("unsupported", reason, hint)

    def _report(self) -> ReportTable:
        rows = [
            (
                shown_name(name),
                one.kind,
                Bar(one.share, f"{_percent(one.share)} of the records"),
                _range(one.values, "value"),
            )
            for fields in (self.fields, self.list_fields)
            for name, one in fields.items()
        ]
        title = f"{self.kind} of {counted(self.records, 'record')}"
        return ReportTable(title, ("feature", "kind", "in", "values of a list"), rows)

    def __repr__(self) -> str:
        rows = [
            (shown_name(name), one.kind, _range(one.values, "value"), _percent(one.share))
            for name, one in self.fields.items()
        ]
        step = "example" if self.kind == "ExampleListWithContext" else "step"
        rows += [
            (
                shown_name(name),
                one.kind,
                _range(one.values, "value"),
                f"{_percent(one.share)}  in {_part(one.step_share)} of {_range(one.steps, step)}",
            )
            for name, one in self.list_fields.items()
        ]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
        lines = [
            f"  {row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}"
            for row in rows
        ]
        if self.left_out:
            lines.append(f"  and features of other names, {self.left_out:,} in all")
        if self.undecided:
            lines.append(f"  undecided: {self.undecided:,}, the first {self.undecided_because}")
        head = f"Schema of {counted(self.records, 'record')}: {self.kind}"
        return "\n".join([head, *lines])

    @classmethod
    def _of(cls, found: tuple[Any, ...], skipped: Sequence[tuple[Any, ...]] = ()) -> Schema:
        """Makes a Schema of the extension module's findings."""
        records, kind, kinds, with_features, features, lists, left_out, *rest = found
        fields = {
            name: FeatureSchema(kind, count, count / with_features, *more)
            for name, (kind, count, *more) in features.items()
        }
        list_fields = {
            name: FeatureListSchema(kind, count, count / with_features, *more)
            for name, (kind, count, *more) in lists.items()
        }
        from recordpipe._tools.conversion_reports import SkippedRegion

        regions = tuple(SkippedRegion(*region) for region in skipped)
        schema = cls(records, kind, kinds, fields, list_fields, left_out, *rest)
        return replace(schema, skipped=regions)


# Of an undecided record, the method that reads it as what it nearly is, and its arguments.
_WAYS_TO_PARSE = {
    "a SequenceExample ": ("parse_sequence_example", "sequence_example"),
    "an ExampleListWithContext ": ("parse_example_list", "elwc"),
    "an Example ": ("parse", "example"),
}


def _way_to_parse(because: str) -> str:
    for begin, (method, kind) in _WAYS_TO_PARSE.items():
        if because.startswith(begin):
            found = f'recordpipe.schema(paths, kind="{kind}")'
            if method == "parse":
                return f"if they are Examples: parse({found}.features())"
            what = begin.split()[1]
            return (
                f"if they are {what}s: {method}(found.features(), found.feature_lists()) of "
                f"found = {found}"
            )
    return "parse them yourself, with map()"


def _chosen(fields: dict[str, Any], for_table: bool) -> dict[str, Any]:
    found = {name: one.feature for name, one in fields.items() if one.feature is not None}
    for name, feature in found.items():
        if for_table:
            found[name] = replace(feature, dtype="string") if fields[name].text else feature
        elif getattr(feature, "optional", False) and f"{name}_mask" in found:
            found[name] = RaggedFeature(feature.dtype)  # its mask would have the name of another
    return found


def shown_name(name: str) -> str:
    """A feature's name in a table: any text, in one line."""
    shown = name if name.isprintable() and name else repr(name)
    return shown if len(shown) <= 100 else f"{shown[:97]}..."


def counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _shape(values: int) -> list[int]:
    return [] if values == 1 else [values]


def _range(values: tuple[int, int] | None, what: str) -> str:
    if values is None:
        return ""
    least, most = values
    if least == most:
        return counted(most, what)
    return f"{least:,} to {most:,} {what}s"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _part(share: float) -> str:
    return "each" if share == 1 else _percent(share)


def schema(
    paths: Paths,
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
) -> Schema:
    """Finds out which features the records of all files together have, as ``tfrecord schema``.

        ds = rp.tfrecords("train-*").parse(rp.schema("train-*").features())

    Looks into every record, and checks every CRC, on all cores.

    Args:
        paths: a path, a folder, a pattern, or several; see ``help(recordpipe.inputs)``.
        recursive: True reads the folders below a folder, too.
        filesystem: of all paths; see ``help(recordpipe.inputs)``.
        kind: reads every record as this type of message, as protobuf's parser does, which skips
            unknown fields: "example", "sequence_example", "elwc", "event" or "unknown" (no
            features). Default: the type whose fields explain every byte of the record.
        where: the records to look into, for example ``"label == 3 and len(box) > 0"``. Default:
            all.
        limit: at most the first so many of these. Records behind them may have further features,
            which a parse() that is passed these ignores.
        on_damage: "raise", "skip_file" or "resync"; the result counts what was left out.
        check_crc: False accepts wrong CRCs.
        input_compression: "none", "gzip", "zlib" or "zstd". Default: found out.
        max_record_size: of a compressed file, in bytes; a longer record is an error.
        threads: default: one for each core.
        executor: reads each file as a task of this ``concurrent.futures.Executor``, with
            ``threads`` threads each (default: one); see :func:`map_shards`. Not with ``limit``.
            Default: threads of this process.
        progress: True (a bar), or a function; see ``help(recordpipe.inputs)``.

    Raises:
        DataLossError: a record is damaged (only with ``on_damage="raise"``).
        NotFoundError: a file, or a feature that ``where`` names, doesn't exist.
        InvalidArgumentError: ``where`` has a syntax error.
    """
    how = reading(input_compression, max_record_size, check_crc, kind, on_damage)
    where = where_text(where)
    if executor is not None:
        from recordpipe._tools.shards import merge_files

        require_no_limit(limit)
        merge = SchemaMerge(where)
        threads = checked_threads(threads) or 1
        merge_files(
            functools.partial(schema_part, how, where, None, threads, filesystem),
            found_files(paths, recursive, filesystem),
            merge.add,
            executor=executor,
            progress=progress,
            activity="schema",
        )
        return merge.schema()
    with reported(progress, "schema") as function:
        found = native.schema(
            *files_of(paths, recursive, filesystem),
            how,
            where,
            limit_of(limit),
            checked_threads(threads),
            function,
        )
    return Schema._of(*found)


# The state of a survey, and what it left out.
SchemaPart = tuple[bytes, list[tuple[Any, ...]]]


def schema_part(
    how: Reading,
    where: str | None,
    limit: int | None,
    threads: int,
    filesystem: Any,
    path: str,
) -> SchemaPart:
    return native.schema_part(files_on(filesystem), path, how, where, limit, threads, task_check())


class SchemaMerge:
    """Makes the Schema of several files of their parts."""

    def __init__(self, where: str | None = None) -> None:
        self._merge = native.SchemaMerge(where)
        self._skipped: list[tuple[Any, ...]] = []

    def add(self, part: SchemaPart) -> None:
        state, skipped = part
        self._merge.add(state)
        self._skipped += skipped[: 10_000 - len(self._skipped)]

    def schema(self) -> Schema:
        return Schema._of(self._merge.finish(), self._skipped)
