"""How a Dataset was made: the call of its source, and those of the operators after it.

A Dataset refers to the one that it was made of, so a plan of many operators is a long chain. All
functions here go along it in a loop: thousands of operators are no deep recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from recordpipe.dataset import Dataset

__all__ = [
    "Operator",
    "apply",
    "call",
    "operator_of",
    "operators_of",
    "pickled",
    "replay",
    "sharded",
]

Operator: TypeAlias = tuple[str, tuple[Any, ...], dict[str, Any]]  # method, arguments, keywords


def apply(
    dataset: Dataset, method: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Dataset:
    """Calls a method; a Dataset with this as its recipe was made by an operator."""
    result: Dataset = getattr(dataset, method)(*arguments, **keywords)
    return result


def call(
    function: Callable[..., Dataset], arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Dataset:
    """Calls a function with keywords, of which the recipe of a source may need some."""
    return function(*arguments, **keywords)


def operator_of(dataset: Dataset) -> tuple[Dataset, Operator] | None:
    """Returns the input and the last operator; None for a source."""
    function, arguments = dataset._recipe
    if function is not apply:
        return None
    source, *operator = arguments
    return source, tuple(operator)


def operators_of(dataset: Dataset) -> tuple[Dataset, list[Operator]]:
    """Returns the source, and the operators in the order in which data flows."""
    operators = []
    while (made := operator_of(dataset)) is not None:
        dataset, operator = made
        operators.append(operator)
    return dataset, operators[::-1]


def replay(dataset: Dataset, operators: Iterable[Operator]) -> Dataset:
    for operator in operators:
        dataset = apply(dataset, *operator)
    return dataset


def pickled(dataset: Dataset) -> tuple[Any, ...]:
    """What ``__reduce__`` returns: a list of operators, not Datasets in Datasets.

    A cached Dataset in the chain is pickled by itself: those made from it share its elements, also
    when they are unpickled together.
    """
    operators: list[Operator] = []
    source = dataset
    while (made := operator_of(source)) is not None:
        if source is not dataset and made[1][0] == "cache":
            break
        source, operator = made
        operators.append(operator)
    return (replay, (source, operators[::-1])) if operators else dataset._recipe


def sharded(dataset: Dataset, num_shards: int, index: int) -> Dataset:
    """Like shard(), but before prefetch(), which would compute the elements of all shards."""
    after: list[Operator] = []
    while (made := operator_of(dataset)) is not None:
        if made[1][0] not in ("prefetch", "with_options", "epoch"):
            break
        dataset, operator = made
        after.append(operator)
    return replay(dataset.shard(num_shards, index), after[::-1])
