"""Operators of a Dataset that make one element of several, and back."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Self

from recordpipe import _native as native
from recordpipe._plan import stack
from recordpipe._plan.function_identity import named
from recordpipe._plan.grouping import BucketBySequenceLength, PackSequences, PaddedBatch
from recordpipe._plan.parse_operators import features_of, ragged_features
from recordpipe._plan.plan import Count, Operator, Plan

__all__ = ["BatchOperators"]


class Batch(Operator):
    batch_size: Count
    drop_remainder: bool
    ragged: frozenset[str] = field(repr=False)  # features whose rows differ in length

    def lower(self, input: native.Dataset) -> native.Dataset:
        stacked = native.Function(stack.stack_of(self.ragged), *named(""))
        return input.batch(self.batch_size, self.drop_remainder, stacked)


class Unbatch(Operator):
    needs_rows = True

    def lower(self, input: native.Dataset) -> native.Dataset:
        return input.flat_map(native.Function(stack.unstack, *named("unbatch")))


class Window(Operator):
    needs_rows = True
    size: Count
    shift: Count | None
    drop_remainder: bool

    def lower(self, input: native.Dataset) -> native.Dataset:
        return input.window(self.size, self.shift, self.drop_remainder, list)


class BatchOperators(Plan):
    """The operators of :class:`Dataset` that make one element of several, and back."""

    __slots__ = ()

    def batch(self, batch_size: int, drop_remainder: bool = False) -> Self:
        """Combines ``batch_size`` elements into one, with a new first dimension.

        After :meth:`parse`: a dict of arrays [batch, ...], and :class:`Ragged` for features of any
        length, also behind :meth:`filter`. Other elements: numbers, arrays, strings and bytes are
        stacked to arrays, and Raggeds to a Ragged of them; dicts, tuples and lists of such values
        member by member. Keeps random access.

        Args:
            drop_remainder: leaves out the last batch if it is smaller.
        """
        return self._then(Batch(batch_size, drop_remainder, ragged_features(self)))

    def padded_batch(
        self, batch_size: int, drop_remainder: bool = False, *, padding: Any = None
    ) -> Self:
        """Like :meth:`batch`; arrays of different shapes are filled up with ``padding``.

        After :meth:`parse`, each :class:`Ragged` becomes an array (:meth:`Ragged.to_padded`).

        Args:
            padding: a value, or a dict of values by feature (ValueError for a name that isn't
                one). Default, also of features that the dict leaves out: 0, or ``b""`` for bytes. A
                number is not for features of bytes.
        """
        return self._then(PaddedBatch(batch_size, drop_remainder, padding=padding))

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[[Any], int] | str,
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        *,
        name: str = "",
    ) -> Self:
        """Combines elements of similar length into padded batches, as tf.data does.

        Bucket i has the elements with ``bucket_boundaries[i - 1] <= length <
        bucket_boundaries[i]``, and the last one all that are longer. A bucket that is full becomes
        a batch; at the end, all that have elements follow, the shortest first. Elements keep their
        order in a bucket. After :meth:`parse`, a batch is a dict of arrays; Raggeds are padded.

        A state that is saved here has the positions of the elements that wait in buckets; a
        restore computes them again. An element that fails, here or upstream, fails alone.

        Args:
            element_length_func: the name of a feature, or a function of an element. After
                :meth:`parse`, the values of a :class:`RaggedFeature` are counted natively, without
                calling Python; of a SequenceExample, the steps of a feature list, too.
            bucket_boundaries: ascending, from 1.
            bucket_batch_sizes: of each bucket; one more than boundaries.
            padded_shapes: of each feature, by name: the length of its rows, or a shape. None (also
                for a dimension): the longest row's. A longer row raises ValueError.
            padding_values: a value, or one for each feature, by name. Default: 0, or ``b""``.
            pad_to_bucket_boundary: pads to the bucket's boundary - 1 instead of the longest row:
                features of :meth:`parse`, or the first dimension of arrays. An element that is not
                shorter than the last boundary fails.
            no_padding: as :meth:`batch`: features become :class:`Ragged`, and other elements of a
                batch must have one shape.
            drop_remainder: leaves out the batches that are not full at the end.
        """
        return self._then(
            BucketBySequenceLength(
                element_length_func,
                list(bucket_boundaries),
                list(bucket_batch_sizes),
                padded_shapes,
                padding_values,
                bool(pad_to_bucket_boundary),
                bool(no_padding),
                bool(drop_remainder),
                name=name,
            )
        )

    def pack_sequences(
        self,
        lengths: int | Mapping[str, int],
        *,
        open_rows: int = 64,
        too_long: str = "error",
        padding_values: Any = None,
    ) -> Self:
        """Packs short sequences into rows of fixed length, as T5 and Grain do.

        A row is a dict: for each feature, its values, one sequence after another and then padding;
        "NAME_segment_ids": 1 in the first sequence, 2 in the second, ..., 0 in padding; and
        "NAME_positions": the position in the sequence, 0 in padding. :meth:`batch` makes arrays
        [batch, length] of these.

        An element goes to the first of the open rows that has room for all its features; if none
        has, the oldest row is yielded, and a new one opened. A row is yielded when one of its
        features is full; at the end, all others follow, the oldest first. So rows depend on the
        order of the elements only. A state that is saved here has the positions of the elements in
        open rows; a restore computes them again. An element that fails fails alone.

        Args:
            lengths: of each feature, by name; or of all. After :meth:`parse`, they must be
                :class:`RaggedFeature`, and are packed natively; other elements are dicts of these
                features, or (with one length) sequences, which become "values", "segment_ids" and
                "positions".
            open_rows: that are filled at a time. More waste less place, and take more memory.
            too_long: what becomes of a sequence longer than a row: "error", an element that fails,
                or "truncate".
            padding_values: a value, or one for each feature, by name. Default: 0, or ``b""``.
        """
        return self._then(
            PackSequences(
                dict(lengths) if isinstance(lengths, Mapping) else operator.index(lengths),
                open_rows=open_rows,
                too_long=too_long,
                padding_values=padding_values,
                features=[*(features_of(self) or ())],
            )
        )

    def unbatch(self) -> Self:
        """The inverse of :meth:`batch`: yields the rows of each batch."""
        return self._then(Unbatch())

    def window(self, size: int, shift: int | None = None, drop_remainder: bool = False) -> Self:
        """Yields lists of ``size`` elements; list k starts at element k * ``shift``.

        Args:
            shift: default ``size``.
            drop_remainder: leaves out the last lists if they are shorter.
        """
        return self._then(Window(size, shift, drop_remainder))
