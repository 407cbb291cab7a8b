"""PyTorch: batches as tensors, in a DataLoader or without one.

    import recordpipe.torch as rpt

    loader = rpt.Loader(ds)                          # ds: a recordpipe.Dataset that ends in batches
    for epoch in range(loader.epoch, 10):
        for batch in loader:
            train(batch["image"], batch["label"])    # torch tensors

Loader needs no worker processes: the pipeline's threads compute the batches. Dataset and MapDataset
are for programs that need a torch.utils.data.DataLoader.
"""

from __future__ import annotations

import base64
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from recordpipe import _native
from recordpipe import dataset as _dataset
from recordpipe import ragged as _ragged
from recordpipe._extras import extra
from recordpipe._plan.execution_operators import WithOptions
from recordpipe._plan.plan import sharded
from recordpipe.errors import Error, _carry
from recordpipe.iterator import Iterator as _Pass

with extra("torch"):
    import torch
    import torch.utils.data

__all__ = ["Dataset", "Loader", "MapDataset", "Ragged", "TensorIterator", "global_state"]

State = dict[str, Any]

_P = ParamSpec("_P")
_R = TypeVar("_R")

_MAX_WORKERS = 2**16  # that shard() takes


class Ragged(NamedTuple):
    """Rows of different lengths: ``recordpipe.Ragged`` with tensors.

    A named tuple, so a DataLoader moves, pins and sends it like any tuple of tensors.

    Attributes:
        values: the values of all rows, [total values, ...]; a list of bytes; a Ragged if the rows
            consist of rows. Row i is ``values[row_splits[i]:row_splits[i + 1]]``.
        row_splits: int64 [rows + 1]; the first is 0.
    """

    values: Any
    row_splits: torch.Tensor

    def to_nested(self) -> torch.Tensor:
        """Returns a jagged nested tensor [rows, None, ...] that shares the memory of ``values``."""
        nested: torch.Tensor = torch.nested.nested_tensor_from_jagged(self.values, self.row_splits)
        return nested


def tensors(element: Any) -> Any:
    """Returns ``element`` with tensors instead of NumPy arrays of numbers, which share memory.

    Dicts, tuples and lists keep their form; arrays of bytes or strings become lists; a
    ``recordpipe.Ragged`` becomes a :class:`Ragged`.
    """
    return _mapped(element, _tensor)


def _mapped(element: Any, convert: Callable[[Any], Any]) -> Any:
    """``element`` with convert(value) in place of each value in dicts, tuples and lists."""
    if isinstance(element, dict):
        return {key: _mapped(value, convert) for key, value in element.items()}
    if isinstance(element, (tuple, list)):
        values = [_mapped(value, convert) for value in element]
        if isinstance(element, list):
            return values
        return type(element)(*values) if hasattr(element, "_fields") else tuple(values)
    return convert(element)


def _tensor(value: Any) -> Any:
    if isinstance(value, _ragged.Ragged):
        return Ragged(_tensor(value.values), torch.from_numpy(value.row_splits))
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind not in "biufc":
        return value.tolist()
    if not value.flags.writeable:  # from_numpy() would warn
        value = value.copy()
    try:
        return torch.from_numpy(value)
    except ValueError:  # a negative stride: a reversed array
        return torch.from_numpy(value.copy())


def _pinned(value: Any) -> Any:
    return value.pin_memory() if isinstance(value, torch.Tensor) else value


def _pinned_tensors(element: Any) -> Any:
    return _mapped(tensors(element), _pinned)


class TensorIterator:
    """One pass over a Dataset; elements hold tensors (:func:`tensors`).

    StatefulDataLoader saves it by ``state_dict()``, the state of ``recordpipe.Iterator``.
    """

    def __init__(self, dataset: _dataset.Dataset, pin_memory: bool = False) -> None:
        self._pass: _Pass = iter(dataset)
        # In the library's next(): an exception, such as that of Ctrl-C, loses no batch.
        self._pass._set_conversion(_pinned_tensors if pin_memory else tensors)

    def __iter__(self) -> TensorIterator:
        return self

    def __next__(self) -> Any:
        return next(self._pass)

    @property
    def epoch(self) -> int:
        """The epoch of the pass."""
        return self._pass.epoch

    def state_dict(self) -> State:
        """Returns the place after the last returned element (``recordpipe.Iterator``)."""
        return self._pass.state_dict()

    def load_state_dict(self, state_dict: State) -> None:
        """Continues after the place of ``state_dict``, in its epoch."""
        self._pass.load_state_dict(state_dict)


