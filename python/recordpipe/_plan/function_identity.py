"""What identifies a function in a plan: its name, and a fingerprint of its code."""

from __future__ import annotations

import types
from typing import Any, TypeAlias

from recordpipe._plan.plan import shown

__all__ = ["Identity", "identity_of", "named"]

# Name, fingerprint of the code ("": unknown), what the fingerprint leaves out, and how a profile
# names the function.
Identity: TypeAlias = tuple[str, str, list[str], str]

_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)


def named(name: str) -> Identity:
    """The identity of a function of this package: its code is that of the package's version."""
    return name, "", [], ""


def identity_of(function: Any, name: str = "", **values: Any) -> Identity:
    """The identity of a user's function, and of ``values`` that belong to it."""
    # A quarter of the time of `import recordpipe`, for what many programs don't need.
    from recordpipe._plan.function_code import FunctionCode

    code = FunctionCode(function)
    for value_name, value in values.items():
        code.part(value_name, value)
    return name, code.digest(), [*code.not_compared], name or _called(function)


def _called(function: Any) -> str:
    if isinstance(function, _FUNCTIONS):
        return shown(function)
    called: str = type.__dict__["__name__"].__get__(type(function))  # of any metaclass
    return called
