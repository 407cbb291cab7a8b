"""The code of a function in a plan, as a fingerprint: with the values that it uses.

The code is the bytecode with its constants, the defaults of parameters, the variables of enclosing
functions, and the global variables that it reads. Of the latter two, numbers, text, bytes, NumPy's
arrays, and lists, tuples, sets and dicts of these are compared by value; functions and classes of
the same package, and of the user's other modules (those that are not installed), by what they
consist of; loggers, and what other packages define, by name. Of these modules, of objects of these
classes, and of argparse.Namespace, those attributes are compared that the code reads, by their
names. Anything else, and more than 16 MiB of values, is named as not compared.

A function may use anything, so that nothing here calls the code of a value's class, nor copies or
computes what is large: attributes are taken from where objects keep them.
"""

from __future__ import annotations

import argparse
import collections
import enum
import functools
import logging
import operator
import pathlib
import re
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from recordpipe._plan.function_packages import (
    BUILTINS,
    FOREIGN,
    called_by,
    is_of_user,
    package_of,
)
from recordpipe._plan.stored_attributes import (
    DESCRIPTORS,
    IS_HEAP_TYPE,
    has_name,
    is_generated,
    names_read,
    size_of_attributes,
    slots_of,
    stored,
)
from recordpipe._plan.value_digest import (
    ATOMS,
    MAX_DEPTH,
    MAX_VALUES,
    Incomparable,
    ValueDigest,
    is_of_numpy,
)

__all__ = ["FunctionCode"]

_READERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
_DICTS = (
    dict,
    types.MappingProxyType,
    collections.Counter,
    collections.OrderedDict,
    collections.defaultdict,
)
_PATHS = (
    pathlib.PurePosixPath,
    pathlib.PureWindowsPath,
    pathlib.PosixPath,
    pathlib.WindowsPath,
)
# Members of a class that are code.
_METHODS = (types.FunctionType, staticmethod, classmethod, property, functools.cached_property)
# What reads attributes whose names the code doesn't say.
_ALL_ATTRIBUTES = frozenset({"vars", "asdict", "astuple", "__dict__"})
# Objects of these are nothing but attributes.
_NAMESPACES = (argparse.Namespace, types.SimpleNamespace)
# Classes of these add no state to the objects of classes that are derived from them.
_ABSTRACT = ("abc", "typing", "collections.abc")


class _Holder:
    """An object, class or module, whose attributes are added when code that reads them is found."""

    def __init__(self, value: Any, attributes: Mapping[str, Any], names: list[str], depth: int):
        self.value = value
        self.is_module = issubclass(type(value), types.ModuleType)
        self.attributes = attributes
        self.names = names  # of the variables around it
        self.depth = depth
        self.added: set[str] = set()


