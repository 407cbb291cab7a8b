"""Which package a function is of, and whether the package is the user's."""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

import numpy as np

from recordpipe._plan.stored_attributes import stored

__all__ = ["BUILTINS", "FOREIGN", "called_by", "is_of_user", "package_of"]

_MAX_CALLS = 50
BUILTINS = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    np.ufunc,
)
# Folders of packages that are not the user's.
_INSTALLED = {"site-packages", "dist-packages"}
# Functions of these are compared by name, also if they are the function of an operator.
FOREIGN = (sys.stdlib_module_names | {"numpy", "recordpipe"}) - {"builtins"}


def called_by(function: Any) -> Any:
    """The function that a partial, a method, or a compiled or cached function calls."""
    for _ in range(_MAX_CALLS):
        kind = type(function)
        if kind is functools.partial:
            function = function.func
        elif kind is types.MethodType:
            function = function.__func__
        elif kind is types.FunctionType or "__wrapped__" not in stored(function):
            break
        else:
            function = stored(function)["__wrapped__"]
    return function


def package_of(value: Any) -> str:
    """The first part of the module's name; "" for packages whose names stand for their code."""
    kind = type(value)
    known = kind is types.FunctionType or kind in BUILTINS or issubclass(kind, type)
    module = getattr(value, "__module__", None) if known else None
    package = str(module or kind.__module__).partition(".")[0]
    if package == "__mp_main__":  # the script, in a process that multiprocessing has started
        return "__main__"
    return "" if package in FOREIGN else package


def is_of_user(package: str) -> bool:
    """Whether it is a package or module with a source that is not installed."""
    if package == "__main__":
        return True
    module = stored(sys.modules.get(package))
    places = [module.get("__file__"), *(module.get("__path__") or ())]
    known = [place for place in places if type(place) is str]
    return bool(known) and all(_INSTALLED.isdisjoint(place.split("/")) for place in known)
