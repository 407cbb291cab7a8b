"""What a Dataset is: a plan, a source and a tuple of operators, which is data.

A Source or an Operator is a frozen dataclass of the arguments of a call. When it is made, it checks
the types of its arguments; when it is added to a plan, it becomes a part of the native Dataset,
once, which checks the values. That reads no records. What changes plans, makes another plan of the
same operators or of changed ones: pickles, sharded(), map_episode(), Arrow's streams.

Operators don't wait for an iteration to become native ones. Their errors are those of the call, and
most of these checks need what the operators before have become: whether an image operator has a
feature of bytes, and no crop yet; which features are padded or packed; whether Datasets have the
same elements; whether elements are steps. A function is compared as it is at the call, too. Waiting
would save a third of the time of building a plan, 2 µs for each operator, and only of plans that
are never iterated.

Two rules decide what operators become:

- "parse fuses into batch" (python/native/dataset/dataset.h): parse() computes nothing, and a
  batch() behind it, or behind operators that only order elements, parses its rows itself.
- "a shard that comes last" (Lowered) is behind the parsing of rows, not before it.
"""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, Field, FrozenInstanceError, dataclass, field, fields, replace
from types import FunctionType
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias, TypeVar, dataclass_transform

from recordpipe import _native as native

__all__ = [
    "Call",
    "Count",
    "Counts",
    "Execution",
    "Function",
    "Integer",
    "Lengths",
    "Lowered",
    "Operator",
    "OrderOperator",
    "Plan",
    "Shard",
    "Source",
    "checked_plan",
    "merged",
    "sharded",
    "shown",
    "with_inputs",
]

# The types of arguments that native code takes. Call checks fields that are declared by these
# names; annotations must be texts (`from __future__ import annotations`).
Count: TypeAlias = int  # 0 to 2**64 - 1
Integer: TypeAlias = int  # of 64 bits
Counts: TypeAlias = list[int]
Lengths: TypeAlias = int | dict[str, int]  # of all features, or of each by its name
Function: TypeAlias = Callable[..., Any]

_C = TypeVar("_C", bound="Call")
_P = TypeVar("_P", bound="Plan")


def _is_integer(least: int, most: int) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        try:
            return least <= operator.index(value) <= most
        except TypeError:
            return False

    return fits


_is_count = _is_integer(0, 2**64 - 1)
# What an argument of a type is, for messages, and whether a value is one.
_FITS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "Count": ("an integer from 0 to 2**64 - 1", _is_count),
    "Counts": (
        "a list of integers of 0 or more",
        lambda values: isinstance(values, Iterable) and all(map(_is_count, values)),
    ),
    "Lengths": (
        "an integer of 0 or more, or a dict of them by feature",
        lambda value: all(map(_is_count, value.values() if isinstance(value, dict) else [value])),
    ),
    "Integer": ("an integer of 64 bits", _is_integer(-(2**63), 2**63 - 1)),
    "float": (
        "a number",
        lambda value: hasattr(value, "__float__") or hasattr(value, "__index__"),
    ),
    "bool": ("True or False", lambda value: value is True or value is False),
    "str": ("a string", lambda value: isinstance(value, str)),
    "Function": ("a function", callable),
}


