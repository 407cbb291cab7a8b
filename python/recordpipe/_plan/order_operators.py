"""Operators of a Dataset that order and choose its elements."""

from __future__ import annotations

from dataclasses import field
from typing import Self

from recordpipe import _native as native
from recordpipe._plan.plan import (
    Count,
    Integer,
    Lowered,
    Operator,
    OrderOperator,
    Plan,
    Shard,
    checked_plan,
    merged,
)

__all__ = ["OrderOperators"]


class Shuffle(OrderOperator):
    draws = True
    buffer_size: Count
    seed: Count = field(kw_only=True)


class GlobalShuffle(OrderOperator):
    method = "shuffle"
    draws = True
    seed: Count = field(kw_only=True)


class Repeat(OrderOperator):
    count: Integer | None

    def lower(self, input: native.Dataset) -> native.Dataset:
        return input.repeat(-1 if self.count is None else self.count)


class Take(OrderOperator):
    count: Count


class Skip(OrderOperator):
    count: Count


class SkipAll(Take):
    method = "skip"
    native_name = "take"

    def __repr__(self) -> str:
        return "skip(-1)"


class Concatenate(Operator):
    dataset: Plan

    @property
    def is_random(self) -> bool:
        return self.dataset._random

    def apply(self, input: Lowered) -> Lowered:
        first, second = merged([input, self.dataset._lowered])
        made = first.concatenate(second)
        return Lowered(made, made)


class OrderOperators(Plan):
    """The operators of :class:`Dataset` that order and choose its elements."""

    __slots__ = ()

    def shuffle(self, buffer_size: int | None = None, *, seed: int = 0) -> Self:
        """Shuffles, in another order in each epoch.

        Args:
            buffer_size: elements are drawn from a buffer of this size. Without it, all elements
                are shuffled, in O(1) memory: this requires random access, which plain TFRecord
                files have. A compressed file is refused: when this is called, if it is on this
                machine, otherwise when it is opened.
            seed: the order depends on the seed, the epoch and the number of elements only:
                ``zip()`` of two Datasets that are shuffled with one seed pairs what belongs
                together. Two shuffles, one behind the other, need two seeds. In a Dataset that the
                function of :meth:`interleave` returns, the order also depends on the number of the
                element that it was made of; in one of :meth:`flat_map`, on its own epoch.
        """
        if isinstance(buffer_size, bool):  # torch's shuffle=True would be a buffer of one element
            raise TypeError("buffer_size is a number; shuffle(seed=...) shuffles all elements")
        if buffer_size is None:
            return self._then(GlobalShuffle(seed=seed))
        return self._then(Shuffle(buffer_size, seed=seed))

    def repeat(self, count: int | None = None) -> Self:
        """Repeats the input ``count`` times (default, and -1: without end).

        Each pass is an epoch.
        """
        return self._then(Repeat(count))

    def take(self, count: int) -> Self:
        """Yields the first ``count`` elements; -1: all, as in tf.data. Keeps random access."""
        return self if count == -1 else self._then(Take(count))

    def skip(self, count: int) -> Self:
        """Yields all elements after the first ``count``, which are not computed.

        -1 skips all, as in tf.data. A file that ends with an error there is still an error, if
        several are interleaved. Keeps random access.
        """
        return self._then(SkipAll(0) if count == -1 else Skip(count))

    def shard(self, num_shards: int, index: int, *, drop_remainder: bool = False) -> Self:
        """Yields element ``index`` of each group of ``num_shards`` elements; keeps random access.

        The shards of all workers are disjoint, and together they are the whole input. Place it
        after shuffle and repeat, and directly before batch: a state that was saved by one of 4
        workers can then be restored by each of 2, if the batches of all workers together keep their
        size: ``batch(64)`` of each of 4, ``batch(128)`` of each of 2. Workers that divide whole
        batches, or single elements, place it last (only prefetch may follow): states can then be
        restored by any number of workers, and without shard.

        A file that ends with an error, of ``tfrecords(paths, cycle_length=2)`` or
        :meth:`interleave`, is an error of all workers; behind :meth:`ignore_errors`, all count it.

        Only the elements of this shard are computed, also by map and batch before it. Place it
        before prefetch, cache, filter, flat_map, unbatch, scan and window: these need the elements
        of all shards.

        Args:
            drop_remainder: leaves out the last group if it is incomplete, so that all workers
                have the same number of elements.
        """
        return self._then(Shard(num_shards, index, drop_remainder=drop_remainder))

    def concatenate(self, dataset: Self) -> Self:
        """Yields all elements of this Dataset, then all of ``dataset``; keeps random access."""
        return self._then(Concatenate(checked_plan(dataset)))
