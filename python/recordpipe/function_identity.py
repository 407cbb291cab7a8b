"""What identifies a function in a plan: its name, its code, and the values that it uses.

The code is the bytecode with its constants, the defaults of parameters, the variables of enclosing
functions, and the global variables that it reads. Of the latter two, numbers, text, bytes, arrays,
and lists, tuples, sets and dicts of these are compared by value; functions and classes of the same
package, and objects of classes written in Python, by what they consist of; modules, and what other
packages define, by name. Anything else, and more than 16 MiB of values, can't be compared.
"""

from __future__ import annotations

import collections
import dis
import enum
import functools
import hashlib
import operator
import pathlib
import re
import sys
import types
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from recordpipe import _native as native

__all__ = ["Identity", "identity_of", "named"]

# Name, fingerprint of the code ("": unknown), and what the fingerprint leaves out.
Identity: TypeAlias = tuple[str, str, list[str]]

_MOST_BYTES = 2**24
_MOST_VALUES = 100_000
_DEEPEST = 50

_BUILTINS = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    np.ufunc,
)
_READERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
_DICTS = (
    dict,
    types.MappingProxyType,
    collections.Counter,
    collections.OrderedDict,
    collections.defaultdict,
)
# What is compared of a class.
_MEMBERS = (
    types.FunctionType,
    staticmethod,
    classmethod,
    property,
    *(bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset),
)
# Functions of these are compared by name, also if they are the function of an operator.
_FOREIGN = (sys.stdlib_module_names | {"numpy", "recordpipe"}) - {"builtins"}


def named(name: str) -> Identity:
    """The identity of a function of this package: its code is that of the package's version."""
    return name, "", []


def identity_of(function: Any, name: str = "", **values: Any) -> Identity:
    """The identity of a user's function, and of ``values`` that belong to it."""
    plain = function
    while isinstance(plain, (functools.partial, types.MethodType)):
        plain = plain.func if isinstance(plain, functools.partial) else plain.__func__
    code = _Code(_package_of(plain))
    code.part("the function", function)
    for value_name, value in values.items():
        code.part(value_name, value)
    return name, code.digest(), code.not_compared


class _Incomparable(Exception):
    pass


