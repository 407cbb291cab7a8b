"""What Dataset.parse() without features finds out, and what Dataset.features returns.

Both read the calls that made a Dataset, its recipe, backwards.

Features are found in the first records only. What parses with them, with FoundFeatures, watches all
records for features that were not in these.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from recordpipe import _native as native
from recordpipe import recipe
from recordpipe.errors import _make
from recordpipe.features import Feature, ListFeature
from recordpipe.schema import Schema

if TYPE_CHECKING:
    from recordpipe.dataset import Dataset

__all__ = [
    "MAX_BYTES",
    "MAX_RECORDS",
    "FoundFeatures",
    "ParsedSource",
    "Unseen",
    "checked_unseen",
    "features_of",
    "find_features",
    "parsed_source",
    "ragged_features",
    "watched",
]

# parse() without features looks into the first records until it has so many, or so many bytes.
MAX_RECORDS = 1000
MAX_BYTES = 64 << 20

# The operators whose elements are those of their input.
_ORDER = frozenset(
    {
        *("repeat", "shard", "shuffle", "skip", "take"),
        *("cache", "epoch", "ignore_errors", "prefetch", "with_options"),
    }
)


def _call_of(dataset: Dataset) -> tuple[Dataset | None, str, tuple[Any, ...]]:
    """Returns the Dataset (None for sources), the name and the arguments of the last call."""
    function, arguments = dataset._recipe
    if function is recipe.apply:
        return arguments[0], arguments[1], arguments[2]
    if function is recipe.call:
        return None, arguments[0].__name__, arguments[1]
    return None, function.__name__, arguments


def ends_in_batches(dataset: Dataset) -> bool:
    """Whether the elements are those of batch() or padded_batch()."""
    step: Dataset | None = dataset
    name = ""
    while step is not None:
        step, name, _ = _call_of(step)
        if name not in _ORDER:
            break
    return name in ("batch", "padded_batch")


def features_of(dataset: Dataset) -> dict[str, Feature] | None:
    """Returns the features of the parse() behind ``dataset``; None if elements have others."""
    step: Dataset | None = dataset
    while step is not None:
        step, name, arguments = _call_of(step)
        if name == "parse":
            return dict(arguments[0])
        if name != "batch" and name not in _ORDER:
            return None
    return None


def ragged_features(dataset: Any) -> frozenset[str]:
    """The features of the parse() behind ``dataset`` whose single elements differ in length.

    Those of :func:`features_of`, also behind filter(), whose elements are those of its input.
    """
    step: Dataset | None = dataset
    while step is not None:
        step, name, arguments = _call_of(step)
        if name == "parse":
            return frozenset(
                name
                for name, feature in arguments[0].items()
                if feature._native(name)[1].startswith("ragged")
            )
        if name != "filter" and name not in _ORDER:
            break
    return frozenset()


@dataclass(frozen=True)
class ParsedSource:
    """The records of files, with the features of the first parse() behind them.

    Attributes:
        features: also the feature lists of SequenceExamples; None without parse().
    """

    records: Dataset
    features: dict[str, Feature | ListFeature] | None
    paths: list[str]


def parsed_source(dataset: Dataset) -> ParsedSource | None:
    """Returns what ``dataset`` is made of; None if that is not tfrecords()."""
    step: Dataset | None = dataset
    skip_errors = False
    parsing: tuple[str, tuple[Any, ...]] | None = None
    while step is not None:
        source = step
        step, name, arguments = _call_of(source)
        skip_errors = skip_errors or name == "ignore_errors"
        if name in ("parse", "parse_sequence_example", "parse_example_list"):
            parsing = (name, arguments)
    if name != "tfrecords":
        return None
    records, features = source, None
    if parsing is not None:
        records = getattr(records, parsing[0])(*parsing[1])
        features = {name: feature for each in parsing[1] for name, feature in each.items()}
    return ParsedSource(
        records.ignore_errors() if skip_errors else records, features, list(arguments[0])
    )


# What becomes of records with features that the first records don't have.
Unseen = Literal["error", "warn"]

_WAYS_OUT = (
    "pass parse() the features; recordpipe.schema(paths).features() finds those of all records; "
    'parse(unseen="warn") leaves others out, and counts them'
)


class FoundFeatures(dict[str, Any]):
    """Features, or feature lists, that the first records have.

    Attributes:
        watch: what ``native.example_spec()`` takes to watch for others.
    """

    watch: tuple[list[str], int, bool, str]

    @classmethod
    def of(
        cls, features: Mapping[str, Any], schema: Schema, unseen: Unseen, ways_out: str
    ) -> FoundFeatures:
        """``features``: of the schema. Warns of those that have no feature."""
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
        found = cls(features)
        found.watch = (several, schema.records, unseen == "warn", ways_out)
        return found


def watched(features: Mapping[str, Any] | None) -> tuple[list[str], int, bool, str] | None:
    """What ``native.example_spec()`` takes: None for features that were not found."""
    return features.watch if isinstance(features, FoundFeatures) else None


def checked_unseen(unseen: Any) -> Unseen:
    if unseen not in ("error", "warn"):
        raise ValueError(f'unseen is "error" or "warn", not {unseen!r}')
    return "warn" if unseen == "warn" else "error"


def find_features(dataset: Dataset, unseen: Unseen) -> FoundFeatures:
    """Returns the features of the first records of the files behind ``dataset``."""
    source, skip_errors = dataset, False
    while True:
        step, name, _ = _call_of(source)
        if step is None or name not in _ORDER:
            break
        source, skip_errors = step, skip_errors or name == "ignore_errors"
    if name != "tfrecords":
        raise TypeError(
            "parse() without features looks into the files of tfrecords(), also behind operators "
            f"that only order elements, but not behind {name}(); pass the features, for example "
            "parse(recordpipe.schema(paths).features())"
        )
    schema = _schema_of_first(source.ignore_errors() if skip_errors else source)
    if schema.records == 0:
        raise _error("not_found", "there are no records in which to look for features")
    parsers = {
        "SequenceExample": "parse_sequence_example",
        "ExampleListWithContext": "parse_example_list",
    }
    if schema.kind in parsers:
        raise _error(
            "unsupported",
            f"the records are {schema.kind}s",
            f"call {parsers[schema.kind]}(found.features(), found.feature_lists()), where found = "
            "recordpipe.schema(paths)",
        )
    features = schema.features()
    if not features:
        raise _error(
            "unsupported",
            f"the first {schema.records} records have no feature with values of one type",
            "print recordpipe.schema(paths): the records may be empty, or no tf.train.Examples",
        )
    return FoundFeatures.of(features, schema, unseen, _WAYS_OUT)


def _schema_of_first(source: Dataset) -> Schema:
    records: list[bytes] = []
    size = 0
    with iter(source.with_options(threads=1, chunk_size=1)) as iterator:
        for record in iterator:
            records.append(record)
            size += len(record)
            if len(records) == MAX_RECORDS or size >= MAX_BYTES:
                break
    return Schema._of(native.schema_of_records(records))


def _error(kind: str, reason: str, hint: str = "") -> Exception:
    message = f"{reason} ({hint})" if hint else reason
    return _make(kind, message, None, None, reason, hint)
