"""Operators of a Dataset that say how passes run; they change no elements."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY
from typing import Self

from recordpipe._plan.plan import Count, Execution, OrderOperator, Plan
from recordpipe.inputs import path_of

__all__ = ["ExecutionOperators", "IgnoreErrors", "WithOptions", "chosen_epoch"]


class Cache(OrderOperator):
    is_shared = True
    path: str | None
    _: KW_ONLY
    max_bytes: Count


class Prefetch(Execution):
    buffer_size: Count | None


class IgnoreErrors(OrderOperator):
    _: KW_ONLY
    max_count: Count
    max_rate: float


class WithOptions(Execution):
    _: KW_ONLY
    threads: Count
    chunk_size: Count
    memory_limit: Count


class Epoch(Execution):
    epoch: Count


def chosen_epoch(plan: Plan) -> int | None:
    epochs = [each.epoch for each in plan._operators if isinstance(each, Epoch)]
    return epochs[-1] if epochs else None


class ExecutionOperators(Plan):
    """The operators of :class:`Dataset` that say how passes run."""

    __slots__ = ()

    def cache(
        self, path: str | os.PathLike[str] | None = None, *, max_bytes: int = 2**64 - 1
    ) -> Self:
        """Computes the elements once and keeps them for all later passes.

        Objects made by functions in Python are kept themselves: what is changed in such a dict or
        array shows in later passes. Records and batches of :meth:`parse` are copied for each pass.

        Args:
            path: keeps records in this file, also for later runs. Default: in memory.
            max_bytes: in memory, the limit after which :class:`LimitExceededError` is raised.
        """
        return self._then(Cache(None if path is None else path_of(path), max_bytes=max_bytes))

    def prefetch(self, buffer_size: int | None = None) -> Self:
        """A thread keeps up to ``buffer_size`` elements ready (default: tuned automatically)."""
        return self._then(Prefetch(None if buffer_size == -1 else buffer_size))  # AUTOTUNE

    def ignore_errors(self, *, max_count: int = 2**64 - 1, max_rate: float = 1.0) -> Self:
        """Skips elements that failed with :class:`Error`; raises beyond a limit.

        Exceptions of functions in Python are not skipped. Behind :meth:`parse` and image operators,
        each element is computed once more, to see whether it fails. Behind :meth:`batch`, a batch
        with a failed row is skipped as a whole. ``stats()`` of the iterator counts and names
        what was skipped.

        A record whose data doesn't fit its CRC is one skipped element, in plain and compressed
        files. An error that ends its source is not skipped: a missing file, damaged framing (a
        length that doesn't fit its CRC, an end inside a record), a damaged compressed stream. Where
        each file is a source of its own, ``tfrecords(paths, cycle_length=2)`` or
        ``paths.interleave(recordpipe.tfrecords, cycle_length=2)``, only the damaged file ends
        early, and the others go on: ``first_skipped`` of ``stats()`` says how many bytes are lost
        by that.
        ``tfrecords(paths, on_damage="resync")`` reads the intact records behind such damage.

        Args:
            max_count: of skipped elements.
            max_rate: ratio of skipped to all elements, 0 to 1, after the first 100 elements.
        """
        return self._then(IgnoreErrors(max_count=max_count, max_rate=max_rate))

    def with_options(
        self, *, threads: int = 0, chunk_size: int = 64, memory_limit: int = 2**64 - 1
    ) -> Self:
        """Sets how the pipeline runs; never changes its elements. Replaces earlier options.

        Args:
            threads: that compute elements, including the one that iterates. 0: as many as needed,
                at most one per available core.
            chunk_size: source elements per unit of work.
            memory_limit: in bytes, of elements and buffers; beyond it, iterating raises
                :class:`LimitExceededError`. Batches that you hold don't count.
        """
        return self._then(
            WithOptions(threads=threads, chunk_size=chunk_size, memory_limit=memory_limit)
        )

    def epoch(self, epoch: int) -> Self:
        """The same Dataset with its passes in ``epoch`` (default: 0).

        Each epoch has its own order and random numbers. The elements of epochs 0 to n - 1, one
        after another, are those of ``repeat(n)``, bit for bit.
        """
        return self._then(Epoch(epoch))