def _carried(method: Callable[_P, _R]) -> Callable[_P, _R]:
    """A worker's errors keep their attributes: the DataLoader sends only class and traceback."""

    @functools.wraps(method)
    def carrying(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return method(*args, **kwargs)
        except Error as error:
            if torch.utils.data.get_worker_info() is not None:
                _carry(error)
            raise

    return carrying


class _WorkerIterator(TensorIterator):
    """A pass of a :class:`Dataset`. Its state also says how many workers share the batches."""

    def __init__(self, dataset: _dataset.Dataset, on_end: Callable[[], object]) -> None:
        super().__init__(dataset)
        self._on_end = on_end
        self._repeats = False

    @_carried
    def __next__(self) -> Any:
        if self._repeats:
            self._repeats = False
            text = f"this pass repeats the order and the numbers of epoch {self.epoch}: call "
            text += "set_epoch() before each pass"
            warnings.warn(text, UserWarning, stacklevel=3)
        try:
            return next(self._pass)
        except StopIteration:
            self._on_end()
            raise

    def state_dict(self) -> State:
        return {**super().state_dict(), "workers": self._pass._workers}

    def load_state_dict(self, state_dict: State) -> None:
        super().load_state_dict(state_dict)
        self._repeats = False  # it goes on


class Dataset(torch.utils.data.IterableDataset[Any]):
    """An iterable dataset for a DataLoader with any number of workers.

    The DataLoader needs ``batch_size=None``, because the Dataset's elements are batches already:

        data = rpt.Dataset(ds)                   # ds ends in batch(), and prefetch() if wanted
        loader = DataLoader(data, batch_size=None, num_workers=4)
        for epoch in range(10):
            data.set_epoch(epoch)
            for batch in loader: ...

    The workers divide whole batches: worker w computes batch w of each ``num_workers`` batches, so
    the DataLoader, which asks its workers in turn, yields the same batches in the same order at any
    number of workers. Place the ``shard(world_size, rank)`` of ranks before ``batch``: they then
    divide elements; behind ``batch``, they divide whole batches, too. In a worker, the pipeline has
    one thread unless ``with_options(threads=...)`` says otherwise.

    A program that uses torchdata's StatefulDataLoader and saves its ``loader.state_dict()`` goes on
    from there, with any number of workers, by

        data.resume(rpt.global_state(state))     # instead of loader.load_state_dict(state)
        for epoch in range(data.epoch, 10):      # the rest of the epoch, then the others
            data.set_epoch(epoch)
            for batch in loader: ...

    ``loader.load_state_dict(state)`` restores the places of the same number of workers, too, but in
    the workers only: :attr:`epoch` doesn't follow, so a loop over epochs must start at the saved
    one. A state that was saved after the last batch, within the loop, continues with an empty rest
    of the epoch; a state saved after the loop continues with the next pass.

    A random Dataset warns (UserWarning) at a pass that repeats one which has ended, because its
    epoch was not set in between.

    Args:
        dataset: its epoch is set by :meth:`set_epoch`, first 0.
    """

    def __init__(self, dataset: _dataset.Dataset) -> None:
        super().__init__()
        self._dataset = dataset
        # The epoch of the last pass that has ended since set_epoch(), in any worker; or -1.
        self._ended = torch.full((), -1, dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call]
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call]
        self._resumed: _Resumed | None = None

    @property
    def epoch(self) -> int:
        """The epoch of the next pass."""
        return int(self._epoch)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of later passes, also in persistent workers.

        Workers read it when they begin a pass, at any time after ``iter(loader)``: call it before,
        and before ``state_dict()`` of a StatefulDataLoader between passes, which begins the next
        one.
        """
        self._epoch.fill_(epoch)
        self._ended.fill_(-1)

    def resume(self, state: State) -> None:
        """Lets the next pass start at a plain state: of ``recordpipe.Iterator``, or global_state().

        Sets the epoch to the state's. Later passes start at their beginning, as does the next one
        if set_epoch() sets another epoch before. Call it before the DataLoader starts its workers.
        Raises InvalidArgumentError if the state was saved from another plan or other files.
        """
        iterator = iter(self._dataset.epoch(0))
        iterator.load_state_dict(state)
        self._resumed = _Resumed(iterator.epoch, dict(state))
        self.set_epoch(iterator.epoch)
        iterator.close()

    @_carried
    def __iter__(self) -> TensorIterator:
        dataset = self._dataset.epoch(self.epoch)
        worker = torch.utils.data.get_worker_info()
        if worker is not None:
            dataset = _for_worker(dataset, worker.num_workers, worker.id)
        epoch = self.epoch
        iterator = _WorkerIterator(dataset, on_end=lambda: self._ended.fill_(epoch))
        if self._dataset._random and (worker is None or worker.id == 0):
            iterator._repeats = int(self._ended) == epoch
        state = self._resumed and self._resumed.take(self.epoch, worker.id if worker else 0)
        if state:
            iterator.load_state_dict(state)
        return iterator

    def __len__(self) -> int:
        """The number of batches of a pass of all workers together; TypeError if unknown."""
        return len(self._dataset)


class _Resumed:
    """The state at which one pass starts, in each of the workers."""

    def __init__(self, epoch: int, state: State) -> None:
        self._epoch = epoch
        self._state = state
        # Of workers: the DataLoader may start new ones, from this process, for each pass.
        self._taken = torch.zeros(_MAX_WORKERS, dtype=torch.bool).share_memory_()  # type: ignore[no-untyped-call]

    def take(self, epoch: int, worker: int) -> State | None:
        """The state, at the first call for ``worker``, if the pass is in its epoch."""
        if self._taken[worker]:
            return None
        self._taken[worker] = True
        return self._state if epoch == self._epoch else None


def _for_worker(dataset: _dataset.Dataset, num_workers: int, worker: int) -> _dataset.Dataset:
    share = sharded(dataset, num_workers, worker)
    options = _options(dataset)
    return share if options.get("threads") else share.with_options(**{**options, "threads": 1})


def _options(dataset: _dataset.Dataset) -> dict[str, int]:
    """The keywords of the last with_options()."""
    options = [vars(each) for each in dataset._operators if isinstance(each, WithOptions)]
    return {**options[-1]} if options else {}


def global_state(loader_state: State) -> State:
    """Returns the place of a StatefulDataLoader as the state of one pass without workers.

    :meth:`Dataset.resume`, :meth:`Loader.load_state_dict` and ``recordpipe.Iterator`` take it, so
    training continues with another number of workers, or without any. After the end of a pass it
    is the start of the next epoch.

    Args:
        loader_state: ``loader.state_dict()`` of a StatefulDataLoader over a :class:`Dataset`, with
            ``batch_size=None`` and ``in_order=True``, its default. A state of ``in_order=False``
            raises ValueError if its snapshot shows that workers didn't take turns; but between
            snapshots such a state doesn't tell which batches were returned, and can be wrong.
    """
    try:
        if "_snapshot" not in loader_state:
            state = loader_state["fetcher_state"]["dataset_iter_state"]
            skipped = 0
        else:
            snapshot = loader_state["_snapshot"]
            workers = snapshot["_worker_snapshots"]
            # Workers up to the last one that gave a batch are a batch ahead of those after it.
            last = (int(snapshot["_last_yielded_worker_id"]) + 1) % len(workers)
            states = [
                workers[f"worker_{i}"]["fetcher_state"]["dataset_iter_state"]
                for i in range(len(workers))
            ]
            state = states[-1]
            turn = int(state.get("workers", len(states)))
            _require_turns(states, last, turn)
            skipped = (last + int(loader_state["_steps_since_snapshot"])) * turn // len(states)
        place = base64.b64decode(state["state"], validate=True)
        finished = bool(loader_state["_iterator_finished"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"not a state of a StatefulDataLoader over a recordpipe.torch.Dataset ({error!r})"
        ) from None
    place = _native.next_epoch_state(place) if finished else _native.moved_state(place, skipped)
    return {
        "version": state["version"],
        "plan": state["plan"],
        "position": _native.position_of_state(place),
        "state": base64.b64encode(place).decode(),
    }


def _require_turns(states: Sequence[State], ahead: int, turn: int) -> None:
    """Raises ValueError unless the first ``ahead`` workers have given a batch more than others.

    Args:
        turn: the number of workers, of all ranks that divide batches: places count the batches of
            all of them.
    """
    places = [_native.position_of_state(base64.b64decode(state["state"])) for state in states]
    expected = [places[-1] + (turn if i < ahead else 0) for i in range(len(states))]
    if places != expected:
        raise ValueError(
            f"its workers are after {places} batches of all workers, where {expected} was "
            "expected: the DataLoader needs batch_size=None and in_order=True"
        )


class MapDataset(torch.utils.data.Dataset[Any]):
    """A map-style dataset for a DataLoader with samplers: elements by number.

    Elements are those of ``dataset[i]``: bytes, or after ``parse`` a dict of NumPy values, which
    the DataLoader's default collation stacks to tensors. The DataLoader reads all elements of a
    batch in one call.

    Args:
        dataset: one that has elements by number (``Dataset.__getitem__``): of plain files, lists
            or steps, also after ``parse``, ``take``, ``shard``, .... Others raise TypeError.
    """

    def __init__(self, dataset: _dataset.Dataset) -> None:
        dataset._random_access()
        self._dataset = dataset

    def __len__(self) -> int:
        return len(self._dataset._random_access())

    @_carried
    def __getitem__(self, index: int) -> Any:
        return self._dataset[int(index)]

    @_carried
    def __getitems__(self, indexes: Sequence[int]) -> list[Any]:
        return self._dataset.__getitems__([int(index) for index in indexes])


class Loader:
    """Batches as tensors, computed by threads: no worker processes, no copies between them.

        ds = (rp.tfrecords("train-*.tfrecord").parse(features)
                .shuffle(seed=7)
                .shard(ranks, rank, drop_remainder=True)  # for several processes
                .batch(128 // ranks, drop_remainder=True).prefetch())
        loader = rpt.Loader(ds, pin_memory=True)
        if os.path.exists("checkpoint.pt"):
            checkpoint = torch.load("checkpoint.pt")
            loader.load_state_dict(checkpoint["loader"])
        for epoch in range(loader.epoch, 10):
            for batch in loader:
                train(batch["image"].cuda(non_blocking=True), batch["label"].cuda())
                torch.save({"loader": loader.state_dict()}, "checkpoint.pt")

    Each ``iter(loader)`` is a pass in the next epoch, also if the pass before was not finished; the
    first one after load_state_dict() continues where the state was saved. A pass begins when its
    first batch is taken: an iterator of which nothing is taken, as Lightning makes one, is none.
    One pass at a time: state_dict() is that of the last one. The memory of a batch belongs to you,
    as described in ``help(recordpipe.Dataset)``.

    Args:
        dataset: a recordpipe.Dataset that ends in batches.
        epoch: of the first pass.
        pin_memory: copies tensors to page-locked memory if CUDA is available, so that
            ``tensor.to("cuda", non_blocking=True)`` doesn't wait.
    """

    def __init__(
        self, dataset: _dataset.Dataset, *, epoch: int = 0, pin_memory: bool = False
    ) -> None:
        self._dataset = dataset
        self._pin_memory = pin_memory and torch.cuda.is_available()
        self._next_epoch = epoch
        self._current: TensorIterator | None = None  # not at its end
        self._is_waiting = False  # for the next __iter__()

    @property
    def epoch(self) -> int:
        """The epoch of the running pass, or of the next one."""
        return self._next_epoch if self._current is None else self._current.epoch

    def _prepared(self) -> TensorIterator:
        """The pass that runs, or the next one."""
        if self._current is None:
            self._current = TensorIterator(self._dataset.epoch(self._next_epoch), self._pin_memory)
            self._is_waiting = True
        return self._current

    def set_epoch(self, epoch: int) -> None:
        """Makes ``epoch`` that of the next pass, as Hugging Face's Trainer does.

        A place in this epoch that load_state_dict() has set is kept.
        """
        if not self._is_waiting or self.epoch != epoch:
            self._current, self._is_waiting, self._next_epoch = None, False, epoch

    def __iter__(self) -> Iterator[Any]:
        if not self._is_waiting:
            self._current = None
        iterator = self._prepared()
        self._is_waiting = False
        self._next_epoch = iterator.epoch + 1
        # Not iterator itself: a signal's handler may raise in its __next__().
        for batch in iterator._pass:  # noqa: UP028 (yield from would close it, after a break)
            yield batch
        if self._current is iterator:
            self._current = None

    def __len__(self) -> int:
        """The number of batches of a whole pass. TypeError if it is infinite or unknown."""
        return len(self._dataset)

    def state_dict(self) -> State:
        """Returns the place after the last batch, a state of ``recordpipe.Iterator``.

        After the end of a pass, and before the first: the start of the next epoch.
        """
        return self._prepared().state_dict()

    def load_state_dict(self, state_dict: State) -> None:
        """Lets the next pass continue at ``state_dict``, also a :func:`global_state`.

        Raises InvalidArgumentError if it was saved from another plan or other files; the Loader
        then keeps its place.
        """
        iterator = TensorIterator(self._dataset.epoch(0), self._pin_memory)
        iterator.load_state_dict(state_dict)
        self._current, self._is_waiting = iterator, True