class FunctionCode(ValueDigest):
    """A fingerprint that grows with each part that is added."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.not_compared: dict[str, None] = {}
        try:
            self._package = package_of(called_by(function))
        except Exception:  # of the class of its class
            self._package = ""
        self._names: list[str] = []  # of the variable that is added, and of those around it
        # By id(): a number, and the value, so that its id is not used again.
        self._known: dict[int, tuple[int, Any]] = {}
        self._reads: set[str] = set()  # the names of attributes that the code reads
        self._holders: list[_Holder] = []
        self.part("the function", function)

    def digest(self) -> str:
        before = (0, 0)
        while (now := (len(self._reads), len(self._holders))) != before:
            before = now
            for holder in self._holders:  # grows meanwhile
                self._names = [*holder.names]
                for name in sorted((holder.attributes.keys() & self._reads) - holder.added):
                    holder.added.add(name)
                    add = self._variable if holder.is_module else self.part
                    add(name, holder.attributes[name], holder.depth)
        for holder in self._holders:
            if issubclass(type(holder.value), type) or not holder.attributes:
                continue
            reads_all = not holder.is_module and self._reads & _ALL_ATTRIBUTES
            if not holder.added or reads_all:  # or read by code out of sight
                self._note(holder.names, holder.value)
        return self._hash.hexdigest()

    def part(self, name: str, value: Any, depth: int = 0) -> None:
        """Adds a value; what can't be compared is noted under this name."""
        self._names.append(name)
        before = self._hash.copy(), len(self._known), len(self._holders)
        try:
            self._add(name)
            self._value(value, depth)
        except Exception:  # Incomparable, and anything that a value raises
            self._hash, known, holders = before
            while len(self._known) > known:
                self._known.popitem()
            del self._holders[holders:]
            self._hash.update(b"incomparable")
            self._note(self._names, value)
        finally:
            self._names.pop()

    def _variable(self, name: str, value: Any, depth: int) -> None:
        if type(value) is types.FunctionType and not self._is_own(value):
            self._add(name, self._name_of(value))
        else:
            self.part(name, value, depth)

    def _parts(self, values: dict[str, Any], depth: int) -> None:
        self._add(str(len(values)))
        for name, value in values.items():
            self.part(name, value, depth)

    def _note(self, names: list[str], value: Any) -> None:
        kind = type.__getattribute__(type(value), "__qualname__")
        self.not_compared[f"{'.'.join(names[1:]) or names[0]} ({kind})"] = None

    def _value(self, value: Any, depth: int) -> None:
        self._values += 1
        if depth > MAX_DEPTH or self._values > MAX_VALUES:
            raise Incomparable
        depth += 1
        kind = type(value)
        if kind in ATOMS or kind is bytearray:
            self._atom(kind, value)
        elif kind is tuple:
            self._sequence(kind, value, depth)
        elif kind in BUILTINS:
            self._builtin(value, depth)
        elif id(value) in self._known:
            self._add("again", str(self._known[id(value)][0]))
        else:
            self._known[id(value)] = len(self._known), value
            if not self._plain_value(kind, value, depth):
                self._composed(kind, value, depth)

    def _plain_value(self, kind: type, value: Any, depth: int) -> bool:
        """Adds a value that refers to no others of the user's; returns whether it is one."""
        if kind in (range, slice):
            self._all(kind.__name__, (value.start, value.stop, value.step), depth)
        elif issubclass(kind, np.generic) and is_of_numpy(kind):
            self._array(np.asarray(value), depth)
            self._add("scalar")
        elif issubclass(kind, np.dtype):
            self._add("dtype", str(value))
        elif issubclass(kind, types.ModuleType):
            self._module(value, depth)
        elif issubclass(kind, enum.Enum):
            self._add("enum", str(stored(value).get("_name_")))
            self._value(kind, depth)
            self.part("value", stored(value).get("_value_"), depth)
        elif kind in _PATHS:
            self._add("path", str(value))
        elif kind is re.Pattern:
            self._all("pattern", (value.pattern, value.flags), depth)
        elif issubclass(kind, logging.Logger):
            self._add("logger", str(stored(value).get("name")))
        else:
            return False
        return True

    def _composed(self, kind: type, value: Any, depth: int) -> None:
        dataset = getattr(sys.modules.get("recordpipe.dataset"), "Dataset", None)
        if kind is list:
            self._sequence(kind, value, depth)
        elif issubclass(kind, tuple) and "_fields" in vars(kind):
            self._value(kind, depth)
            self._sequence(tuple, value, depth)
        elif kind in _DICTS:
            self._items(len(value), value.items(), depth)
        elif kind in (set, frozenset):
            self._count(0, len(value))
            self._add(kind.__name__, *sorted(self._key_of(item, depth) for item in value))
        elif kind is types.CodeType:
            self._code(value, depth)
        elif kind is types.FunctionType:
            self._function(value, depth)
        elif kind is types.MethodType:
            self._value(value.__func__, depth)
            self.part("self", value.__self__, depth)
        elif kind is functools.partial:
            self._value(value.func, depth)
            self._parts({f"argument {i}": v for i, v in enumerate(value.args)}, depth)
            self._parts(value.keywords, depth)
        elif kind in (staticmethod, classmethod):
            self._value(value.__func__, depth)
        elif kind is property:
            self._all("property", (value.fget, value.fset), depth)
        elif kind is functools.cached_property:
            self._value(value.func, depth)
        elif kind in _READERS:
            arguments = value.__reduce__()[1]
            self._read(arguments)
            self._all(kind.__name__, arguments, depth)
        elif issubclass(kind, type):
            self._class(value, depth)
        elif dataset and issubclass(kind, dataset):
            self._add("Dataset", str(value._native.plan_hash()))
        elif issubclass(kind, np.ndarray) and is_of_numpy(kind):
            self._array(value, depth)
        elif kind is getattr(sys.modules.get("torch"), "Tensor", None):
            self._tensor(value, depth)
        elif kind.__module__.startswith("recordpipe.") and hasattr(kind, "__dataclass_fields__"):
            self._add("options", self._name_of(kind))
            fields = stored(value)
            self._parts({name: fields[name] for name in kind.__dataclass_fields__}, depth)
        elif self._is_own(kind) or kind in _NAMESPACES:
            self._object(kind, value, depth)
        elif "__wrapped__" in stored(value):  # a function that was compiled or cached
            self._all("wrapped", (stored(value)["__wrapped__"],), depth)
        elif callable(value) and has_name(value):  # a function written in another language
            self._add("name", self._name_of(value))
        else:
            raise Incomparable

    def _sequence(self, kind: Any, value: Any, depth: int) -> None:
        """`kind`: list or tuple; the class of the value may be derived from it."""
        self._count(0, kind.__len__(value))
        self._all(kind.__name__, kind.__iter__(value), depth)

    def _items(self, size: int, items: Iterable[tuple[Any, Any]], depth: int) -> None:
        self._count(0, 2 * size)
        self._all("dict", (part for item in items for part in item), depth)

    def _builtin(self, value: Any, depth: int) -> None:
        self._add("builtin", self._name_of(value))
        bound = getattr(value, "__self__", None)
        if bound is not None and not issubclass(type(bound), (types.ModuleType, type)):
            self._value(bound, depth)

    def _function(self, function: types.FunctionType, depth: int) -> None:
        if not package_of(function):
            self._add("name", self._name_of(function))
            return
        code = function.__code__
        self._value(code, depth)
        defaults = function.__defaults__ or ()
        positional = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
        self._parts(dict(zip(positional, defaults, strict=True)), depth)
        self._parts(function.__kwdefaults__ or {}, depth)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # not assigned yet
                self._add(name)
            else:
                self.part(name, value, depth)
        for name in sorted(names_read(code, "LOAD_GLOBAL", "LOAD_NAME")):
            if name in function.__globals__:
                self._variable(name, function.__globals__[name], depth)

    def _code(self, code: types.CodeType, depth: int) -> None:
        self._add("code", code.co_code, getattr(code, "co_exceptiontable", b""))
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self._all("of", (code.co_names, arguments, code.co_freevars, counts), depth)
        self._all("constants", code.co_consts, depth)
        self._reads |= names_read(code, "LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")
        self._reads |= _ALL_ATTRIBUTES.intersection(code.co_names)
        self._read(code.co_consts)

    def _read(self, constants: Iterable[Any]) -> None:
        """Texts may be names of attributes: of getattr(), attrgetter() and match."""
        for value in constants:
            if type(value) is str:
                self._reads.update(value.split("."))
            elif type(value) is tuple:
                self._read(value)

    def _is_own(self, value: Any) -> bool:
        """Whether a function or class is compared by its code."""
        if issubclass(type(value), type) and not value.__flags__ & IS_HEAP_TYPE:
            return False
        package = package_of(value)
        return package != "" and (package == self._package or is_of_user(package))

    def _name_of(self, value: Any) -> str:
        """The name, and the module if it isn't of the own package: scripts have several names."""
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
        if self._package and package_of(value) == self._package:
            return str(name)
        return f"{getattr(value, '__module__', '')}.{name}"

    def _module(self, module: types.ModuleType, depth: int) -> None:
        values = stored(module)
        name = str(values.get("__name__"))
        self._add("module", name)
        package = name.partition(".")[0]
        if package == self._package or (package not in FOREIGN and is_of_user(package)):
            values = {name: value for name, value in values.items() if not name.startswith("__")}
            self._holders.append(_Holder(module, values, [*self._names], depth))

    def _class(self, kind: type, depth: int) -> None:
        self._add("class", self._name_of(kind))
        if not self._is_own(kind):
            return
        members = {**vars(kind)}
        if issubclass(kind, enum.Enum):
            members.update(kind.__members__)
        values = {}
        for name, member in sorted(members.items()):
            special = name.startswith("__")
            if type(member) in DESCRIPTORS or is_generated(kind, member):
                continue
            if name == "__annotate_func__":  # from Python 3.14 on: makes the annotations
                continue
            if type(member) in _METHODS or (special and callable(member)):
                self.part(name, member, depth)
            elif not special:
                values[name] = member
        self._holders.append(_Holder(kind, values, [*self._names], depth))
        self._all("bases", kind.__bases__, depth)

    def _object(self, kind: type, value: Any, depth: int) -> None:
        """An object of a class written in Python: the class, and the attributes that are read."""
        self._value(kind, depth)
        plain = kind in _NAMESPACES or all(map(self._adds_attributes_only, kind.__mro__))
        if not plain or kind.__basicsize__ > size_of_attributes(kind):  # or of a class in C
            self._note(self._names, value)
            return
        if issubclass(kind, dict):
            self._items(dict.__len__(value), dict.items(value), depth)
        elif issubclass(kind, (list, tuple)):
            self._sequence(list if issubclass(kind, list) else tuple, value, depth)
        self._count(0, len(stored(value)))
        attributes = {**slots_of(value), **stored(value)}
        for name in [*attributes]:
            if any(type(vars(c).get(name)) is functools.cached_property for c in kind.__mro__):
                del attributes[name]  # there once it was needed
        self._holders.append(_Holder(value, attributes, [*self._names], depth))

    def _adds_attributes_only(self, kind: type) -> bool:
        own = self._is_own(kind) or kind in (object, dict, list, tuple)
        return own or kind.__module__ in _ABSTRACT
