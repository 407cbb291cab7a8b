"""Parsed Datasets as Arrow streams: the PyCapsule interface, without a dependency on Arrow."""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING, Any

from recordpipe import _native, recipe
from recordpipe.errors import _make
from recordpipe.features import native_feature_lists, native_features
from recordpipe.found_features import watched
from recordpipe.image import ImageOperators

if TYPE_CHECKING:
    from recordpipe.dataset import Dataset

__all__ = ["schema", "stream"]

# A consumer may keep a stream longer than the interpreter; its threads must end before.
atexit.register(_native.close_arrow_streams)


def schema(dataset: Dataset) -> Any:
    return _native.arrow_schema(_with_nulls(dataset)._native)


def stream(dataset: Dataset) -> Any:
    return _native.arrow_stream(_with_nulls(dataset)._native)


def _with_nulls(dataset: Dataset) -> Dataset:
    """The same Dataset, where missing features are nulls and strings are checked.

    Columns of NumPy have no nulls, so parse() refuses a missing feature. It decides that before
    batch(), and so the operators after parse() are applied again.
    """
    rebuilt = dataset
    operators: list[recipe.Operator] = []
    while (made := recipe.operator_of(rebuilt)) is not None:
        rebuilt, operator = made
        operators.append(operator)
        if operator[0].startswith("parse"):  # what is before it remains, with what it has cached
            break
    else:
        make, arguments = rebuilt._recipe
        if make is recipe.call:
            function, parameters, keywords = arguments
            rebuilt = function(*_members(parameters), **keywords)
    for method, parameters, keywords in reversed(operators):
        if hasattr(ImageOperators, method):
            raise _refused_image(parameters[0], method)
        if method == "parse":
            spec = _native.example_spec(native_features(*parameters), True, watched(*parameters))
            rebuilt = rebuilt._parsed(method, parameters, spec)
        elif method in ("parse_sequence_example", "parse_example_list"):
            context, feature_lists = parameters
            spec = _native.sequence_example_spec(
                native_features(context),
                native_feature_lists(feature_lists),
                True,
                method == "parse_example_list",
                watched(context),
            )
            rebuilt = rebuilt._parsed(method, parameters, spec)
        else:
            rebuilt = recipe.apply(rebuilt, method, _members(parameters), keywords)
    return rebuilt


def _refused_image(feature: str, method: str) -> Exception:
    reason = f"column {feature!r}: an image of {method}() has no Arrow type"
    hint = (
        f"leave {method}() out: the column then has the bytes of the records; "
        "RawFeature(shape, 'uint8') makes fixed-size lists of raw pixels"
    )
    return _make("unsupported", f"{reason} ({hint})", None, None, reason, hint)


def _members(parameters: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operators take Datasets, for example of concatenate(), or lists of them."""
    from recordpipe.dataset import Dataset

    def converted(parameter: Any) -> Any:
        if isinstance(parameter, Dataset):
            return _with_nulls(parameter)
        if isinstance(parameter, list) and parameter and isinstance(parameter[0], Dataset):
            return [_with_nulls(member) for member in parameter]
        return parameter

    return tuple(map(converted, parameters))
