"""What is compared of a function in Python: its code, and the values that it uses."""

import argparse
import dataclasses
import functools
import json
import logging
import threading
import types
import unittest
import warnings

import numpy as np
import recordpipe as rp
from function_states import NUMBERS, FunctionStates, Scaled, compiled, first, second, times
from recordpipe._plan import function_identity


class Looked:
    """A class whose attributes are looked at by its users only."""

    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)


class Slotted:
    __slots__ = ("__dict__", "by")

    def __init__(self, by):
        self.by = by

    def __call__(self, value):
        return value * self.by


def with_member(member):
    class Holder:
        table = member

        def __call__(self, value):
            return value, self.table

    return Holder()


@dataclasses.dataclass
class Options:
    size: int = 3
    resume: bool = False
    names: list = dataclasses.field(default_factory=list)


class AttributesOfItems(dict):
    __getattr__ = dict.__getitem__


class Unconnected:
    """A proxy that fails, whatever is asked of it."""

    def __getattr__(self, name):
        raise RuntimeError("not connected")

    __class__ = property(lambda self: self.connected)


class Failing(type):
    def __getattribute__(cls, name):
        raise RuntimeError(name)


class OfFailing(metaclass=Failing):
    def __call__(self, value):
        return value


class Large:
    """An object that is an array only when it is asked for it, like those of h5py and dask."""

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("computed")


