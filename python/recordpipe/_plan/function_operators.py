"""Operators of a Dataset that call functions in Python."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY
from typing import Any, Self

from recordpipe import _native as native
from recordpipe._plan.function_identity import identity_of
from recordpipe._plan.plan import Count, Function, Integer, Operator, Plan
from recordpipe._plan.source_plans import local_records
from recordpipe.errors import MissingFileError

__all__ = ["Filter", "FunctionOperators", "Map"]


class FunctionOperator(Operator):
    """Its fields are what the native method takes, which has an identity instead of the name."""

    needs_rows = True
    _: KW_ONLY
    name: str

    def lower(self, input: native.Dataset) -> native.Dataset:
        name, function, *others = vars(self).values()
        identified = native.Function(function, *identity_of(function, name))
        made: native.Dataset = getattr(input, self.native_name)(identified, *others)
        return made


class Map(FunctionOperator):
    function: Function


class MapWithRandom(FunctionOperator):
    draws = True
    function: Function
    seed: Count


class Filter(FunctionOperator):
    predicate: Function


class Expansion(FunctionOperator):
    """Of elements to Datasets. A file that tfrecords() doesn't find is one that can't be opened:
    ignore_errors() skips what a file does, and not what a function raises."""

    function: Function

    def lower(self, input: native.Dataset) -> native.Dataset:
        function = self.function

        @functools.wraps(function)
        def expand(element: Any) -> Any:
            try:
                return function(element)
            except MissingFileError as error:
                return Plan._of(local_records([str(error.path)]))

        name, _, *others = vars(self).values()
        identified = native.Function(expand, *identity_of(function, name))
        made: native.Dataset = getattr(input, self.native_name)(identified, *others)
        return made


class FlatMap(Expansion):
    pass


class Interleave(Expansion):
    cycle_length: Count
    block_length: Count


class Scan(FunctionOperator):
    initial_state: Any
    function: Function

    def lower(self, input: native.Dataset) -> native.Dataset:
        state = self.initial_state
        identity = identity_of(self.function, self.name, initial_state=state)
        return input.scan(state, native.Function(self.function, *identity))


class WithOrigin(Operator):
    needs_rows = True


class Enumerate(Operator):
    needs_rows = True
    start: Integer


class FunctionOperators(Plan):
    """The operators of :class:`Dataset` that call functions in Python."""

    __slots__ = ()

    def map(self, function: Callable[[Any], Any], *, name: str = "") -> Self:
        """Applies ``function(element)`` to each element; results are in input order.

        Keeps random access.

        Elements are computed in chunks, of 64 unless :meth:`with_options` sets ``chunk_size``: the
        first result appears when its chunk is computed. Use a small one for slow functions.

        A function that refers to its own Dataset is never freed, nor what it refers to: plans
        share their functions, which the garbage collector can't count. Pass such a function what
        it needs instead. This holds for all functions in Python.

        A state is refused if the function has changed since: its name, or its code
        (:meth:`Iterator.load_state_dict`).

        Args:
            name: becomes part of the plan: a state that was saved with another name is refused.
                Give a function whose code can't be compared a new name when you change it.
        """
        return self._then(Map(function, name=name))

    def map_with_random(self, function: Callable[..., Any], seed: int, *, name: str = "") -> Self:
        """Like :meth:`map`, with ``function(element, rng)``.

        ``rng`` is a ``numpy.random.Generator`` that draws the element's own random numbers: they
        depend on the seed, the epoch and the element's place in its source only.
        """
        return self._then(MapWithRandom(function, seed, name=name))

    def random_map(self, function: Callable[..., Any], seed: int, *, name: str = "") -> Self:
        """The old name of :meth:`map_with_random`, for one release."""
        return self.map_with_random(function, seed, name=name)

    def filter(self, predicate: Callable[[Any], Any], *, name: str = "") -> Self:
        """Keeps the elements for which ``predicate(element)`` is true."""
        return self._then(Filter(predicate, name=name))

    def flat_map(self, function: Callable[[Any], Iterable[Any]], *, name: str = "") -> Self:
        """Concatenates the elements of the iterables that ``function(element)`` returns.

        A Dataset that the function returns is read element by element, as by :meth:`interleave`
        with ``cycle_length=1``, but in its own epoch: a ``shuffle()`` in it has the same order for
        each element and in each epoch, unless the function calls ``epoch()``, or shuffles with
        other seeds. Other iterables are collected first. An
        exception comes after the elements before it. What would have followed is lost, so that the
        exception is one of every worker of :meth:`shard`, and of a :meth:`skip` beyond it.
        """
        return self._then(FlatMap(function, name=name))

    def interleave(
        self,
        function: Callable[[Any], Self],
        cycle_length: int = 16,
        block_length: int = 1,
        *,
        name: str = "",
    ) -> Self:
        """Takes ``block_length`` elements in turn from the Datasets that ``function`` returns.

        ``cycle_length`` (1 to 65,536) of them are open at a time. For files, the parameters of
        :func:`tfrecords` do the same without a function: ``paths.interleave(recordpipe.tfrecords)``
        is for paths in another order in each epoch. :meth:`parse` may follow. A ``shuffle()`` in
        these Datasets has another order in each of them, and in each epoch: it depends on the
        number of the element that the Dataset was made of, too.
        """
        return self._then(Interleave(function, cycle_length, block_length, name=name))

    def scan(
        self, initial_state: Any, function: Callable[[Any, Any], tuple[Any, Any]], *, name: str = ""
    ) -> Self:
        """Calls ``function(state, element) -> (state, output)`` in order; yields the outputs.

        Each pass begins with a deep copy of ``initial_state``. A restore computes the state again
        from the first element.
        """
        return self._then(Scan(initial_state, function, name=name))

    def with_origin(self) -> Self:
        """Yields tuples of the element, the path of its file, and its record's number in the file.

        For elements of one record: behind :func:`tfrecords`, :meth:`parse` and operators that order
        or choose elements, also functions in Python; before :meth:`batch`. Numbers are counted from
        0; of :func:`tfds` from the first record of the split in the file. Elements that come from
        no record raise :class:`UnsupportedError`.
        """
        return self._then(WithOrigin())

    def enumerate(self, start: int = 0) -> Self:
        """Yields tuples of a number, counted from ``start``, and the element.

        Keeps random access.
        """
        return self._then(Enumerate(start))
