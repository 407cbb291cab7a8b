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
from collections.abc import Sequence
from typing import Any

from recordpipe import _native as native
from recordpipe._notebook.html import html_repr, text_repr
from recordpipe._plan import arrow
from recordpipe._plan.batch_operators import BatchOperators
from recordpipe._plan.execution_operators import ExecutionOperators
from recordpipe._plan.function_operators import FunctionOperators
from recordpipe._plan.image_operators import ImageOperators
from recordpipe._plan.order_operators import OrderOperators
from recordpipe._plan.other_names import OtherNames
from recordpipe._plan.parse_operators import ParseOperators, features_of
from recordpipe._plan.random_access import ElementAccess, FileAccess, access_of
from recordpipe._plan.step_operators import StepOperators
from recordpipe.features import Feature
from recordpipe.inputs import whole_number
from recordpipe.iterator import Iterator, iterate

__all__ = ["Dataset"]


class Dataset(
    OtherNames,
    ParseOperators,
    FunctionOperators,
    BatchOperators,
    OrderOperators,
    ImageOperators,
    StepOperators,
    ExecutionOperators,
):
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

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError(
            "make a Dataset with recordpipe.tfrecords(), from_list() or from_generator()"
        )

    # Iteration

    def __iter__(self) -> Iterator:
        """Starts a pass: in epoch 0, or in that of :meth:`epoch`.

        A random Dataset without :meth:`epoch` warns (UserWarning) at the first element of a pass
        that repeats one in epoch 0. A pass that continues a saved state repeats nothing.
        """
        return iterate(self)

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

    def head(self, count: int = 5) -> list[Any]:
        """The first ``count`` elements, for a look; of a table, ``ds.take(5).to_pandas()``."""
        return [*self.take(whole_number("count", count)).with_options(threads=1, chunk_size=1)]

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: int | slice) -> Any:
        """Element ``index`` of a pass, in epoch 0 or that of :meth:`epoch`; a list for a slice.

        Works where :meth:`shuffle` without a buffer does: for records of plain files,
        :func:`from_list`, :func:`range`, :func:`tfds` and :meth:`steps`, also behind operators that
        keep random access. Others raise TypeError, and so do those with random numbers, unless
        :meth:`epoch` says of which epoch.

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

    def _random_access(self) -> FileAccess | ElementAccess:
        if self._access is None:
            self._access = access_of(self)
        access: FileAccess | ElementAccess = self._access
        return access

    def to_arrow(self) -> Any:
        """All elements as a ``pyarrow.Table``; see :meth:`__arrow_c_stream__`. Needs pyarrow."""
        from recordpipe.tables import pyarrow_for

        return pyarrow_for("to_arrow()").table(self)

    def to_pandas(self) -> Any:
        """All elements as a ``pandas.DataFrame``. Needs pandas and pyarrow."""
        return self.to_arrow().to_pandas()

    def write(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Writes all elements: a table to a name that ends in .parquet, .arrow or the like.

        To any other name, TFRecords.

        Args:
            options: those of :func:`write_table` or :func:`write_tfrecords`.
        """
        from recordpipe.tables import is_table, write_table
        from recordpipe.writer import write_tfrecords

        write: Any = write_table if is_table(os.fsdecode(path)) else write_tfrecords
        write(path, self, **options)

    def __arrow_c_schema__(self) -> Any:
        """The Arrow schema, as a PyCapsule: what other libraries call."""
        return arrow.schema(self)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A pass as an Arrow stream, as a PyCapsule: what other libraries call.

        ``pyarrow.table(ds)``, ``polars.DataFrame(ds)``, ``pandas.DataFrame.from_arrow(ds)`` and
        DuckDB's ``select ... from ds`` read a parsed Dataset, of single records or of batches.
        Each call makes a new pass, in epoch 0 or that of :meth:`epoch`.

        Columns are the features: int64, float, large_binary, large_string if declared so or, of
        features that parse() has found, if all of the first values are text, their
        large_lists, and fixed_size_lists for shapes; of SequenceExamples, context and feature lists
        side by side. They are the memory of the batches, not copies. A missing feature is null,
        unless it has a default value; and so is an empty list of a fixed-length feature. A batch()
        becomes a record batch; without batch(), record batches have up to 1,024 rows. If no record
        of all has a feature that parse() was passed, its name may be mistyped: the end of the
        stream is a warning for a :class:`RaggedFeature`, and an error for any other that is neither
        optional nor has a default value.

        Errors end the stream, with the message that iterating would raise; their class is the
        consumer's. So does an exception of a signal handler, such as KeyboardInterrupt: the
        consumer may raise its own class first (pyarrow: OSError), which names it; Python raises
        the exception itself right after that, also in ``except OSError:``. Elements made by
        functions in Python, images of image operators, and records without parse() or of parse({}),
        have no columns: :class:`UnsupportedError`. (:class:`RawFeature` has one, of raw pixels.)

        Args:
            requested_schema: ignored, as the protocol permits; most consumers cast.
        """
        return arrow.stream(self)

    def explain(self) -> str:
        """The calls that made this Dataset, a line for each, in the order in which data flows.

        Functions are shown by their names, lambdas by file and line.
        """
        return "".join(f"{line}\n" for line in self._explained())

    @property
    def features(self) -> dict[str, Feature] | None:
        """The features that :meth:`parse` was called with, or has found; a new dict.

        None if the elements are others: without parse(), or behind functions in Python.
        """
        return features_of(self)

    @property
    def columns(self) -> list[str] | None:
        """The names of :attr:`features`."""
        return None if self.features is None else [*self.features]

    def __repr__(self) -> str:
        return text_repr(self)

    def _repr_html_(self) -> str:
        """A table of the first elements, for notebooks."""
        return html_repr(self)
