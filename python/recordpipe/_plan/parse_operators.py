"""Operators of a Dataset that parse its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from recordpipe import _native as native
from recordpipe._plan.found_features import (
    FoundFeatures,
    Unseen,
    chosen_features,
    given_or_found,
)
from recordpipe._plan.plan import Operator, Plan
from recordpipe.features import (
    Feature,
    FixedLenFeature,
    ListFeature,
    native_feature_lists,
    native_features,
    type_text,
)

__all__ = ["ParseOperator", "ParseOperators", "features_of", "ragged_features"]


_SHOWN = 20  # features in the text of a plan


class ParseOperator(Operator):
    parses = True
    # Arrow's columns have nulls for missing features, which those of NumPy can't have.
    nulls: bool = field(default=False, repr=False, kw_only=True)

    def features_and_lists(self) -> dict[str, Feature | ListFeature]:
        raise NotImplementedError

    def named_features(self) -> dict[str, Feature | ListFeature]:
        """Those that were passed, and not found in the first records."""
        named: dict[str, Feature | ListFeature] = {}
        for one in (getattr(self, each.name) for each in fields(self)):
            if isinstance(one, Mapping) and not isinstance(one, FoundFeatures):
                named |= one
        return named

    def for_table(self) -> Self:
        """The same with nulls, and with strings where the values that were found are text."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        found = {name: one for name, one in values.items() if isinstance(one, FoundFeatures)}
        return replace(self, nulls=True, **{name: one.for_table() for name, one in found.items()})

    def __repr__(self) -> str:
        features = self.features_and_lists().items()
        texts = [f"{name!r}: {type_text(feature)}" for name, feature in [*features][:_SHOWN]]
        more = f", and {len(features) - _SHOWN} more" if len(features) > _SHOWN else ""
        return f"{self.method}({{{', '.join(texts)}{more}}})"


class Parse(ParseOperator):
    features: Mapping[str, Feature]

    def features_and_lists(self) -> dict[str, Feature | ListFeature]:
        return {**self.features}

    def lower(self, input: native.Dataset) -> native.Dataset:
        watch = _watch(self.features)
        return input.parse(native.example_spec(native_features(self.features), self.nulls, watch))


class ParseSequenceExample(ParseOperator):
    of_example_lists: ClassVar[bool] = False
    context: Mapping[str, Feature]
    feature_lists: Mapping[str, ListFeature]

    def features_and_lists(self) -> dict[str, Feature | ListFeature]:
        return {**self.context, **self.feature_lists}

    def lower(self, input: native.Dataset) -> native.Dataset:
        return input.parse(
            native.sequence_example_spec(
                native_features(self.context),
                native_feature_lists(self.feature_lists),
                self.nulls,
                self.of_example_lists,
                _watch(self.context),
            )
        )


class ParseExampleList(ParseSequenceExample):
    of_example_lists = True


def _watch(features: Mapping[str, Any]) -> tuple[list[str], int, bool, str] | None:
    """What ``native.example_spec()`` takes: None for features that were not found."""
    return features.watch if isinstance(features, FoundFeatures) else None


def features_of(plan: Plan) -> dict[str, Feature] | None:
    """Returns the features of the parse() behind ``plan``; None if elements have others."""
    undone = 0  # batches before an unbatch()
    for each in reversed(plan._operators):
        if isinstance(each, Parse):
            return None if undone else dict(each.features)
        if each.method == "unbatch":
            undone += 1
        elif each.method == "batch":
            undone = max(0, undone - 1)
        elif not each.keeps_elements:
            break
    return None


def ragged_features(plan: Plan) -> frozenset[str]:
    """The features of the parse() behind ``plan`` whose single elements differ in length.

    Those of :func:`features_of`, also behind filter(), whose elements are those of its input.
    """
    last = plan._last(["filter"])
    if not isinstance(last, Parse):
        return frozenset()
    return frozenset(
        name
        for name, feature in last.features.items()
        if feature._native(name)[1].startswith("ragged")
    )


