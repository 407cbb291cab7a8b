"""map_shards: a function of each of many files, on threads, processes or a cluster."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from recordpipe.inputs import FoundFiles, Paths, found_files, whole_number
from recordpipe.progress import Progress, in_task, reported

__all__ = ["Executor", "ShardResult", "map_files", "map_shards", "merge_files"]

Value = TypeVar("Value")
OnError = Literal["raise", "keep_going"]

# Of an executor that doesn't say how many workers it has, such as Dask's.
_IN_FLIGHT = 256


@dataclass(frozen=True)
class ShardResult(Generic[Value]):
    """What :func:`map_shards` yields for each file.

    Attributes:
        number: of the file among all inputs, from 0.
        path: of the file.
        value: what the function returned; None if it failed.
        error: the exception of the function; otherwise None.
    """

    number: int
    path: str
    value: Value | None = None
    error: Exception | None = None


def map_shards(
    function: Callable[[str], Value],
    inputs: Paths,
    *,
    executor: Executor | None = None,
    recursive: bool = False,
    filesystem: Any = None,
    ordered: bool = True,
    on_error: OnError = "raise",
    max_in_flight: int | None = None,
) -> Iterator[ShardResult[Value]]:
    """Calls ``function(path)`` for each file, as one task each, and yields the results.

        def count(path):
            return len(rp.tfrecords(path))

        with ProcessPoolExecutor() as processes:
            for shard in rp.map_shards(count, "train-*.tfrecord", executor=processes):
                print(shard.path, shard.value)

    An executor that runs a task again, as Ray's does when a machine is lost, calls the function
    again. So the function's output, if it writes any, must be idempotent: files that appear whole
    under a name that depends on the shard only, as :class:`Writer` and :func:`convert` make them.
    Then a task that runs twice loses and doubles nothing.

    Ctrl-C, and an exception, also end the tasks in this process that are in a function of
    recordpipe on whole files, such as :func:`convert` and :func:`verify`.

    Args:
        function: for processes and clusters, one that pickles (not a lambda).
        inputs: a path, a folder, a pattern ("train-*.tfrecord", "train-{000..127}"), a set of
            shards ("train@64"), a URL (s3://, gs://), or several; found now, see
            ``help(recordpipe.inputs)``.
        executor: any ``concurrent.futures.Executor``: a ThreadPoolExecutor, a ProcessPoolExecutor,
            :class:`recordpipe.ray.Executor`, Dask's ``client.get_executor()``. It is not shut down.
            Default: threads, one for each core.
        recursive: True reads the folders below a folder, too.
        filesystem: of the inputs: one of fsspec or pyarrow, or your own; see
            ``help(recordpipe.filesystem)``. The function gets names on it, and needs it itself:
            ``functools.partial(function, filesystem)``. Default: this machine, and the stores of
            URLs.
        ordered: True yields in the order of the inputs, False as the tasks end.
        on_error: "raise" raises the function's first exception, with a note that names the shard,
            and cancels the tasks that have not begun (except in a ProcessPoolExecutor);
            "keep_going" yields it as ``ShardResult.error``.
        max_in_flight: at most this many tasks are submitted, or have results that wait for their
            turn. Default: twice the number of the executor's workers, or 256 if it doesn't tell.

    Raises:
        NotFoundError: a file doesn't exist, or a pattern matches none.
    """
    return map_files(
        function,
        found_files(inputs, recursive, filesystem).paths,
        executor=executor,
        ordered=ordered,
        on_error=on_error,
        max_in_flight=max_in_flight,
    )


def map_files(
    function: Callable[[str], Value],
    files: Sequence[str],
    *,
    executor: Executor | None = None,
    ordered: bool = True,
    on_error: OnError = "raise",
    max_in_flight: int | None = None,
) -> Iterator[ShardResult[Value]]:
    """The same for files that have been found."""
    if on_error not in ("raise", "keep_going"):
        raise ValueError(f'on_error is "raise" or "keep_going", not {on_error!r}')
    if max_in_flight is not None:
        whole_number("max_in_flight", max_in_flight, 1)
    return _results(function, files, executor, ordered, on_error, max_in_flight)


def merge_files(
    work: Callable[[str], Value],
    files: FoundFiles,
    merge: Callable[[Value], object],
    *,
    executor: Executor,
    progress: Progress,
    activity: str,
) -> None:
    """Calls ``merge`` with work(path) of each file, in the order of the files."""
    with reported(progress, activity) as report:
        total = sum(files.sizes)
        done = 0
        for shard in map_files(work, files.paths, executor=executor):
            merge(shard.value)  # type: ignore[arg-type]  # without errors there is a value
            done += files.sizes[shard.number]
            if report:
                report(done, total)


def _results(
    function: Callable[[str], Value],
    files: Sequence[str],
    executor: Executor | None,
    ordered: bool,
    on_error: OnError,
    max_in_flight: int | None,
) -> Iterator[ShardResult[Value]]:
    with contextlib.ExitStack() as stack:
        if executor is None:
            workers = max(1, min(len(files), len(os.sched_getaffinity(0))))
            executor = stack.enter_context(ThreadPoolExecutor(workers, "recordpipe-shard"))
        most = max_in_flight or _default_in_flight(executor)
        left = deque(enumerate(files))
        running: dict[Future[Value], tuple[int, str]] = {}  # in the order of the files
        caller = _Caller()
        try:
            while left or running:
                while left and len(running) < most:
                    number, path = left.popleft()
                    running[_submitted(executor, caller, function, path)] = number, path
                if ordered:
                    ended = [next(iter(running))]
                    wait(ended)
                else:
                    ended = [*wait(running, return_when=FIRST_COMPLETED).done]
                for future in ended:
                    yield _result(future, *running.pop(future), len(files), on_error)
        finally:
            caller.waits = False
            # In Python 3.11, shutdown() of a pool of processes may wait for ever for futures that
            # were cancelled. There are few of them: twice the number of processes at most.
            if running and not _is_process_pool(executor):
                for future in running:
                    future.cancel()


class _Caller:
    """Tells a task in the same process whether its result is still waited for."""

    def __init__(self) -> None:
        self.waits = True

    def check(self, *_: int) -> None:
        if not self.waits:
            raise CancelledError

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()  # for other processes


def _submitted(
    executor: Executor, caller: _Caller, function: Callable[[str], Value], path: str
) -> Future[Value]:
    """A future in any case: an executor whose workers have died refuses tasks."""
    try:
        return executor.submit(_call, caller, function, path)
    except Exception as error:
        refused: Future[Value] = Future()
        refused.set_exception(error)
        return refused


def _call(caller: _Caller | None, function: Callable[[str], Value], path: str) -> Value:
    if caller is None:
        return function(path)
    with in_task(caller.check):
        return function(path)


def _is_process_pool(executor: Executor) -> bool:
    from concurrent.futures import ProcessPoolExecutor  # imports multiprocessing

    return isinstance(executor, ProcessPoolExecutor)


def _default_in_flight(executor: Executor) -> int:
    workers = getattr(executor, "_max_workers", None)  # of those of Python, and of Ray's
    return 2 * workers if isinstance(workers, int) and workers > 0 else _IN_FLIGHT


def _result(
    future: Future[Value], number: int, path: str, count: int, on_error: OnError
) -> ShardResult[Value]:
    try:
        return ShardResult(number, path, future.result())
    except Exception as error:
        # Some exceptions refuse attributes, and with them notes.
        with contextlib.suppress(Exception):
            error.add_note(f"shard {number} of {count}: {path}")
        if on_error == "raise":
            raise
        return ShardResult(number, path, None, error)
