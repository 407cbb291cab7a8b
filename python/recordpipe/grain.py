"""Grain: TFRecords as sources of grain.MapDataset, and Datasets as grain.IterDatasets.

    import grain
    import recordpipe as rp

    ds = (grain.MapDataset.source(rp.grain.source("train-*.tfrecord"))
            .shuffle(seed=7)                       # all records of all files
            .map(decode)
            .batch(128))

    records = rp.tfrecords("train-*.tfrecord").parse(features).shuffle(seed=7)
    iterator = iter(rp.grain.IterDataset(records.batch(128)).map(augment))
    state = iterator.get_state()                   # set_state() goes on at the same element

Keras 3 trains from both. To install Grain: pip install 'recordpipe[grain]'.
"""

from __future__ import annotations

import hashlib
import operator
import os
from collections.abc import Sequence
from typing import Any

from recordpipe._extras import extra
from recordpipe._plan.plan import sharded
from recordpipe._plan.random_access import FileAccess
from recordpipe.dataset import Dataset
from recordpipe.inputs import Paths
from recordpipe.sources import tfrecords

with extra("grain"):
    import grain

__all__ = ["IterDataset", "RecordSource", "source"]


def source(records: Paths | Dataset) -> RecordSource:
    """Returns the records of plain TFRecord files as a source of ``grain.MapDataset``.

    Args:
        records: a path, a folder, a pattern, or several; or a Dataset that supports random access:
            ``rp.tfrecords(...)`` with its options, also after ``parse()``. Raises TypeError for
            another Dataset.
    """
    return RecordSource(records if isinstance(records, Dataset) else tfrecords(records))


class RecordSource:
    """A ``grain.sources.RandomAccessDataSource``: made by :func:`source`.

    Elements are those of ``dataset[i]``: bytes, or dicts of values after ``parse()``, CRC-checked
    when they are first read. Thread-safe. A pickled source is its description: each process opens
    the files at the first use. Compressed files raise :class:`UnsupportedError` there.

    ``repr`` depends on the names of the files, without folders, and their numbers of records, so
    that a checkpoint of a ``grain.DataLoader`` is refused for other files.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        access = dataset._random_access()
        if not isinstance(access, FileAccess):
            raise TypeError(
                "source() reads files: tfrecords() of plain files, also behind parse(); a list "
                "is one of grain.MapDataset.source() itself"
            )
        self._access = access

    def __len__(self) -> int:
        return len(self._access)

    def __getitem__(self, index: int) -> Any:
        return self._access.get(operator.index(index))

    def _getitems(self, indices: Sequence[int]) -> list[Any]:
        """Grain's batched read."""
        return self._access.get_many([operator.index(index) for index in indices])

    @property
    def paths(self) -> list[str]:
        """The files, in order."""
        return [path for path, _ in self._access.files()]

    def __repr__(self) -> str:
        names = hashlib.sha256()
        files = self._access.files()
        for path, count in files:
            names.update(f"{os.path.basename(path)}\0{count}\0".encode(errors="surrogateescape"))
        return (
            f"recordpipe.grain.RecordSource(files={len(files)}, records={len(self)}, "
            f"names={names.hexdigest()[:16]})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return RecordSource, (self._dataset,)


class IterDataset(grain.IterDataset):  # type: ignore[misc]  # Grain has no types
    """A Dataset as a ``grain.IterDataset``: all of Grain's operators follow it.

    Each pass is one of the Dataset: to have another order in each epoch, call its ``repeat()``
    rather than Grain's, or wrap ``dataset.epoch(k)``.

    States (``get_state``, ``set_state``, Grain's checkpoints) are those of
    :meth:`recordpipe.Iterator.state_dict`. Another plan, or files that have changed, are refused
    by name.

    ``mp_prefetch``: worker i of n computes the elements i, i + n, ...; Grain interleaves them, so
    the elements and their order are the same for any number of workers. What is before the last
    ``shard()`` in the plan is planned by all workers; what computes elements (parsing, batches,
    functions) runs once. A Dataset's own threads are usually faster than processes, because
    nothing is copied between these. In the workers, ``with_options(threads=1)`` avoids more
    threads than cores.
    """

    def __init__(self, dataset: Dataset) -> None:
        if not isinstance(dataset, Dataset):
            raise TypeError(
                f"recordpipe.grain.IterDataset() takes a recordpipe.Dataset, not "
                f"{type(dataset).__name__}; source() takes paths"
            )
        super().__init__()
        self._whole = dataset
        self._dataset = dataset  # of this worker

    def __iter__(self) -> _DatasetIterator:
        return _DatasetIterator(iter(self._dataset), self._dataset, self._whole)

    def set_slice(self, sl: slice, sequential_slice: bool = False) -> None:
        """Grain calls it in a worker, for its share of the elements."""
        if sl.stop is not None:
            raise ValueError(f"a worker's slice has no end, unlike {sl}")
        workers, worker = sl.step or 1, sl.start or 0
        if sequential_slice:
            count = len(self._dataset)
            first, end = count * worker // workers, count * (worker + 1) // workers
            self._dataset = self._dataset.skip(first).take(end - first)
        else:
            self._dataset = sharded(self._dataset, workers, worker)

    def __str__(self) -> str:
        return f"recordpipe.grain.IterDataset({self._whole.explain().rstrip()})"


class _DatasetIterator(grain.DatasetIterator):  # type: ignore[misc]  # Grain has no types
    """One pass over ``dataset``, which is a worker's share of ``whole``."""

    def __init__(self, iterator: Any, dataset: Dataset, whole: Dataset) -> None:
        super().__init__()
        self._iterator = iterator
        self._dataset = dataset
        self._whole = whole

    def __next__(self) -> Any:
        self._assert_not_closed()
        return next(self._iterator)

    def get_state(self) -> dict[str, Any]:
        state: dict[str, Any] = self._iterator.state_dict()
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        self._assert_not_closed()
        if self._is_start_of_whole(state):
            # Until a worker has sent an element, Grain takes its state from an iterator in the
            # main process, of the whole Dataset.
            start = iter(self._whole)
            start.load_state_dict(state)
            self._iterator.close()
            self._iterator = iter(self._dataset.epoch(start.epoch))
        else:
            self._iterator.load_state_dict(state)

    def _is_start_of_whole(self, state: dict[str, Any]) -> bool:
        if self._dataset is self._whole or not isinstance(state, dict):
            return False
        own_plan = f"{self._iterator._plan_hash:016x}"
        return state.get("position") == 0 and state.get("plan") != own_plan

    def _get_next_index(self) -> int:
        position: int = self._iterator.position
        return position

    def _set_next_index(self, index: int) -> None:
        raise ValueError(
            "recordpipe.grain.IterDataset goes to a state, not to an index: call set_state(), or "
            "wrap dataset.skip(index)"
        )

    def close(self) -> None:
        if not self._closed:
            super().close()
            self._iterator.close()

    def __str__(self) -> str:
        return f"recordpipe.grain.IterDataset(position={self._iterator.position})"