class ParseOperators(Plan):
    """The operators of :class:`Dataset` that parse its records."""

    __slots__ = ()

    def parse(
        self,
        features: Mapping[str, Feature | str] | Sequence[str] | None = None,
        *,
        unseen: Unseen | None = None,
    ) -> Self:
        """Turns each record, a tf.train.Example, into a dict of the values of ``features``.

        Keeps random access.

        Without ``features``, they are found out now, from the first 1,000 records or 64 MiB of the
        files: a feature with the same number of values in all of these that have it is a
        :class:`FixedLenFeature` of that number, ``optional`` if others lack it; any other is a
        :class:`RaggedFeature`. Features without any value are left out, and so are those of several
        types, with a warning. In tables (:meth:`__arrow_c_stream__`), bytes that are text in all of
        these are strings. Later records may differ, which is then an error of the element, also if
        they have a feature that the first ones lack (:class:`UnsupportedError`; see ``unseen``):
        for a program that others run, print :attr:`features` and pass what is needed. This works
        behind :func:`tfrecords` and operators that only order elements, and raises TypeError behind
        others; it raises a ValueError if no feature is found. The found features become a part of
        the plan, as if they had been passed: pickled Datasets and saved states don't look again.

        Computes nothing by itself: values are decoded when a batch is built, column by column.
        Features of a record that were not passed are ignored. Raises for an element:
        :class:`NotFoundError` if a feature without default is missing, :class:`UnsupportedError` if
        it has another type or number of values, :class:`DataLossError` if the record is not an
        Example. A record of another message that parses as an Example without any of the features
        is an UnsupportedError, too.

        Args:
            features: by name, which becomes the key: :class:`FixedLenFeature`,
                :class:`RaggedFeature`, :class:`VarLenFeature`, :class:`RawFeature` or
                :class:`TensorFeature`. A dtype stands for a :class:`FixedLenFeature` of one value:
                ``{"label": "int64"}``. A list of names, ``["image", "label"]``: these features, as
                they are found without ``features``.
            unseen: without ``features``, what becomes of a record with a feature that the first
                ones lack, or with a field that no Example has. "error" (default):
                :meth:`ignore_errors` behind parse() doesn't skip it, because all of its record
                would be lost. "warn": it is left out; a UserWarning at the end of the pass counts
                the records, and names the first.
        """
        found, _ = given_or_found(self, "parse", features, None, unseen)
        return self._then(Parse(_with_shapes(_copied(found))))

    def select(self, names: Sequence[str]) -> Self:
        """Keeps only these features of :meth:`parse`; the others are not decoded.

        Behind parse(), also behind :meth:`batch`, its :meth:`unbatch` and operators that order
        elements.
        """
        if features_of(self) is None:
            last = (self._last(["batch"]) or self._source).method
            raise TypeError(f"select() chooses features of parse(), not of what {last}() yields")
        if isinstance(names, str):
            raise TypeError(f"select() takes a list of names: [{names!r}]")

        def chosen(each: Operator) -> Operator:
            if not isinstance(each, Parse):
                return each
            missing = "parse() has no feature {!r}"
            return replace(each, features=chosen_features(names, each.features, missing))

        return self._first(0)._with([*map(chosen, self._operators)])

    def parse_sequence_example(
        self,
        context: Mapping[str, Feature] | None = None,
        feature_lists: Mapping[str, ListFeature] | None = None,
        *,
        unseen: Unseen | None = None,
    ) -> Self:
        """Turns each record, a tf.train.SequenceExample, into a tuple of two dicts.

        The first dict has the values of ``context``, as after :meth:`parse`; the second those of
        ``feature_lists``. The bytes of an Example are a SequenceExample with only a context.
        Without either argument, they are found out as :meth:`parse` finds features.

        Args:
            feature_lists: :class:`FixedLenSequenceFeature`: in a batch, a :class:`Ragged` of
                arrays [steps, *shape]; :class:`RaggedFeature`: a :class:`Ragged` of Raggeds, any
                number of steps with any number of values each; :class:`RawFeature`: an array of
                bytes in each step.
            unseen: as that of :meth:`parse`.
        """
        method = "parse_sequence_example"
        found, lists = given_or_found(self, method, context, feature_lists, unseen)
        return self._then(ParseSequenceExample(_copied(found), _copied(lists)))

    def parse_example_list(
        self,
        context: Mapping[str, Feature] | None = None,
        examples: Mapping[str, ListFeature] | None = None,
        *,
        unseen: Unseen | None = None,
    ) -> Self:
        """Turns each record, an ExampleListWithContext, into a tuple of two dicts.

        The message type is that of TensorFlow Ranking (ELWC): a list of Examples, for example the
        documents that a query found, and an Example as their context. The first dict has the values
        of ``context``, as after :meth:`parse`; the second those of ``examples``, each with a step
        for each Example::

            ds = rp.tfrecords("train-*").parse_example_list(
                {"query_tokens": rp.RaggedFeature("string")},
                {
                    "relevance": rp.FixedLenSequenceFeature([], "int64"),
                    "document_tokens": rp.RaggedFeature("string"),
                },
            )

        A feature that an Example lacks has no values there, which only a :class:`RaggedFeature`
        allows. Without either argument, they are found out as :meth:`parse` finds features;
        ``recordpipe.schema(paths)`` finds those of all records.

        Args:
            examples: as the ``feature_lists`` of :meth:`parse_sequence_example`.
            unseen: as that of :meth:`parse`.
        """
        found, lists = given_or_found(self, "parse_example_list", context, examples, unseen)
        return self._then(ParseExampleList(_copied(found), _copied(lists)))


def _copied(features: Mapping[str, Any]) -> Mapping[str, Any]:
    return features if isinstance(features, FoundFeatures) else dict(features)


def _with_shapes(features: Mapping[str, Any]) -> Mapping[str, Feature]:
    """With a FixedLenFeature of one value for each dtype."""
    dtypes = (str, type, np.dtype)
    if not any(isinstance(feature, dtypes) for feature in features.values()):
        return features
    return {
        name: FixedLenFeature([], feature) if isinstance(feature, dtypes) else feature
        for name, feature in features.items()
    }
