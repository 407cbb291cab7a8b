"""Functions in Python as parts of a plan: states of other names or other code are refused."""

import collections.abc
import importlib
import inspect
import pathlib
import subprocess
import sys
import tempfile
import threading
import typing
import unittest
import unittest.mock
import warnings

import numpy as np
import recordpipe as rp
import rlds
from function_states import NUMBERS, FunctionStates, Scaled, compiled, first, second, times

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


class Operators(FunctionStates, rlds.StepsTest):
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
        self.assertEqual(caught[0].filename, inspect.getfile(FunctionStates))

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


class Modules(FunctionStates, unittest.TestCase):
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


if __name__ == "__main__":
    unittest.main()
