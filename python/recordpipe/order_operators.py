"""Operators of a Dataset that order and choose its elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from recordpipe.operators import Operators

if TYPE_CHECKING:
    from recordpipe.dataset import Dataset

__all__ = ["OrderOperators"]


class OrderOperators(Operators):
    """The operators of :class:`Dataset` that order and choose its elements."""

    __slots__ = ()

    def shuffle(self, buffer_size: int | None = None, *, seed: int = 0) -> Dataset:
        """Shuffles, in another order in each epoch.

        Args:
            buffer_size: elements are drawn from a buffer of this size. Without it, all elements
                are shuffled, in O(1) memory: this requires random access, which plain TFRecord
                files have. A compressed file is refused: when this is called, if it is on this
                machine, otherwise when it is opened.
            seed: the order depends on the seed, the epoch and the number of elements only:
                ``zip()`` of two Datasets that are shuffled with one seed pairs what belongs
                together. Two shuffles, one behind the other, need two seeds.
        """
        if isinstance(buffer_size, bool):  # torch's shuffle=True would be a buffer of one element
            raise TypeError("buffer_size is a number; shuffle(seed=...) shuffles all elements")
        if buffer_size is None:
            return self._derive(
                "shuffle", (), lambda: self._native.global_shuffle(seed), random=True, seed=seed
            )
        return self._derive(
            "shuffle",
            (buffer_size,),
            lambda: self._native.shuffle(buffer_size, seed),
            random=True,
            seed=seed,
        )

    def repeat(self, count: int | None = None) -> Dataset:
        """Repeats the input ``count`` times (default, and -1: without end).

        Each pass is an epoch.
        """
        times = -1 if count is None else count
        return self._derive("repeat", (count,), lambda: self._native.repeat(times))

    def take(self, count: int) -> Dataset:
        """Yields the first ``count`` elements; -1: all, as in tf.data."""
        if count == -1:
            return cast("Dataset", self)
        return self._derive("take", (count,), lambda: self._native.take(count))

    def skip(self, count: int) -> Dataset:
        """Yields all elements after the first ``count``, which are not computed.

        -1 skips all, as in tf.data. A file that ends with an error there is still an error, if
        several are interleaved.
        """
        if count == -1:
            return self.take(0)
        return self._derive("skip", (count,), lambda: self._native.skip(count))

    def shard(self, num_shards: int, index: int, *, drop_remainder: bool = False) -> Dataset:
        """Yields element ``index`` of each group of ``num_shards`` elements.

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
        return self._derive(
            "shard",
            (num_shards, index),
            lambda: self._native.shard(num_shards, index, drop_remainder),
            drop_remainder=drop_remainder,
        )
