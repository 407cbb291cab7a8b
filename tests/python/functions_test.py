"""Functions in Python as parts of a plan: states of other names or other code are refused."""

import argparse
import collections.abc
import contextlib
import dataclasses
import functools
import importlib
import inspect
import itertools
import json
import logging
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import types
import typing
import unittest
import unittest.mock
import warnings

import numpy as np
import recordpipe as rp
import rlds
from recordpipe._plan import function_identity

NUMBERS = rp.from_list(range(20))

# A call of each operator that takes a function. `f` is a function of a number, of which an operator
# makes what it needs.
OPERATORS = {
    "Dataset.map": lambda f, **name: NUMBERS.map(f, **name),
    "Dataset.map_with_random": lambda f, **name: NUMBERS.map_with_random(f, 7, **name),
    "Dataset.random_map": lambda f, **name: NUMBERS.random_map(f, 7, **name),
    "Dataset.filter": lambda f, **name: NUMBERS.filter(f, **name),
    "Dataset.flat_map": lambda f, **name: NUMBERS.flat_map(f, **name),
    "Dataset.interleave": lambda f, **name: NUMBERS.interleave(f, 2, **name),
    "Dataset.scan": lambda f, **name: NUMBERS.scan(0, f, **name),
    "Dataset.bucket_by_sequence_length": lambda f, **name: NUMBERS.bucket_by_sequence_length(
        f, [3], [2, 2], **name
    ),
    "from_generator": lambda f, **name: rp.from_generator(f, **name),
}


def takes_a_function(function):
    """Whether a parameter's type is Callable, or a Union with it."""

    def is_function(hint):
        origin = typing.get_origin(hint)
        return origin is collections.abc.Callable or any(map(is_function, typing.get_args(hint)))

    module = inspect.getmodule(function)
    hints = {}
    for name, parameter in inspect.signature(function).parameters.items():
        text = parameter.annotation
        if isinstance(text, str) and "Callable" in text:
            hints[name] = eval(text, {**vars(typing), **vars(module), "Dataset": rp.Dataset})
    return any(map(is_function, hints.values()))


def returns_dataset(function):
    return inspect.signature(function).return_annotation in ("Dataset", "Self")


def found_operators():
    for name, method in inspect.getmembers(rp.Dataset, inspect.isfunction):
        if not name.startswith("_") and returns_dataset(method) and takes_a_function(method):
            yield f"Dataset.{name}"
    for name in rp.__all__:
        function = getattr(rp, name)
        if (
            inspect.isfunction(function)
            and returns_dataset(function)
            and takes_a_function(function)
        ):
            yield name


def first(value):
    return value


def second(value):
    return value or None


def fails(value):
    raise ValueError(value)


SPAWNING = """
import multiprocessing
import recordpipe as rp

class Scale:
    def __init__(self, by):
        self.by = by
    def __call__(self, value):
        return value * self.by

def numbers():
    return iter(rp.from_list([1, 2, 3]).map(Scale(2)))

def resume(state):
    iterator = numbers()
    iterator.load_state_dict(state)
    print([*iterator], flush=True)

if __name__ == "__main__":
    iterator = numbers()
    next(iterator)
    process = multiprocessing.get_context("spawn").Process(
        target=resume, args=(iterator.state_dict(),)
    )
    process.start()
    process.join()
"""


class Scaled:
    def __init__(self, by, lock=None):
        self.by = by
        if lock:
            self.lock = lock

    def __call__(self, value):
        with getattr(self, "lock", contextlib.nullcontext()):
            return value * self.by

    def scale(self, value):
        return value * self.by


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


def times(by):
    return lambda value: value * by


def compiled(source, name="function", **variables):
    exec(source, variables)
    return variables[name]