class Values(FunctionStates, unittest.TestCase):
    def changed(self):
        """Pairs of functions that differ."""
        yield lambda x: x + 1, lambda x: x + 2
        yield lambda x: x + 1, lambda x: x - 1
        yield lambda x: x.real, lambda x: x.imag
        yield lambda x, y=1: x, lambda x, y=2: x
        yield lambda x, *, y=1: x, lambda x, *, y=2: x
        yield lambda x: [y + 1 for y in [x]], lambda x: [y + 2 for y in [x]]
        yield (
            compiled("def function(x): return x in {'a', 'b'}"),
            compiled("def function(x): return x in {'a', 'c'}"),
        )
        for one, other in (
            (3, 4),
            (0.0, -0.0),
            (1, True),
            ("a", b"a"),
            ([1, [2]], [1, 2]),
            ({"a": 1}, {"a": 2}),
            ({"a", "b"}, {"a", "c"}),
            (np.arange(3), np.arange(4)),
            (np.float32(1), np.float64(1)),
            (np.array([1, "a"], dtype=object), np.array([1, "b"], dtype=object)),
            (Scaled(2), Scaled(3)),
            (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 1])),
            (AttributesOfItems(a=1), AttributesOfItems(a=2)),
            (rp.FixedLenFeature([], "int64"), rp.FixedLenFeature([], "float32")),
            ({"a": rp.VarLenFeature("int64")}, {"a": rp.VarLenFeature("bytes")}),
            ({(1, "a")}, {(1, "b")}),
            (first, second),
            (rp.from_list([1]), rp.from_list([2])),
        ):
            yield times(one), times(other)
        yield Scaled(2), Scaled(3)
        yield Slotted(2), Slotted(3)
        yield with_member(np.zeros(3)), with_member(np.ones(3))
        yield with_member(None), with_member(np.float32)
        yield Scaled(2).scale, Scaled(3).scale
        yield functools.partial(max, 1), functools.partial(max, 2)
        yield functools.partial(times(2)), functools.partial(times(3))
        yield functools.cache(times(2)), functools.cache(times(3))
        yield len, max
        globals_ = "def helper(x): return x{0}\ndef function(x): return helper(x)"
        yield compiled(globals_.format("+1")), compiled(globals_.format("+2"))
        constant = "SIZE = {0}\ndef function(x): return x % SIZE"
        yield compiled(constant.format(3)), compiled(constant.format(4))

    def test_what_is_compared(self):
        for number, (one, other) in enumerate(self.changed()):
            with self.subTest(number):
                state = self.state_of(NUMBERS.map(one))
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    self.restored(state, NUMBERS.map(one))
                with self.assertRaisesRegex(rp.InvalidArgumentError, "code"):
                    self.restored(state, NUMBERS.map(other))

    def test_what_makes_no_difference(self):
        def at(lines):
            source = "\n" * lines + "def function(x):\n    a = x + 1\n    return a in {'b', 'c'}"
            return compiled(source, step=lines)

        local = compiled("def function(x):\n    z = x + 1\n    return z in {'c', 'b'}")
        step = "step = {0}\ndef function(x): return x.step"
        for one, other in (
            (at(0), at(9)),
            (at(0), local),
            (times(np.arange(3)), times(np.arange(3))),
            (Scaled([1, {"a": (2,)}]), Scaled([1, {"a": (2,)}])),
            (compiled(step.format(1)), compiled(step.format(2))),  # an attribute, no variable
        ):
            self.restored(self.state_of(NUMBERS.map(one)), NUMBERS.map(other))

    def test_of_objects_the_attributes_that_are_read_are_compared(self):
        for kind in (argparse.Namespace, Looked, Options):

            def make(kind=kind, **values):
                values = kind(**values)
                return NUMBERS.map(lambda x: x * values.size)

            state = self.state_of(make(size=3, resume=False))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.restored(state, make(size=3, resume=True))
            with self.assertRaisesRegex(rp.InvalidArgumentError, "code"):
                self.restored(state, make(size=4, resume=False))

        def named(kind=Looked, **values):
            values = kind(**values)
            return NUMBERS.map(lambda x: x * getattr(values, "size", 1))

        with self.assertRaisesRegex(rp.InvalidArgumentError, "code"):
            self.restored(self.state_of(named(size=3)), named(size=4))

    def test_attributes_that_are_read_out_of_sight_are_named(self):
        options = Looked(size=3)
        for function in (
            lambda x: (x, vars(options), options.size),
            lambda x: (x, options.__dict__, options.size),
            lambda x: (x, json.dumps(options, default=str)),
        ):
            identity = function_identity.identity_of(function)
            self.assertEqual(identity[2], ["options (Looked)"])

    def test_the_code_of_a_class_with_a_foreign_base_is_compared(self):
        def make(step):
            class Counted(threading.Thread):
                def __call__(self, value):
                    return value + step

            return function_identity.identity_of(Counted())

        self.assertNotEqual(make(1)[1], make(2)[1])
        self.assertEqual(make(1), make(1))
        self.assertRegex(make(1)[2][0], r"^the function \(.*Counted\)$")

    def test_a_logger_that_was_used_is_the_same(self):
        logger = logging.getLogger("recordpipe.functions_test")
        logger.addHandler(logging.NullHandler())
        logger.propagate = False

        def logged(value):
            logger.debug("%s", value)
            return value

        state = self.state_of(NUMBERS.map(logged))
        logger.info("resuming")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.restored(state, NUMBERS.map(logged))

    def test_any_object_may_be_used(self):
        deep = shared = []
        for _ in range(1000):
            deep = [deep]
        for _ in range(100):
            shared = (shared, shared)
        nodes = [Looked() for _ in range(9)]
        for node in nodes:
            node.neighbours = set(nodes)
        values = (
            (AttributesOfItems(size=3), False),
            (Unconnected(), False),  # it has no attributes
            (OfFailing(), True),
            (Large(), False),
            (deep, True),
            (shared, True),
            (nodes[0], True),
            (10**6000, False),
            (slice(Unconnected()), False),
            (np.lib.stride_tricks.as_strided(np.zeros(1), (2**40,), (0,)), True),
            (types.new_class("Meta", (type,)), False),
            (threading.local(), True),
            ((x for x in "ab"), True),
        )
        NUMBERS.map(OfFailing())
        other = nodes[0]
        for number, (value, is_noted) in enumerate(values):
            with self.subTest(number):
                code = function_identity.identity_of(lambda x, value=value: value)
                self.assertEqual(bool(code[2]), is_noted, code)
                one = NUMBERS.map(lambda x, value=value: (value, x, other.neighbours))
                two = NUMBERS.map(lambda x, value=value: (value, x, other))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self.restored(self.state_of(one), one)
                with self.assertRaisesRegex(rp.InvalidArgumentError, "code"):
                    self.restored(self.state_of(one), two)


if __name__ == "__main__":
    unittest.main()
