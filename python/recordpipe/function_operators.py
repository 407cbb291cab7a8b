"""Operators of a Dataset that call functions in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from recordpipe.function_identity import identity_of
from recordpipe.operators import Operators

if TYPE_CHECKING:
    from recordpipe.dataset import Dataset

__all__ = ["FunctionOperators"]


class FunctionOperators(Operators):
    """The operators of :class:`Dataset` that call functions in Python."""

    __slots__ = ()

    def map(self, function: Callable[[Any], Any], *, name: str = "") -> Dataset:
        """Applies ``function(element)`` to each element; results are in input order.

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
        return self._derive(
            "map",
            (function,),
            lambda: self._native.map(function, identity_of(function, name)),
            name=name,
        )

    def random_map(self, function: Callable[..., Any], seed: int, *, name: str = "") -> Dataset:
        """Like :meth:`map`, with ``function(element, rng)``.

        ``rng`` is a ``numpy.random.Generator`` that draws the element's own random numbers: they
        depend on the seed, the epoch and the element's place in its source only.
        """
        return self._derive(
            "random_map",
            (function, seed),
            lambda: self._native.random_map(function, seed, identity_of(function, name)),
            random=True,
            name=name,
        )

    def filter(self, predicate: Callable[[Any], Any], *, name: str = "") -> Dataset:
        """Keeps the elements for which ``predicate(element)`` is true."""
        return self._derive(
            "filter",
            (predicate,),
            lambda: self._native.filter(predicate, identity_of(predicate, name)),
            name=name,
        )

    def flat_map(self, function: Callable[[Any], Iterable[Any]], *, name: str = "") -> Dataset:
        """Concatenates the elements of the iterables that ``function(element)`` returns.

        A Dataset that the function returns is read element by element, as by :meth:`interleave`
        with ``cycle_length=1``, but in its own epoch; other iterables are collected first. An
        exception comes after the elements before it. What would have followed is lost, so that the
        exception is one of every worker of :meth:`shard`, and of a :meth:`skip` beyond it.
        """
        return self._derive(
            "flat_map",
            (function,),
            lambda: self._native.flat_map(function, identity_of(function, name)),
            name=name,
        )

    def interleave(
        self,
        function: Callable[[Any], Dataset],
        cycle_length: int = 16,
        block_length: int = 1,
        *,
        name: str = "",
    ) -> Dataset:
        """Takes ``block_length`` elements in turn from the Datasets that ``function`` returns.

        ``cycle_length`` (1 to 65,536) of them are open at a time. For files, the parameters of
        :func:`tfrecords` do the same without a function: ``paths.interleave(recordpipe.tfrecords)``
        is for paths in another order in each epoch. :meth:`parse` may follow.
        """
        return self._derive(
            "interleave",
            (function, cycle_length, block_length),
            lambda: self._native.interleave(
                function, cycle_length, block_length, identity_of(function, name)
            ),
            name=name,
        )

    def scan(
        self, initial_state: Any, function: Callable[[Any, Any], tuple[Any, Any]], *, name: str = ""
    ) -> Dataset:
        """Calls ``function(state, element) -> (state, output)`` in order; yields the outputs.

        Each pass begins with a deep copy of ``initial_state``. A restore computes the state again
        from the first element.
        """
        return self._derive(
            "scan",
            (initial_state, function),
            lambda: self._native.scan(
                initial_state, function, identity_of(function, name, initial_state=initial_state)
            ),
            name=name,
        )

    def with_origin(self) -> Dataset:
        """Yields tuples of the element, the path of its file, and its record's number in the file.

        For elements of one record: behind :func:`tfrecords`, :meth:`parse` and operators that order
        or choose elements, also functions in Python; before :meth:`batch`. Numbers are counted from
        0; of :func:`tfds` from the first record of the split in the file. Elements that come from
        no record raise :class:`UnsupportedError`.
        """
        return self._derive("with_origin", (), self._native.with_origin)

    def enumerate(self, start: int = 0) -> Dataset:
        """Yields tuples of a number, counted from ``start``, and the element."""
        return self._derive("enumerate", (start,), lambda: self._native.enumerate(start))