class Functions(rlds.StepsTest):
    def state_of(self, dataset):
        return json.loads(json.dumps(iter(dataset).state_dict()))

    def restored(self, state, dataset, **options):
        iterator = iter(dataset)
        iterator.load_state_dict(state, **options)
        return iterator

    def test_every_operator_compares_name_and_code(self):
        operators = {
            **OPERATORS,
            "Dataset.map_episode": lambda f, **name: rp.tfds(self.data).map_episode(f, **name),
        }
        self.assertEqual({*operators}, {*found_operators()})
        for name, make in operators.items():
            with self.subTest(name):
                state = self.state_of(make(first, name="a"))
                self.restored(state, make(first, name="a"))
                operator = name.removeprefix("Dataset.").removesuffix("_episode")
                operator = operator.replace("random_map", "map_with_random")
                with self.assertRaisesRegex(rp.InvalidArgumentError, f"plan.*{operator}.*name=a"):
                    self.restored(state, make(first, name="b"))
                with self.assertRaisesRegex(rp.InvalidArgumentError, f"code.*{operator}"):
                    self.restored(state, make(second, name="a"))
                self.restored(state, make(second, name="a"), compare_code=False)
                with self.assertRaisesRegex(rp.InvalidArgumentError, "plan"):
                    self.restored(state, make(second, name="b"), compare_code=False)
                self.assertNotIn("code=", make(first).explain())

    def test_a_state_of_another_filter_yields_nothing_wrong(self):
        odd = rp.from_list(range(100)).filter(lambda x: x % 2, name="odd")
        iterator = iter(odd)
        self.assertEqual([next(iterator) for _ in range(3)], [1, 3, 5])
        even = iter(rp.from_list(range(100)).filter(lambda x: x % 2 == 0, name="even"))
        with self.assertRaisesRegex(rp.InvalidArgumentError, "filter"):
            even.load_state_dict(iterator.state_dict())
        self.assertEqual(next(even), 0)

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

    def module(self, source, folder="user"):
        """A module of this source, imported anew."""
        place = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / folder
        place.mkdir()
        (place / "helpers_of_test.py").write_text(source)
        with unittest.mock.patch.object(sys, "path", [str(place), *sys.path]):
            importlib.invalidate_caches()
            sys.modules.pop("helpers_of_test", None)
            self.addCleanup(sys.modules.pop, "helpers_of_test", None)
            with unittest.mock.patch.object(sys, "dont_write_bytecode", True):
                return importlib.import_module("helpers_of_test")

    def test_modules_of_the_user_are_compared(self):
        source = (
            "import threading\nimport numpy\nLOCK = threading.Lock()\nunused = {0}\n"
            "class table: SCALE = {0}\n"
            "SCALE = {0}\nclip = numpy.clip\n"
            "def inner(x): return x * {0}\n"
            "def f(x): return clip(inner(x), 0, 9)\n"
            "class Scale:\n    def __call__(self, x): return x * {0}\n"
        )
        uses = (
            "import helpers_of_test\ndef function(x): return helpers_of_test.f(x)",
            "import helpers_of_test as h\ndef function(x): return x * h.SCALE",
            "import helpers_of_test as h\ndef function(x): return x * h.table.SCALE",
            "from helpers_of_test import f\ndef function(x): return f(x)",
            "from helpers_of_test import Scale\ndef function(x): return Scale()(x)",
            "from helpers_of_test import Scale\nfunction = Scale()",
            "from helpers_of_test import Scale\nscale = Scale()\ndef function(x): return scale(x)",
            "from helpers_of_test import f as function",
        )
        for use in uses:
            with self.subTest(use):
                self.module(source.format(2))
                state = self.state_of(NUMBERS.map(compiled(use)))
                self.module(source.format(2))
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    self.restored(state, NUMBERS.map(compiled(use)))
                self.module(source.format(3))
                with self.assertRaisesRegex(rp.InvalidArgumentError, "code"):
                    self.restored(state, NUMBERS.map(compiled(use)))

    def test_what_a_module_of_the_user_hides_is_named(self):
        use = "import helpers_of_test as h\ndef function(x): return {}"
        source = "import threading\nLOCK = threading.Lock()\nf = abs\n"
        for code, name in (("h.LOCK and x", "LOCK"), ("x if h else x", "h")):
            self.module(source)
            made = NUMBERS.map(compiled(use.format(code)))
            state = self.state_of(made)
            with self.assertWarnsRegex(UserWarning, rf"{name} \("):
                self.restored(state, made)

    def test_installed_modules_are_compared_by_name(self):
        for use in (
            "import helpers_of_test as h\ndef function(x): return h.f(x)",
            "from helpers_of_test import f\ndef function(x): return f(x)",
        ):
            self.module("def f(x): return x", "site-packages")
            state = self.state_of(NUMBERS.map(compiled(use)))
            self.module("def f(x): return 2 * x", "site-packages")
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.restored(state, NUMBERS.map(compiled(use)))

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

    def test_the_script_in_a_spawned_process_is_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "script.py"
            script.write_text(SPAWNING)
            run = subprocess.run(
                [sys.executable, script], capture_output=True, text=True, timeout=60, check=False
            )
        self.assertEqual((run.stdout, run.stderr), ("[4, 6]\n", ""))

    def test_the_padding_is_compared(self):
        rows = NUMBERS.map(np.arange)
        for make in (
            lambda padding: rows.padded_batch(2, padding=padding),
            lambda padding: rows.bucket_by_sequence_length(len, [3], [2, 2], None, padding),
            lambda padding: rows.pack_sequences(20, padding_values=padding),
        ):
            with self.assertRaisesRegex(rp.InvalidArgumentError, "padding_values"):
                self.restored(self.state_of(make(-1)), make(-2))

    def test_the_initial_state_of_scan_is_compared(self):
        def make(state):
            return NUMBERS.scan(state, lambda s, x: (s, x))

        with self.assertRaisesRegex(rp.InvalidArgumentError, "scan"):
            self.restored(self.state_of(make([1])), make([2]))

    def test_what_cannot_be_compared_is_said_once(self):
        def make():
            return NUMBERS.map(Scaled(2, threading.Lock())).map(times(object()))

        state = self.state_of(make())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                self.restored(state, make())
        self.assertEqual(len(caught), 1)
        self.assertRegex(str(caught[0].message), r"map: lock \(lock\); map: by \(object\)")
        self.assertEqual(caught[0].filename, __file__)

    def test_the_code_of_another_python_is_not_compared(self):
        state = {**self.state_of(NUMBERS.map(first, name="a")), "python": "cpython-39"}
        with self.assertWarnsRegex(UserWarning, "'cpython-39'.*only their names"):
            self.restored(state, NUMBERS.map(second, name="a"))
        with self.assertRaisesRegex(rp.InvalidArgumentError, "name"):
            self.restored(state, NUMBERS.map(second, name="b"))

    def test_files_of_states(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "state"
            iter(NUMBERS.map(first)).save_state(path)
            with self.assertRaisesRegex(rp.InvalidArgumentError, "compare_code=False"):
                iter(NUMBERS.map(second)).load_state(path)
            iter(NUMBERS.map(second)).load_state(path, compare_code=False)


class Refused(unittest.TestCase):
    """An iterator keeps its place if a state is refused on the way to it."""

    def test_the_place_is_kept(self):
        for name, short in {
            "generator": lambda n: rp.from_generator(lambda: iter(range(n[0]))),
            "filter": lambda n: rp.from_list(range(10)).filter(lambda x: x < n[0]),
            "flat_map": lambda n: rp.from_list([0]).flat_map(lambda _: range(n[0])),
            "scan": lambda n: rp.from_generator(lambda: iter(range(n[0]))).scan(
                [], lambda s, x: (s, x)
            ),
        }.items():
            for after in (
                lambda ds: ds,
                lambda ds: ds.batch(1).unbatch(),
                lambda ds: ds.take(9),
                lambda ds: ds.shuffle(1),
                lambda ds: ds.prefetch(2),
                lambda ds: ds.repeat(2).take(9),
            ):
                with self.subTest(name):
                    size = [10]
                    dataset = after(short(size))
                    saved = iter(dataset)
                    for _ in range(8):
                        next(saved)
                    state = saved.state_dict()
                    size[0] = 5
                    iterator = iter(dataset.epoch(3))
                    self.assertEqual([next(iterator) for _ in range(3)], [0, 1, 2])
                    try:
                        iterator.load_state_dict(state, compare_code=False)
                    except rp.InvalidArgumentError:
                        self.assertEqual((iterator.position, iterator.epoch), (3, 3))
                        self.assertEqual(next(iterator), 3)
                        self.assertEqual(iterator.position, 4)

    def test_an_iterator_that_has_failed_fails_again(self):
        size = [10]
        dataset = rp.from_generator(lambda: iter(range(size[0])))
        saved = iter(dataset)
        for _ in range(8):
            next(saved)
        state = saved.state_dict()
        size[0] = 5
        iterator = iter(dataset.map(lambda x: fails(x) if x == 2 else x))
        self.assertEqual([next(iterator) for _ in range(2)], [0, 1])
        for _ in range(2):
            with self.assertRaises(ValueError):
                next(iterator)
            with self.assertRaises(rp.InvalidArgumentError):
                iterator.load_state_dict(state, compare_code=False)
            self.assertEqual(iterator.position, 2)

    def test_an_element_that_was_not_converted_is_kept(self):
        iterator = iter(rp.from_list(range(3)))
        allowed = []

        def convert(value):
            if not allowed:
                raise RuntimeError
            return value

        iterator._set_conversion(convert)
        with self.assertRaises(RuntimeError):
            next(iterator)
        with self.assertRaises(rp.InvalidArgumentError):
            iterator._restore(b"")
        allowed.append(True)
        self.assertEqual([*iterator], [0, 1, 2])


class UsedUpIterators(unittest.TestCase):
    def test_a_generator_object_is_not_used_twice(self):
        for made in (
            (x for x in range(5)),
            iter([0, 1, 2, 3, 4]),
            map(int, range(5)),
        ):
            dataset = rp.from_generator(lambda made=made: made)
            self.assertEqual([*dataset], [0, 1, 2, 3, 4])
            for _ in range(2):
                with self.assertRaisesRegex(rp.InvalidArgumentError, "from_generator.*used up"):
                    list(dataset)

    def test_in_flat_map(self):
        made = (x for x in range(5))
        iterator = iter(rp.from_list([1, 2]).flat_map(lambda _: made))
        self.assertEqual([next(iterator) for _ in range(5)], [0, 1, 2, 3, 4])
        with self.assertRaisesRegex(rp.InvalidArgumentError, "flat_map.*used up"):
            next(iterator)

    def test_iterators_that_end_by_python_code(self):
        def slow():
            try:
                yield from range(9)
            finally:
                time.sleep(0.0001)  # releases the GIL to the other threads

        numbers = rp.from_list(range(300))
        for make in (lambda _: map(max, slow(), [1, 2]), lambda _: itertools.islice(slow(), 2)):
            made = numbers.flat_map(make).with_options(threads=4, chunk_size=4)
            self.assertEqual(sum(1 for _ in made), 600)

    def test_what_starts_again_may_be_returned_again(self):
        class Restarted:
            def __iter__(self):
                self.rest = [2, 1]
                return self

            def __next__(self):
                if not self.rest:
                    raise StopIteration
                return self.rest.pop()

        with tempfile.TemporaryFile("w+") as file:
            file.write("1\n2\n")

            def rewound(_=0):
                file.seek(0)
                return file

            for dataset in (rp.from_generator(rewound), rp.from_list([0]).flat_map(rewound)):
                for _ in range(3):
                    self.assertEqual([*dataset], ["1\n", "2\n"])
        same, listed = Restarted(), [1, 2]
        for function in (lambda: same, lambda: listed, lambda: iter(listed)):
            dataset = rp.from_generator(function)
            for _ in range(3):
                self.assertEqual([*dataset], [1, 2])


if __name__ == "__main__":
    unittest.main()
