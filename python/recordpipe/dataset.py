"""Dataset: a description of a pipeline of elements, modelled on tf.data.

ds = (rp.tfrecords("train-*.tfrecord")
        .parse({"image": rp.FixedLenFeature([], "bytes"),
                "label": rp.FixedLenFeature([], "int64")})
        .shuffle(16_384, seed=7)
        .batch(128, drop_remainder=True)
        .prefetch())
for epoch in range(10):
    for batch in ds.epoch(epoch):
        train(batch["image"], batch["label"])
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from recordpipe import _native as native
from recordpipe import arrow, grouping, recipe, stack
from recordpipe.features import Feature, ListFeature, native_feature_lists, native_features
from recordpipe.found_features import features_of, find_features
from recordpipe.html import html_repr, text_repr
from recordpipe.image import ImageOperators
from recordpipe.inputs import path_of
from recordpipe.iterator import Iterator, repeated_pass
from recordpipe.random_access import ListAccess, RandomAccess, StepAccess
from recordpipe.steps import StepOperators

__all__ = ["Dataset", "make_dataset", "native_of"]


class Dataset(ImageOperators, StepOperators):
    """A lazy, immutable description of a pipeline; a source and operators on it.

    A Dataset may be shared, pickled, and iterated any number of times, also concurrently. Nothing
    is read until it is iterated. Elements, their order and their bytes depend only on the sources,
    the operators, the seeds and the epoch, never on the number of threads, on prefetching or on
    timing.

    **Elements.** Records are ``bytes``. After :meth:`parse`, an element is a dict of the features'
    values, and after :meth:`batch` a dict of arrays with one row per record. An array's memory
    belongs to you: recordpipe doesn't overwrite it while any array made from it lives, also in
    torch or JAX. The arrays of a batch are one piece of memory: to keep a small part of each batch,
    keep a copy of it (``batch["label"].copy()``), because one array keeps the whole batch.

    **Functions in Python** (of :meth:`map`, :meth:`filter` and others) run on the pipeline's
    threads, one at a time, because they hold the GIL; everything else runs without it. Their
    exceptions are raised where the element would have been returned, after all elements before it,
    with a note that names the record. The garbage collector doesn't see that a Dataset refers to
    its functions: a function that refers to its own Dataset keeps both alive.

    **Tables.** pyarrow, polars, DuckDB and pandas read a parsed Dataset as a table
    (:meth:`__arrow_c_stream__`); :func:`write_tfrecords` writes one.

    **Errors** are raised in order, for the same element at any number of threads
    (:class:`recordpipe.Error`).
    """

    __slots__ = ("_access", "_ended", "_native", "_random", "_recipe")
    _native: native.Dataset
    _recipe: tuple[Any, ...]  # the call that makes this Dataset again: a function, its arguments
    _random: bool  # whether epochs differ
    _ended: bool | None  # whether a pass in epoch 0 has ended; None: the user chose the epoch
    _access: RandomAccess | StepAccess | ListAccess | None

    def __init__(self) -> None:
        raise TypeError(
            "make a Dataset with recordpipe.tfrecords(), from_list() or from_generator()"
        )

    # Elements

    def parse(self, features: Mapping[str, Feature] | None = None) -> Dataset:
        """Turns each record, a tf.train.Example, into a dict of the values of ``features``.

        Without ``features``, they are found out now, from the first 1,000 records or 64 MiB of the
        files: a feature that all of these have with the same number of values is a
        :class:`FixedLenFeature` of that number, any other a :class:`RaggedFeature`; features
        without any value, or of several types, are left out. Later records may differ, which is
        then an error of the element: for a program that others run, print :attr:`features` and
        pass what is needed. This works behind :func:`tfrecords` and operators that only order
        elements, and raises TypeError behind others; it raises a ValueError if no feature is found.
        The found features become a part of the plan, as if they had been passed: pickled Datasets
        and saved states don't look again.

        Computes nothing by itself: values are decoded when a batch is built, column by column.
        Other features of a record are ignored. Raises for an element: :class:`NotFoundError` if a
        feature without default is missing, :class:`UnsupportedError` if it has another type or
        number of values, :class:`DataLossError` if the record is not an Example.

        Args:
            features: by name, which becomes the key: :class:`FixedLenFeature`,
                :class:`RaggedFeature`, :class:`VarLenFeature`, :class:`RawFeature` or
                :class:`TensorFeature`.
        """
        if features is None:
            features = find_features(self)
        spec = native.example_spec(native_features(features), False)
        return self._parsed("parse", (dict(features),), spec)

    def parse_sequence_example(
        self,
        context: Mapping[str, Feature] | None = None,
        feature_lists: Mapping[str, ListFeature] | None = None,
    ) -> Dataset:
        """Turns each record, a tf.train.SequenceExample, into a tuple of two dicts.

        The first dict has the values of ``context``, as after :meth:`parse`; the second those of
        ``feature_lists``. The bytes of an Example are a SequenceExample with only a context.

        Args:
            feature_lists: :class:`FixedLenSequenceFeature`: in a batch, a :class:`Ragged` of
                arrays [steps, *shape]; :class:`RaggedFeature`: a :class:`Ragged` of Raggeds, any
                number of steps with any number of values each.
        """
        context, feature_lists = dict(context or {}), dict(feature_lists or {})
        spec = native.sequence_example_spec(
            native_features(context), native_feature_lists(feature_lists), False
        )
        return self._parsed("parse_sequence_example", (context, feature_lists), spec)

    def _parsed(self, method: str, arguments: tuple[Any, ...], spec: native.ParseSpec) -> Dataset:
        parsed = self._derive(method, arguments, lambda: self._native.parse(spec))
        if isinstance(self._access, RandomAccess):
            parsed._access = self._access.parsed(spec)
        return parsed

    def _image(
        self,
        method: str,
        arguments: tuple[Any, ...],
        make: Callable[[native.Dataset], native.Dataset],
        random: bool = False,
        **keywords: Any,
    ) -> Dataset:
        derived = self._derive(method, arguments, lambda: make(self._native), random, **keywords)
        if isinstance(self._access, RandomAccess) and not random:  # a random image has an epoch
            derived._access = self._access.parsed(native.parse_spec(derived._native))
        if isinstance(self._access, StepAccess) and not random:
            derived._access = StepAccess(derived._native)
        return derived

    def map(self, function: Callable[[Any], Any], *, name: str = "") -> Dataset:
        """Applies ``function(element)`` to each element; results are in input order.

        Elements are computed in chunks, of 64 unless :meth:`with_options` sets ``chunk_size``: the
        first result appears when its chunk is computed. Use a small one for slow functions.

        A function that refers to its own Dataset is never freed, nor what it refers to: plans
        share their functions, which the garbage collector can't count. Pass such a function what
        it needs instead. This holds for all functions in Python.

        Args:
            name: becomes part of the plan: a state that was saved with another name is refused.
                Give the function a new name when you change it.
        """
        return self._derive("map", (function,), lambda: self._native.map(function, name), name=name)

    def random_map(self, function: Callable[..., Any], seed: int, *, name: str = "") -> Dataset:
        """Like :meth:`map`, with ``function(element, rng)``.

        ``rng`` is a ``numpy.random.Generator`` that draws the element's own random numbers: they
        depend on the seed, the epoch and the element's place in its source only.
        """
        return self._derive(
            "random_map",
            (function, seed),
            lambda: self._native.random_map(function, seed, name),
            random=True,
            name=name,
        )

    def filter(self, predicate: Callable[[Any], Any], *, name: str = "") -> Dataset:
        """Keeps the elements for which ``predicate(element)`` is true."""
        return self._derive(
            "filter", (predicate,), lambda: self._native.filter(predicate, name), name=name
        )

    def flat_map(self, function: Callable[[Any], Iterable[Any]], *, name: str = "") -> Dataset:
        """Concatenates the elements of the iterables that ``function(element)`` returns.

        For functions that return Datasets, :meth:`interleave` with ``cycle_length=1`` does the same
        without the GIL, and its state remembers the place inside of a Dataset.
        """
        return self._derive(
            "flat_map", (function,), lambda: self._native.flat_map(function, name), name=name
        )

    def interleave(
        self,
        function: Callable[[Any], Dataset],
        cycle_length: int,
        block_length: int = 1,
        *,
        name: str = "",
    ) -> Dataset:
        """Takes ``block_length`` elements in turn from the Datasets that ``function`` returns.

        ``cycle_length`` (1 to 65,536) of them are open at a time. For files, the parameters of
        :func:`tfrecords` do the same without a function.
        """
        return self._derive(
            "interleave",
            (function, cycle_length, block_length),
            lambda: self._native.interleave(function, cycle_length, block_length, name),
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
            lambda: self._native.scan(initial_state, function, name),
            name=name,
        )

    def enumerate(self, start: int = 0) -> Dataset:
        """Yields tuples of a number, counted from ``start``, and the element."""
        return self._derive("enumerate", (start,), lambda: self._native.enumerate(start))

    # Batches

    def batch(self, batch_size: int, drop_remainder: bool = False) -> Dataset:
        """Combines ``batch_size`` elements into one, with a new first dimension.

        After :meth:`parse`: a dict of arrays [batch, ...], and :class:`Ragged` for features of any
        length. Other elements: numbers, arrays, strings and bytes are stacked to arrays; dicts,
        tuples and lists of such values member by member.

        Args:
            drop_remainder: leaves out the last batch if it is smaller.
        """
        return self._derive(
            "batch",
            (batch_size, drop_remainder),
            lambda: self._native.batch(batch_size, drop_remainder, stack.stack),
        )

    def padded_batch(
        self, batch_size: int, drop_remainder: bool = False, *, padding: Any = None
    ) -> Dataset:
        """Like :meth:`batch`; arrays of different shapes are filled up with ``padding``.

        After :meth:`parse`, each :class:`Ragged` becomes an array (:meth:`Ragged.to_padded`).

        Args:
            padding: default: 0, or ``b""`` for bytes.
        """
        return self._derive(
            "padded_batch",
            (batch_size, drop_remainder),
            lambda: grouping.padded_batches(self._native, batch_size, drop_remainder, padding),
            padding=padding,
        )

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
    ) -> Dataset:
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
        arguments = (
            element_length_func,
            bucket_boundaries,
            bucket_batch_sizes,
            padded_shapes,
            padding_values,
            pad_to_bucket_boundary,
            no_padding,
            drop_remainder,
        )
        buckets = grouping.Buckets(*arguments)
        return self._derive(
            "bucket_by_sequence_length",
            arguments,
            lambda: buckets.of(self._native, name),
            name=name,
        )

    def pack_sequences(
        self,
        lengths: int | Mapping[str, int],
        *,
        open_rows: int = 64,
        too_long: str = "error",
        padding_values: Any = None,
    ) -> Dataset:
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
        packing = grouping.Packing(lengths, open_rows, too_long, padding_values)
        features = [*self.features] if self._native.is_parsed() and self.features else None
        return self._derive(
            "pack_sequences",
            (lengths,),
            lambda: packing.of(self._native, features),
            open_rows=open_rows,
            too_long=too_long,
            padding_values=padding_values,
        )

    def unbatch(self) -> Dataset:
        """The inverse of :meth:`batch`: yields the rows of each batch."""
        return self._derive("unbatch", (), lambda: self._native.flat_map(stack.unstack, "unbatch"))

    def window(self, size: int, shift: int | None = None, drop_remainder: bool = False) -> Dataset:
        """Yields lists of ``size`` elements; list k starts at element k * ``shift``.

        Args:
            shift: default ``size``.
            drop_remainder: leaves out the last lists if they are shorter.
        """
        return self._derive(
            "window",
            (size, shift, drop_remainder),
            lambda: self._native.window(size, shift, drop_remainder, list),
        )

    # Order

    def shuffle(self, buffer_size: int | None = None, *, seed: int = 0) -> Dataset:
        """Shuffles, in another order in each epoch.

        Args:
            buffer_size: elements are drawn from a buffer of this size. Without it, all elements
                are shuffled, in O(1) memory: this requires random access, which plain TFRecord
                files have.
            seed: the order depends on the seed and the epoch only.
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
            return self
        return self._derive("take", (count,), lambda: self._native.take(count))

    def skip(self, count: int) -> Dataset:
        """Yields all elements after the first ``count``, which are not computed.

        -1 skips all, as in tf.data.
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

    def concatenate(self, dataset: Dataset) -> Dataset:
        """Yields all elements of this Dataset, then all of ``dataset``."""
        other = native_of(dataset)
        return self._derive(
            "concatenate",
            (dataset,),
            lambda: self._native.concatenate(other),
            random=dataset._random,
        )

    # Execution

    def cache(
        self, path: str | os.PathLike[str] | None = None, *, max_bytes: int = 2**64 - 1
    ) -> Dataset:
        """Computes the elements once and keeps them for all later passes.

        Objects made by functions in Python are kept themselves: what is changed in such a dict or
        array shows in later passes. Records and batches of :meth:`parse` are copied for each pass.

        Args:
            path: keeps records in this file, also for later runs. Default: in memory.
            max_bytes: in memory, the limit after which :class:`LimitExceededError` is raised.
        """
        file = None if path is None else path_of(path)
        return self._derive(
            "cache", (file,), lambda: self._native.cache(file, max_bytes), max_bytes=max_bytes
        )

    def prefetch(self, buffer_size: int | None = None) -> Dataset:
        """A thread keeps up to ``buffer_size`` elements ready (default: tuned automatically)."""
        size = None if buffer_size == -1 else buffer_size  # tf.data.AUTOTUNE
        return self._derive("prefetch", (buffer_size,), lambda: self._native.prefetch(size))

    def ignore_errors(self, *, max_count: int = 2**64 - 1, max_rate: float = 1.0) -> Dataset:
        """Skips elements that failed with :class:`Error`; raises beyond a limit.

        Exceptions of functions in Python are not skipped. Behind :meth:`parse` and image operators,
        each element is computed once more, to see whether it fails. Behind :meth:`batch`, a batch
        with a failed row is skipped as a whole. ``stats()`` of the iterator counts and names
        what was skipped.

        An error that ends its source is not skipped: a missing file, damaged framing (a length that
        doesn't fit its CRC, an end inside a record), damage in a compressed file. Where each file
        is a source of its own, ``paths.interleave(recordpipe.tfrecords)`` or ``tfrecords(paths,
        cycle_length=2)``, only the damaged file ends early, and the others go on.
        :func:`recordpipe.salvage` saves the intact records behind such damage.

        Args:
            max_count: of skipped elements.
            max_rate: ratio of skipped to all elements, 0 to 1, after the first 100 elements.
        """
        return self._derive(
            "ignore_errors",
            (),
            lambda: self._native.ignore_errors(max_count, max_rate),
            max_count=max_count,
            max_rate=max_rate,
        )

    def with_options(
        self, *, threads: int = 0, chunk_size: int = 64, memory_limit: int = 2**64 - 1
    ) -> Dataset:
        """Sets how the pipeline runs; never changes its elements. Replaces earlier options.

        Args:
            threads: that compute elements, including the one that iterates. 0: as many as needed,
                at most one per available core.
            chunk_size: source elements per unit of work.
            memory_limit: in bytes, of elements and buffers; beyond it, iterating raises
                :class:`LimitExceededError`. Batches that you hold don't count.
        """
        return self._derive(
            "with_options",
            (),
            lambda: self._native.with_options(threads, chunk_size, memory_limit),
            threads=threads,
            chunk_size=chunk_size,
            memory_limit=memory_limit,
        )

    def epoch(self, epoch: int) -> Dataset:
        """The same Dataset with its passes in ``epoch`` (default: 0).

        Each epoch has its own order and random numbers. The elements of epochs 0 to n - 1, one
        after another, are those of ``repeat(n)``, bit for bit.
        """
        derived = self._derive("epoch", (epoch,), lambda: self._native.epoch(epoch))
        derived._ended = None
        return derived

    # Iteration

    def __iter__(self) -> Iterator:
        """Starts a pass: in epoch 0, or in that of :meth:`epoch`.

        A random Dataset without :meth:`epoch` warns (UserWarning) at the first element of a pass
        that repeats one in epoch 0. A pass that continues a saved state repeats nothing.
        """
        if not self._random or self._ended is None:
            return Iterator(self._native, None, None)
        if self._ended:
            return repeated_pass(self._native)
        return Iterator(self._native, None, self._ended_in)

    def _ended_in(self, epoch: int) -> None:
        self._ended = epoch == 0

    def cardinality(self) -> int:
        """The number of elements of a pass, or INFINITE_CARDINALITY or UNKNOWN_CARDINALITY.

        Reads the headers of files, or their indexes.
        """
        return self._native.cardinality()

    def __len__(self) -> int:
        """The number of elements of a pass. Raises TypeError if it is infinite or unknown."""
        count = self.cardinality()
        if count == native.INFINITE_CARDINALITY:
            raise TypeError("the Dataset is infinite")
        if count == native.UNKNOWN_CARDINALITY:
            raise TypeError("the number of elements is unknown before they are computed")
        return count

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: int | slice) -> Any:
        """Record ``index`` of plain files, also after :meth:`parse`; a list for a slice.

        Element ``index`` of :func:`from_list`, too. Other Datasets raise TypeError.

        Opens the files once, and keeps them open. A record's CRC is checked when it is first read.
        Thread-safe.
        """
        access = self._random_access()
        if isinstance(index, slice):
            return access.get_many(list(range(*index.indices(len(access)))))
        return access.get(index)

    def __getitems__(self, indexes: Sequence[int]) -> list[Any]:
        """The elements at ``indexes``, faster than one by one; PyTorch's DataLoader calls it."""
        return self._random_access().get_many(list(indexes))

    def _random_access(self) -> RandomAccess | StepAccess | ListAccess:
        if self._access is None:
            raise TypeError(
                "only tfrecords(...) of plain files, parse() after it, tfds(), its steps(), and "
                "from_list(), have elements by number; use skip(n) for others"
            )
        return self._access

    def __arrow_c_schema__(self) -> Any:
        """The Arrow schema, as a PyCapsule: what other libraries call."""
        return arrow.schema(self)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A pass as an Arrow stream, as a PyCapsule: what other libraries call.

        ``pyarrow.table(ds)``, ``polars.DataFrame(ds)``, ``pandas.DataFrame.from_arrow(ds)`` and
        DuckDB's ``select ... from ds`` read a parsed Dataset, of single records or of batches.
        Each call makes a new pass, in epoch 0 or that of :meth:`epoch`.

        Columns are the features: int64, float, large_binary, large_string if declared so, their
        large_lists, and fixed_size_lists for shapes; of SequenceExamples, context and feature lists
        side by side. They are the memory of the batches, not copies. A missing feature is null,
        unless it has a default value; and so is an empty list of a fixed-length feature. A batch()
        becomes a record batch; without batch(), record batches have up to 1,024 rows.

        Errors end the stream, with the message that iterating would raise; their class is the
        consumer's. So does an exception of a signal handler, such as KeyboardInterrupt: the
        consumer may raise its own class first (pyarrow: OSError), which names it; Python raises
        the exception itself right after that, also in ``except OSError:``. Elements made by
        functions in Python, images of image operators, and records without parse(), have no
        columns: :class:`UnsupportedError`. (:class:`RawFeature` has one, of raw pixels.)

        Args:
            requested_schema: ignored, as the protocol permits; most consumers cast.
        """
        return arrow.stream(self)

    def explain(self) -> str:
        """The operators and their parameters, a line for each, in the order in which data flows."""
        return self._native.explain()

    @property
    def features(self) -> dict[str, Feature] | None:
        """The features that :meth:`parse` was called with, or has found; a new dict.

        None if the elements are others: without parse(), or behind functions in Python.
        """
        return features_of(self)

    def __repr__(self) -> str:
        return text_repr(self)

    def _repr_html_(self) -> str:
        """A table of the first elements, for notebooks; see :mod:`recordpipe.html`."""
        return html_repr(self)

    # Plumbing

    def _derive(
        self,
        method: str,
        arguments: tuple[Any, ...],
        make: Callable[[], native.Dataset],
        random: bool = False,
        **keywords: Any,
    ) -> Dataset:
        made_by = (recipe.apply, (self, method, arguments, keywords))
        try:
            described = make()
        except TypeError as error:
            if "incompatible function arguments" not in str(error):
                raise
            raise TypeError(_refused_call(method, arguments, keywords)) from None
        derived = _make(described, made_by, self._random or random)
        if self._ended is None:
            derived._ended = None
        return derived

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickled Dataset is its description: the calls that made it."""
        return recipe.pickled(self)


def _make(described: native.Dataset, made_by: tuple[Any, ...], random: bool = False) -> Dataset:
    dataset = object.__new__(Dataset)
    dataset._native = described
    dataset._recipe = made_by
    dataset._random = random
    dataset._access = None
    dataset._ended = False
    return dataset


def make_dataset(
    described: native.Dataset,
    function: Callable[..., Dataset],
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    *,
    random: bool = False,
    access: RandomAccess | StepAccess | ListAccess | None = None,
) -> Dataset:
    """For other modules: the Dataset that ``function(*arguments, **keywords)`` returns.

    ``random``: whether epochs differ. ``access``: its elements by number.
    """
    dataset = _make(described, (recipe.call, (function, arguments, keywords)), random)
    dataset._access = access
    return dataset


def _refused_call(method: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> str:
    values = [*map(repr, arguments), *(f"{name}={value!r}" for name, value in keywords.items())]
    call = f"{method}({', '.join(value[:80] for value in values)})"
    return (
        f"{call}: an argument of another type, or a number out of range; see "
        f"help(recordpipe.Dataset.{method})"
    )


def native_of(dataset: Dataset) -> native.Dataset:
    """Raises TypeError for anything but a Dataset."""
    if not isinstance(dataset, Dataset):
        raise TypeError(f"needs a recordpipe.Dataset, not {dataset!r}")
    return dataset._native