class _Code:
    """A fingerprint that grows with each part that is added."""

    def __init__(self, package: str = "") -> None:
        self.not_compared: list[str] = []
        self._hash = hashlib.blake2b(digest_size=8)
        self._package = package
        self._bytes = self._values = 0
        self._names: list[str] = []  # of the variable that is added, and of those around it
        self._known: dict[int, Any] = {}  # by id(); the values keep their ids from being used again

    def digest(self) -> str:
        return self._hash.hexdigest()

    def part(self, name: str, value: Any, depth: int = 0) -> None:
        """Adds a value; what can't be compared is noted under this name."""
        self._add(name)
        self._names.append(name)
        before = self._bytes, self._values
        try:
            self._value(value, depth)
        except _Incomparable:
            self._bytes, self._values = before
            self._add("incomparable")
            note = f"{'.'.join(self._names[1:]) or name} ({type(value).__qualname__})"
            if note not in self.not_compared:
                self.not_compared.append(note)
        finally:
            self._names.pop()

    def _add(self, *parts: str | bytes) -> None:
        for part in parts:
            data = part.encode(errors="surrogatepass") if isinstance(part, str) else part
            self._bytes += len(data)
            if self._bytes > _MOST_BYTES:
                raise _Incomparable
            self._hash.update(len(data).to_bytes(8, "little") + data)

    def _all(self, kind: str, values: Iterable[Any], depth: int) -> None:
        self._add(kind)
        for value in values:
            self._value(value, depth)
        self._add("end")

    def _value(self, value: Any, depth: int) -> None:
        self._values += 1
        if depth > _DEEPEST or self._values > _MOST_VALUES:
            raise _Incomparable
        depth += 1
        kind = type(value)
        if value is None or value is Ellipsis or kind in (bool, int, float, complex, range, slice):
            self._add(kind.__name__, repr(value))
        elif kind in (str, bytes, bytearray):
            self._add(kind.__name__, value)
        elif isinstance(value, np.generic):
            self._add("scalar", value.dtype.str, value.tobytes())
        elif isinstance(value, types.ModuleType):
            self._add("module", value.__name__)
        elif isinstance(value, enum.Enum):
            self._add("enum", _name_of(kind), value.name)
        elif isinstance(value, pathlib.PurePath):
            self._add("path", str(value))
        elif isinstance(value, re.Pattern):
            self._all("pattern", (value.pattern, value.flags), depth)
        elif isinstance(value, np.dtype):
            self._add("dtype", str(value))
        elif isinstance(value, _BUILTINS):
            self._builtin(value, depth)
        elif id(value) in self._known:
            self._add("again", str([*self._known].index(id(value))))
        else:
            self._known[id(value)] = value
            self._composed(value, depth)

    def _composed(self, value: Any, depth: int) -> None:
        kind = type(value)
        if kind in (list, tuple) or (isinstance(value, tuple) and hasattr(value, "_fields")):
            self._all(_name_of(kind), value, depth)
        elif kind in _DICTS:
            self._all("dict", (part for item in value.items() for part in item), depth)
        elif kind in (set, frozenset):
            self._add(kind.__name__, *sorted(self._digest_of(item, depth) for item in value))
        elif kind is types.CodeType:
            self._code(value, depth)
        elif kind is types.FunctionType:
            self._function(value, depth)
        elif isinstance(value, types.MethodType):
            self._all("method", (value.__func__, value.__self__), depth)
        elif kind is functools.partial:
            self._all("partial", (value.func, value.args, value.keywords), depth)
        elif kind in (staticmethod, classmethod):
            self._value(value.__func__, depth)
        elif kind is property:
            self._all("property", (value.fget, value.fset), depth)
        elif isinstance(value, _READERS):
            self._all(_name_of(kind), value.__reduce__()[1], depth)
        elif isinstance(value, type):
            self._class(value, depth)
        elif isinstance(getattr(value, "_native", None), native.Dataset):
            self._add("Dataset", str(value._native.plan_hash()))
        elif hasattr(kind, "__array__"):
            self._array(value, depth)
        elif hasattr(value, "__wrapped__"):  # a function that was compiled or cached
            self._all("wrapped", (value.__wrapped__,), depth)
        elif hasattr(value, "__qualname__"):  # a function written in another language
            self._add("name", _name_of(value))
        else:
            self._object(value, depth)

    def _digest_of(self, value: Any, depth: int) -> str:
        alone = _Code(self._package)
        alone._value(value, depth)
        self._values += alone._values
        return alone.digest()

    def _array(self, value: Any, depth: int) -> None:
        try:
            array = np.asarray(value)
        except Exception:  # of another library: a tensor on a GPU, for example
            raise _Incomparable from None
        if array.nbytes > _MOST_BYTES:
            raise _Incomparable
        self._add("array", _name_of(type(value)), str(array.dtype), str(array.shape))
        if array.dtype.hasobject:
            self._all("objects", array.tolist() if array.ndim else [array.item()], depth)
        else:
            self._add(array.tobytes())

    def _builtin(self, value: Any, depth: int) -> None:
        self._add("builtin", _name_of(value))
        bound = getattr(value, "__self__", None)
        if bound is not None and not isinstance(bound, (types.ModuleType, type)):
            self._value(bound, depth)

    def _function(self, function: types.FunctionType, depth: int) -> None:
        if not _package_of(function):
            self._add("name", _name_of(function))
            return
        code = function.__code__
        self._all("function", (code, function.__defaults__, function.__kwdefaults__), depth)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                self.part(name, cell.cell_contents, depth)
            except ValueError:  # not assigned yet
                self._add(name)
        for name in sorted(_globals_read(code)):
            value = function.__globals__.get(name)
            if isinstance(value, types.FunctionType) and _package_of(value) != self._package:
                self._add(name, _name_of(value))
            elif name in function.__globals__:
                self.part(name, value, depth)

    def _code(self, code: types.CodeType, depth: int) -> None:
        self._add("code", code.co_code, getattr(code, "co_exceptiontable", b""))
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self._all("of", (code.co_names, arguments, code.co_freevars, counts), depth)
        self._all("constants", code.co_consts, depth)

    def _class(self, kind: type, depth: int) -> None:
        self._add("class", _name_of(kind))
        if _package_of(kind) != self._package:
            return
        for name, member in sorted(vars(kind).items()):
            if isinstance(member, _MEMBERS):
                self.part(name, member, depth)
        self._all("bases", kind.__bases__, depth)

    def _object(self, value: Any, depth: int) -> None:
        """An object of a class written in Python: its attributes, and its class."""
        kind = type(value)
        if not hasattr(value, "__dict__") or any(map(_has_hidden_state, kind.__mro__)):
            raise _Incomparable
        self._value(kind, depth)
        for name, attribute in vars(value).items():
            self.part(name, attribute, depth)


def _name_of(value: Any) -> str:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
    return f"{getattr(value, '__module__', '')}.{name}"


def _package_of(value: Any) -> str:
    """The first part of the module's name; "" for packages whose names stand for their code."""
    module = getattr(value, "__module__", None) or type(value).__module__
    package = str(module).partition(".")[0]
    return "" if package in _FOREIGN else package


def _has_hidden_state(kind: type) -> bool:
    """Whether the class is written in C, or has slots: its objects hold more than attributes."""
    return kind is not object and ("__module__" not in vars(kind) or kind.__basicsize__ > 32)


def _globals_read(code: types.CodeType) -> set[str]:
    names = {
        instruction.argval
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _globals_read(constant)
    return names