def shown(value: Any) -> str:
    """A value in a message or a plan: a function by its name, others cut to 80 characters."""
    if isinstance(value, Plan):
        return "a Dataset"
    code = getattr(value, "__code__", None)
    if code is not None and value.__name__ == "<lambda>":
        return f"<lambda> at {os.path.basename(code.co_filename)}:{code.co_firstlineno}"
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__).rpartition("<locals>.")[2]
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
class Call:
    """The arguments of a call that makes a Dataset; subclasses are frozen dataclasses."""

    method: ClassVar[str]  # the name of the function in Python
    native_name: ClassVar[str]
    _fields: ClassVar[tuple[Field[Any], ...]]
    _positional: ClassVar[list[str]]
    _defaults: ClassVar[dict[str, Any]]
    _checks: ClassVar[list[tuple[str, str, bool]]]  # name, a key of _FITS, whether None fits, too

    def __init_subclass__(cls) -> None:
        name = re.sub("(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        cls.method = vars(cls).get("method", name)
        cls.native_name = vars(cls).get("native_name", name)
        # Code that dataclass() makes would take ten milliseconds of the import, for all classes.
        cls.__doc__ = cls.__doc__ or f"A call of {cls.method}()."
        dataclass(init=False, eq=False, repr=False, match_args=False)(cls)
        cls._fields = fields(cls)  # type: ignore[arg-type]
        cls._positional = [each.name for each in cls._fields if not each.kw_only]
        cls._defaults = {each.name: each.default for each in cls._fields}
        cls._checks = []
        for each in cls._fields:
            kind, is_optional, _ = str(each.type).partition(" | None")
            if kind in _FITS:
                cls._checks.append((each.name, kind, is_optional != ""))

    def __init__(self, *values: Any, **named: Any) -> None:
        attributes = vars(self)
        attributes.update(self._defaults)  # also for the order
        attributes.update(zip(self._positional, values, strict=False))
        attributes.update(named)
        for name, kind, is_optional in self._checks:
            value = attributes[name]
            what, fits = _FITS[kind]
            if not fits(value) and not (is_optional and value is None):
                raise TypeError(f"{self.method}(): {name} is {what}, not {shown(value)}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __repr__(self) -> str:
        """What was called, without plans and what changes nothing."""
        texts: list[str] = []
        for each in sorted(self._fields, key=lambda each: bool(each.kw_only)):
            value = getattr(self, each.name)
            is_default = type(value) is type(each.default) and value == each.default
            if each.repr and not (is_default or _says_nothing(value) or _plans_in(value)):
                is_first = not (texts or each.kw_only)
                texts.append(shown(value) if is_first else f"{each.name}={shown(value)}")
        return f"{self.method}({', '.join(texts)})"

    def explained(self) -> list[str]:
        """The lines of explain(): those of the plans in the arguments, and the call."""
        inputs = (plan for value in vars(self).values() for plan in _plans_in(value))
        return [*(f"  {line}" for plan in inputs for line in plan._explained()), repr(self)]


def _says_nothing(value: Any) -> bool:
    """Whether an argument is a default that changes nothing: no name, no option, no limit."""
    return (
        value is None or value is False or (type(value) in (str, int) and value in ("", 2**64 - 1))
    )


def _plans_in(value: Any) -> tuple[Plan, ...]:
    """The plans in an argument, which is one, a tuple of them, or none."""
    if isinstance(value, Plan):
        return (value,)
    return value if isinstance(value, tuple) and value and _are_plans(value) else ()


def _are_plans(values: Iterable[Any]) -> bool:
    return all(isinstance(one, Plan) for one in values)


class Source(Call):
    """What yields the first elements."""

    @property
    def is_random(self) -> bool:
        """Whether epochs differ."""
        return False

    def lower(self) -> native.Dataset:
        raise NotImplementedError

    @property
    def has_files(self) -> bool:
        """Whether the elements are the records of plain files, which open_files() opens."""
        return False

    def open_files(self) -> native.RecordFiles:
        raise NotImplementedError


class Lowered(NamedTuple):
    """The native Datasets of a plan; they differ behind a shard that comes last.

    Attributes:
        elements: what operators go on with. A parse() waits there for the batch() that it fuses
            with.
        rows: what a pass runs, and what functions in Python get. Rule "a shard that comes last":
            it shards parsed rows. Records that were sharded and then parsed would make the shard a
            part of the plan: states could not be restored behind another one.
    """

    elements: native.Dataset
    rows: native.Dataset


class Operator(Call):
    """What follows a source or another operator."""

    draws: ClassVar[bool] = False  # whether it draws random numbers
    keeps_elements: ClassVar[bool] = False  # whether its elements are those of its input
    parses: ClassVar[bool] = False  # whether it says how records are parsed, and computes nothing
    needs_rows: ClassVar[bool] = False  # whether it calls a function in Python
    is_shared: ClassVar[bool] = False  # whether it keeps elements for all plans made of its own

    @property
    def is_random(self) -> bool:
        """Whether epochs differ behind it."""
        return self.draws

    def lower(self, input: native.Dataset) -> native.Dataset:
        """By default, a native method that has the fields as its arguments."""
        made: native.Dataset = getattr(input, self.native_name)(*vars(self).values())
        return made

    def apply(self, input: Lowered) -> Lowered:
        made = self.lower(input.rows if self.takes_rows(input.elements) else input.elements)
        return Lowered(made, made)

    def takes_rows(self, elements: native.Dataset) -> bool:
        return self.needs_rows


class OrderOperator(Operator):
    """Orders or chooses elements."""

    keeps_elements = True


class Shard(OrderOperator):
    num_shards: Count
    index: Count
    _: KW_ONLY
    drop_remainder: bool

    def apply(self, input: Lowered) -> Lowered:
        sharded = self.lower(input.elements)
        is_parsed = input.elements.rows()
        return Lowered(sharded, self.lower(input.rows.computed()) if is_parsed else sharded)


class Execution(OrderOperator):
    """Says how a pass runs, also behind a shard that comes last."""

    def apply(self, input: Lowered) -> Lowered:
        made = self.lower(input.elements)
        is_one = input.rows is input.elements
        return Lowered(made, made if is_one else self.lower(input.rows))


class Plan:
    """The base of Dataset, and of the classes of its methods."""

    __slots__ = ("__weakref__", "_access", "_base", "_lowered", "_operators", "_source")
    _source: Source
    _operators: tuple[Operator, ...]
    _lowered: Lowered
    _base: Self | None  # the source alone, or the last cache(): plans made of it share its elements
    _access: Any  # elements by number, once they were needed

    def __init_subclass__(cls) -> None:
        """Errors of arguments, and pickles, name methods by the class that users know."""
        for name, value in vars(cls).items():
            if isinstance(value, FunctionType):
                value.__module__, value.__qualname__ = "recordpipe.dataset", f"Dataset.{name}"

    @classmethod
    def _of(cls, source: Source) -> Self:
        lowered = source.lower()
        return cls._made(source, (), Lowered(lowered, lowered), None)

    @classmethod
    def _made(
        cls,
        source: Source,
        operators: tuple[Operator, ...],
        lowered: Lowered,
        base: Self | None,
    ) -> Self:
        plan = object.__new__(cls)
        plan._source = source
        plan._operators = operators
        plan._lowered = lowered
        plan._base = base
        plan._access = None
        return plan

    def _then(self, operator: Operator) -> Self:
        is_base = self._base is None or self._operators[-1].is_shared
        return self._made(
            self._source,
            (*self._operators, operator),
            operator.apply(self._lowered),
            self if is_base else self._base,
        )

    def _with(self, operators: Iterable[Operator]) -> Self:
        plan = self
        for each in operators:
            plan = plan._then(each)
        return plan

    def _first(self, count: int) -> Self:
        """The plan of the first ``count`` operators; shares what it has cached."""
        plan = self
        while len(plan._operators) > count:
            assert plan._base is not None
            plan = plan._base
        return plan._with(self._operators[len(plan._operators) : count])

    def _last(self, but: Iterable[str] = ()) -> Operator | None:
        """The last operator that doesn't only order elements, except for some methods."""
        for each in reversed(self._operators):
            if not each.keeps_elements and each.method not in but:
                return each
        return None

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickled Dataset is its description. Those with the same cache() share it afterwards."""
        if self._base is None:
            return type(self)._of, (self._source,)
        return Plan._with, (self._base, self._operators[len(self._base._operators) :])

    def _explained(self) -> list[str]:
        return [line for call in (self._source, *self._operators) for line in call.explained()]

    @property
    def _native(self) -> native.Dataset:
        """What a pass runs."""
        return self._lowered.rows

    @property
    def _random(self) -> bool:
        """Whether epochs differ."""
        return self._source.is_random or any(each.is_random for each in self._operators)


def checked_plan(dataset: Any) -> Plan:
    """Raises TypeError for anything but a Dataset."""
    if not isinstance(dataset, Plan):
        raise TypeError(f"needs a recordpipe.Dataset, not {shown(dataset)}")
    return dataset


def sharded(plan: _P, num_shards: int, index: int) -> _P:
    """Like shard(), but before prefetch(), which would compute the elements of all shards."""
    count = len(plan._operators)
    while count and isinstance(plan._operators[count - 1], Execution):
        count -= 1
    shard = Shard(num_shards, index, drop_remainder=False)
    return plan._first(count)._then(shard)._with(plan._operators[count:])


def merged(inputs: Iterable[Lowered]) -> list[native.Dataset]:
    """What an operator merges: rows, unless all inputs are parsed in the same way."""
    listed = [*inputs]
    elements = [each.elements for each in listed]
    return elements if native.have_same_elements(elements) else [each.rows for each in listed]


def with_inputs(call: _C, change: Callable[[Plan], Plan]) -> _C:
    """The call with ``change(plan)`` in place of each plan in its arguments."""
    changed: dict[str, Any] = {}
    for name, value in vars(call).items():
        if isinstance(value, Plan):
            changed[name] = change(value)
        elif isinstance(value, tuple) and value and _are_plans(value):
            changed[name] = tuple(map(change, value))
    return replace(call, **changed) if changed else call  # type: ignore[type-var]
