"""What Dataset.parse() without features finds out.

Features are found in the first records only. What parses with them, with FoundFeatures, watches all
records for features that were not in these.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from recordpipe import _native as native
from recordpipe._plan.execution_operators import IgnoreErrors, WithOptions
from recordpipe._plan.plan import Operator, Plan, shown
from recordpipe.errors import error_of
from recordpipe.features import Feature, ListFeature, feature_name
from recordpipe.iterator import Iterator
from recordpipe.schema import Schema

__all__ = [
    "MAX_BYTES",
    "MAX_RECORDS",
    "FoundFeatures",
    "Unseen",
    "checked_unseen",
    "found_features",
    "given_or_found",
    "names_of_first",
    "skipping_errors",
]

# parse() without features looks into the first records until it has so many, or so many bytes.
MAX_RECORDS = 1000
MAX_BYTES = 64 << 20


def skipping_errors(records: Plan, operators: tuple[Operator, ...]) -> Plan:
    skips = any(isinstance(each, IgnoreErrors) for each in operators)
    return records._then(IgnoreErrors(max_count=2**64 - 1, max_rate=1.0)) if skips else records


# What becomes of records with features that the first records don't have.
Unseen = Literal["error", "warn"]

_WAYS_OUT = (
    "pass {0}() the features; {1} finds those of all records; "
    '{0}(unseen="warn") leaves others out, and counts them'
)

# What returns the features that a method takes, of all records.
_FOUND = "recordpipe.schema(paths)"
_ALL = {
    "parse": f"{_FOUND}.features()",
    "parse_sequence_example": f"found.features(), found.feature_lists() of found = {_FOUND}",
    "parse_example_list": f"found.features(), found.feature_lists() of found = {_FOUND}",
}

# The methods that read records of a kind; the first of them without being asked for.
_READ_BY = {
    "Example": ("parse", "parse_sequence_example"),
    "SequenceExample": ("parse_sequence_example",),
    "ExampleListWithContext": ("parse_example_list",),
}


class FoundFeatures(dict[str, Any]):
    """Features, or feature lists, that some records have, for example the first.

    Attributes:
        watch: what ``native.example_spec()`` takes to watch for others, or None.
        in_tables: the same, where those of text are strings.
    """

    watch: tuple[list[str], int, bool, str] | None = None

    def __init__(
        self, features: Mapping[str, Any], in_tables: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(features)
        self.in_tables = features if in_tables is None else in_tables

    def for_table(self) -> FoundFeatures:
        features = FoundFeatures(self.in_tables, self.in_tables)
        features.watch = self.watch
        return features


def found_features(schema: Schema, unseen: Unseen, ways_out: str) -> FoundFeatures:
    """The features of the schema. Warns of names that have no feature."""
    fields, lists = schema.fields.items(), schema.list_fields.items()
    several = sorted(
        {name for name, one in fields if one.kind == "mixed"}
        | {name for name, one in lists if one.kind == "mixed"}
    )
    if several:
        warnings.warn(
            f"left out, because their values are of several types: {', '.join(several)}",
            stacklevel=4,
        )
    found = FoundFeatures(schema.features(), schema.features(for_table=True))
    found.watch = (several, schema.records, unseen == "warn", ways_out)
    return found


def checked_unseen(unseen: Any) -> Unseen:
    if unseen not in ("error", "warn"):
        raise ValueError(f'unseen is "error" or "warn", not {unseen!r}')
    return "warn" if unseen == "warn" else "error"


def given_or_found(
    plan: Plan,
    method: str,
    context: Mapping[str, Feature] | Iterable[str] | None,
    lists: Mapping[str, ListFeature] | None,
    unseen: Unseen | None,
) -> tuple[Mapping[str, Feature], Mapping[str, ListFeature]]:
    """Returns what ``method`` is passed; if nothing, the features of the files' first records.

    The features of names without a type are found, too.
    """
    if context is not None and not isinstance(context, Mapping):
        context = _named(plan, method, context)
    if context is None and lists is None:
        answer = checked_unseen(unseen or "error")
        schema = _first_schema(plan, method)
        ways_out = _WAYS_OUT.format(method, _ALL[method])
        found = FoundFeatures(schema.feature_lists(), schema.feature_lists(for_table=True))
        return found_features(schema, answer, ways_out), found
    if unseen is not None:
        raise ValueError(f"unseen is about features that {method}() finds; features were passed")
    return context or {}, lists or {}


def _named(plan: Plan, method: str, names: Any) -> dict[str, Feature]:
    """The features of the first records that have these names."""
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise TypeError(f"features are a dict by name, or a list of names, not {shown(names)}")
    names = [*names]
    if not names:
        raise ValueError(f"{method}() needs the name of a feature at least")
    schema = _first_schema(plan, method)
    return chosen_features(
        names,
        FoundFeatures(schema.features(), schema.features(for_table=True)),
        f"the first {schema.records} records have no feature {{!r}} with values of one type",
    )


def chosen_features(
    names: Iterable[str], features: Mapping[str, Any], missing: str
) -> dict[str, Any]:
    """Those with these names. ``missing``: the reason for a name that isn't there, ``{!r}``."""
    chosen = {}
    for name in map(feature_name, names):
        if name not in features:
            import difflib

            near = difflib.get_close_matches(name, features, 1)
            raise error_of(
                "not_found",
                f"{missing.format(name)}; there are {', '.join(sorted(features)[:10])}",
                f"did you mean {near[0]!r}?" if near else "",
            )
        chosen[name] = features[name]
    if isinstance(features, FoundFeatures):
        return FoundFeatures(chosen, {name: features.in_tables[name] for name in chosen})
    return chosen


def _first_schema(plan: Plan, method: str) -> Schema:
    """Returns the schema of the first records of the files behind ``plan``, for ``method``."""
    name = (plan._last() or plan._source).method
    if name != "tfrecords":
        raise TypeError(
            f"{method}() without features looks into the files of tfrecords(), also behind "
            f"operators that only order elements, but not behind {name}(); pass the features, for "
            f"example {method}({_ALL[method]})"
        )
    schema = _schema_of_first(skipping_errors(plan._first(0), plan._operators))
    if schema.records == 0:
        raise error_of("not_found", "there are no records in which to look for features")
    readers = _READ_BY.get(schema.kind, (method,))
    if method not in readers:
        raise error_of(
            "unsupported",
            f"the records are {schema.kind}s",
            f"call {readers[0]}(), which reads them",
        )
    if not schema.features() and not schema.feature_lists():
        raise error_of(
            "unsupported",
            f"the first {schema.records} records have no feature with values of one type",
            "print recordpipe.schema(paths): the records may be empty, or no tf.train.Examples",
        )
    return schema


def names_of_first(plan: Plan) -> list[str]:
    """The features, and feature lists, of the first records behind ``plan``."""
    schema = _schema_of_first(skipping_errors(plan._first(0), plan._operators))
    return [*schema.fields, *schema.list_fields]


def _schema_of_first(source: Plan) -> Schema:
    records: list[bytes] = []
    size = 0
    one_by_one = WithOptions(threads=1, chunk_size=1, memory_limit=2**64 - 1)
    with Iterator(source._then(one_by_one)._native, None, None) as iterator:
        for record in iterator:
            records.append(record)
            size += len(record)
            if len(records) == MAX_RECORDS or size >= MAX_BYTES:
                break
    return Schema._of(native.schema_of_records(records))
