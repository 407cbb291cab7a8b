"""Parsed Datasets as Arrow streams: the PyCapsule interface, without a dependency on Arrow."""

from __future__ import annotations

import atexit
from typing import Any

from recordpipe import _native
from recordpipe._plan.found_features import names_of_first
from recordpipe._plan.image_common import ImageOperator
from recordpipe._plan.parse_operators import ParseOperator
from recordpipe._plan.plan import Plan, with_inputs
from recordpipe.errors import error_of
from recordpipe.features import RaggedFeature

__all__ = ["schema", "stream"]

# A consumer may keep a stream longer than the interpreter; its threads must end before.
atexit.register(_native.close_arrow_streams)


def schema(plan: Plan) -> Any:
    return _native.arrow_schema(_with_nulls(plan)._lowered.elements)


def stream(plan: Plan) -> Any:
    with_nulls = _with_nulls(plan)._lowered.elements
    return _native.arrow_stream(with_nulls, *_needed(plan), lambda: names_of_first(plan))


# Besides parse(), the operators behind which a table has what all records have.
_WHOLE = ("batch", "shuffle", "repeat", "prefetch", "cache", "with_options")


def _needed(plan: Plan) -> tuple[list[str], list[str]]:
    """The features that were named: those that may not be null in all rows, and that rarely are."""
    parsers = [each for each in plan._operators if isinstance(each, ParseOperator)]
    others = [each for each in plan._operators if not isinstance(each, ParseOperator)]
    is_whole = all(
        each.method in _WHOLE and not getattr(each, "drop_remainder", False) for each in others
    )
    named = parsers[-1].named_features() if parsers and is_whole else {}
    usual = [name for name, one in named.items() if isinstance(one, RaggedFeature)]
    return [name for name, one in named.items() if not _may_lack(one)], usual


def _may_lack(feature: Any) -> bool:
    if isinstance(feature, RaggedFeature) or getattr(feature, "optional", False):
        return True
    if getattr(feature, "allow_missing", False):
        return True
    return getattr(feature, "default_value", None) is not None


def _with_nulls(plan: Plan) -> Plan:
    """The same plan, where missing features are nulls and strings are checked.

    Columns of NumPy have no nulls, so parse() refuses a missing feature. It decides that before
    batch(), and so the operators after the last parse() are lowered again.
    """
    operators = plan._operators
    parsers = [i for i, each in enumerate(operators) if isinstance(each, ParseOperator)]
    first = parsers[-1] if parsers else 0  # what is before it remains, with what it has cached
    rebuilt = plan._first(first)
    if not parsers:
        source = with_inputs(plan._source, _with_nulls)
        rebuilt = rebuilt if source is plan._source else plan._of(source)
    for each in operators[first:]:
        if isinstance(each, ImageOperator):
            raise _refused_image(each.feature, each.method)
        if isinstance(each, ParseOperator):
            if not each.features_and_lists():
                reason = f"{each.method}() has no features, and the rows of a table need a column"
                raise error_of("unsupported", reason, "name one; without arguments, it finds all")
            each = each.for_table()
        rebuilt = rebuilt._then(with_inputs(each, _with_nulls))
    return rebuilt


def _refused_image(feature: str, method: str) -> Exception:
    reason = f"column {feature!r}: an image of {method}() has no Arrow type"
    hint = (
        f"leave {method}() out: the column then has the bytes of the records; "
        "RawFeature(shape, 'uint8') makes fixed-size lists of raw pixels"
    )
    return error_of("unsupported", reason, hint)
