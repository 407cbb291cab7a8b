"""Ray: TFRecords in Ray Data, and whole files on a cluster (``pip install 'ray[data]'``).

    import recordpipe.ray as rpr

    ds = rpr.read_tfrecords("train-*.tfrecord")                 # a ray.data.Dataset
    rpr.write_tfrecords(ds, "out")

    rp.stats("train-*.tfrecord", executor=rpr.Executor())       # a file is a task
    rpr.global_shuffle("train-*.tfrecord", "shuffled", shards=4096, seed=7)

The files must have the same paths on all machines: in an object store (s3://, gs://, or
``filesystem=``), whose credentials each worker takes from its own environment, or in a shared file
system. Give absolute paths: Ray's workers may have another working directory.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import Any

from recordpipe._extras import extra

with extra("ray"):
    import ray

    from recordpipe._ray.read import read_tfrecords
    from recordpipe._ray.shuffle import ShuffleReport, global_shuffle
    from recordpipe._ray.write import write_tfrecords

__all__ = ["Executor", "ShuffleReport", "global_shuffle", "read_tfrecords", "write_tfrecords"]


class Executor(concurrent.futures.Executor):
    """Runs functions as Ray's tasks; for ``executor=`` of recordpipe's functions.

        with rpr.Executor() as executor:
            rp.verify("train-*.tfrecord", executor=executor)

    A task whose worker or machine is lost runs again on another one. An exception of the function
    is raised as it is, not run again.
    """

    def __init__(self, *, num_cpus: float = 1, max_retries: int = -1, **options: Any) -> None:
        """Connects to Ray as ``ray.init()`` does, unless this process is connected already.

        Args:
            num_cpus: of each task.
            max_retries: how often a task runs again after its worker was lost; -1: always.
            options: others of ``ray.remote``, such as ``memory`` and ``runtime_env``.
        """
        if not ray.is_initialized():
            ray.init()
        self._run = ray.remote(
            num_cpus=num_cpus, max_retries=max_retries, retry_exceptions=False, **options
        )(_call)
        # For the bound of map_shards().
        self._max_workers = max(1, int(ray.cluster_resources().get("CPU", 1) / (num_cpus or 1)))
        self._is_shut_down = False
        self._running: set[concurrent.futures.Future[Any]] = set()

    def submit(
        self, function: Callable[..., Any], /, *arguments: Any, **keywords: Any
    ) -> concurrent.futures.Future[Any]:
        if self._is_shut_down:
            raise RuntimeError("the executor is shut down")
        reference = self._run.remote(function, arguments, keywords)
        future = _Future(reference)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        reference.future().add_done_callback(future.end)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the executor; Ray keeps running."""
        self._is_shut_down = True
        running = list(self._running)
        if cancel_futures:
            for future in running:
                future.cancel()
        if wait:
            concurrent.futures.wait(running)


def _call(
    function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Any, Exception | None]:
    """Returns (value, exception): Ray would wrap an exception, and lose its attributes."""
    try:
        return function(*arguments, **keywords), None
    except Exception as error:
        return None, error


class _Future(concurrent.futures.Future[Any]):
    """Of a task; cancelling it cancels the task, also while it waits for resources."""

    def __init__(self, reference: Any) -> None:
        super().__init__()
        self._reference = reference

    def cancel(self) -> bool:
        if not super().cancel():
            return False
        ray.cancel(self._reference)
        return True

    def end(self, ended: concurrent.futures.Future[Any]) -> None:
        """Takes the result of Ray's own future, unless this one was cancelled."""
        if not self.set_running_or_notify_cancel():
            return
        try:
            value, error = ended.result()
        except BaseException as failure:  # the worker was lost, or Ray itself failed
            value, error = None, failure
        if error is not None:
            self.set_exception(error)
        else:
            self.set_result(value)
