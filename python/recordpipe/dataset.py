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
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from recordpipe import _native as native
from recordpipe import arrow, recipe
from recordpipe.batch_operators import BatchOperators
from recordpipe.features import Feature, ListFeature, native_feature_lists, native_features
from recordpipe.found_features import (
    FoundFeatures,
    Unseen,
    checked_unseen,
    features_of,
    find_features,
    watched,
)
from recordpipe.function_operators import FunctionOperators
from recordpipe.html import html_repr, text_repr
from recordpipe.image import ImageOperators
from recordpipe.inputs import path_of
from recordpipe.iterator import Iterator, repeated_pass
from recordpipe.order_operators import OrderOperators
from recordpipe.random_access import ListAccess, RandomAccess, StepAccess
from recordpipe.steps import StepOperators

__all__ = ["Dataset", "make_dataset", "native_of"]


class Dataset(FunctionOperators, BatchOperators, OrderOperators, ImageOperators, StepOperators):
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

    def parse(
        self, features: Mapping[str, Feature] | None = None, *, unseen: Unseen | None = None
    ) -> Dataset:
        """Turns each record, a tf.train.Example, into a dict of the values of ``features``.

        Without ``features``, they are found out now, from the first 1,000 records or 64 MiB of the
        files: a feature that all of these have with the same number of values is a
        :class:`FixedLenFeature` of that number, any other a :class:`RaggedFeature`; features
        without any value are left out, and so are those of several types, with a warning. Later
        records may differ, which is then an error of the element, also if they have a feature that
        the first ones lack (:class:`UnsupportedError`; see ``unseen``): for a program that others
        run, print :attr:`features` and pass what is needed. This works behind :func:`tfrecords` and
        operators that only order elements, and raises TypeError behind others; it raises a
        ValueError if no feature is found. The found features become a part of the plan, as if they
        had been passed: pickled Datasets and saved states don't look again.

        Computes nothing by itself: values are decoded when a batch is built, column by column.
        Features of a record that were not passed are ignored. Raises for an element:
        :class:`NotFoundError` if a feature without default is missing, :class:`UnsupportedError` if
        it has another type or number of values, :class:`DataLossError` if the record is not an
        Example. A record of another message that parses as an Example without any of the features
        is an UnsupportedError, too (of a batch, each 64th row is looked at).

        Args:
            features: by name, which becomes the key: :class:`FixedLenFeature`,
                :class:`RaggedFeature`, :class:`VarLenFeature`, :class:`RawFeature` or
                :class:`TensorFeature`.
            unseen: without ``features``, what becomes of a record with a feature that the first
                ones lack. "error" (default): :meth:`ignore_errors` behind parse() doesn't skip it,
                because all of its record would be lost. "warn": the feature is left out; a
                UserWarning at the end of the pass counts the records, and names the first.
        """
        if features is None:
            features = find_features(self, checked_unseen(unseen or "error"))
        elif unseen is not None:
            raise ValueError("unseen is about features that parse() finds; features were passed")
        if not isinstance(features, FoundFeatures):
            features = dict(features)
        spec = native.example_spec(native_features(features), False, watched(features))
        return self._parsed("parse", (features,), spec)

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
                number of steps with any number of values each; :class:`RawFeature`: an array of
                bytes in each step.
        """
        return self._parse_lists("parse_sequence_example", context, feature_lists)

    def parse_example_list(
        self,
        context: Mapping[str, Feature] | None = None,
        examples: Mapping[str, ListFeature] | None = None,
    ) -> Dataset:
        """Turns each record, an ExampleListWithContext, into a tuple of two dicts.

        The message type is that of TensorFlow Ranking (ELWC): a list of Examples, for example the
        documents that a query found, and an Example as their context. The first dict has the values
        of ``context``, as after :meth:`parse`; the second those of ``examples``, each with a step
        for each Example::

            ds = rp.tfrecords("train-*").parse_example_list(
                {"query_tokens": rp.RaggedFeature("string")},
                {
                    "relevance": rp.FixedLenSequenceFeature([], "int64"),
                    "document_tokens": rp.RaggedFeature("string"),
                },
            )

        A feature that an Example lacks has no values there, which only a :class:`RaggedFeature`
        allows. ``recordpipe.schema(paths)`` finds the features of such records, too.

        Args:
            examples: as the ``feature_lists`` of :meth:`parse_sequence_example`.
        """
        return self._parse_lists("parse_example_list", context, examples)

    def _parse_lists(
        self,
        method: str,
        context: Mapping[str, Feature] | None,
        feature_lists: Mapping[str, ListFeature] | None,
    ) -> Dataset:
        if not isinstance(context, FoundFeatures):
            context = dict(context or {})
        feature_lists = dict(feature_lists or {})
        spec = native.sequence_example_spec(
            native_features(context),
            native_feature_lists(feature_lists),
            False,
            method == "parse_example_list",
            watched(context),
        )
        return self._parsed(method, (context, feature_lists), spec)

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

        A record whose data doesn't fit its CRC is one skipped element, in plain and compressed
        files. An error that ends its source is not skipped: a missing file, damaged framing (a
        length that doesn't fit its CRC, an end inside a record), a damaged compressed stream. Where
        each file is a source of its own, ``tfrecords(paths, cycle_length=2)`` or
        ``paths.interleave(recordpipe.tfrecords, cycle_length=2)``, only the damaged file ends
        early, and the others go on: ``first_skipped`` of ``stats()`` says how many bytes are lost
        by that.
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
