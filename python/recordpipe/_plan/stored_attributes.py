"""What objects and classes of Python consist of, found without calling their own code."""

from __future__ import annotations

import collections
import dis
import types
from typing import Any

__all__ = [
    "DESCRIPTORS",
    "IS_HEAP_TYPE",
    "has_name",
    "is_generated",
    "names_read",
    "size_of_attributes",
    "slots_of",
    "stored",
]

# What a class holds for the attributes of its objects.
DESCRIPTORS = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    type(vars(collections.namedtuple("_Pair", "a b"))["a"]),
)
IS_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that is no static one of C


def stored(value: Any) -> dict[str, Any]:
    """vars(), without the code of the class; {} for objects that have none."""
    for kind in type(value).__mro__:
        found = vars(kind).get("__dict__")
        if found is not None:
            return found.__get__(value) if type(found) in DESCRIPTORS else {}
    return {}


def slots_of(value: Any) -> dict[str, Any]:
    attributes = {}
    for kind in type(value).__mro__:
        for name, member in vars(kind).items():
            if type(member) is types.MemberDescriptorType and not name.startswith("__"):
                try:
                    attributes[name] = member.__get__(value)
                except AttributeError:  # not assigned yet
                    continue
    return attributes


def size_of_attributes(kind: type) -> int:
    """The size of an object that has only attributes, in its __dict__ and in slots."""
    size = max(c.__basicsize__ for c in kind.__mro__ if not c.__flags__ & IS_HEAP_TYPE)
    for c in kind.__mro__:
        if c.__flags__ & IS_HEAP_TYPE:
            size += 8 * len({"__dict__", "__weakref__"} & vars(c).keys())
            size += 8 * sum(type(m) is types.MemberDescriptorType for m in vars(c).values())
    return size


def is_generated(kind: type, member: Any) -> bool:
    """Whether a method is one that dataclass() makes, which reads all attributes."""
    if "__dataclass_fields__" not in vars(kind) or type(member) is not types.FunctionType:
        return False
    code = getattr(member.__dict__.get("__wrapped__", member), "__code__", None)
    return code is not None and code.co_filename == "<string>"


def has_name(value: Any) -> bool:
    """Whether it has a __qualname__ that is found without the code of its class."""
    for kind in type(value).__mro__:
        members = vars(kind)
        if (
            "__getattr__" in members
            or type(members.get("__getattribute__")) is types.FunctionType
            or type(members.get("__qualname__")) is property
        ):
            return False
    return hasattr(value, "__qualname__")


def names_read(code: types.CodeType, *operations: str) -> set[str]:
    names = {
        instruction.argval
        for instruction in dis.get_instructions(code)
        if instruction.opname in operations
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= names_read(constant, *operations)
    return names
