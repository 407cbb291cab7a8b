"""The argument ``progress`` of the functions that read whole files."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Progress", "in_task", "reported", "task_check"]

ProgressFunction = Callable[[int, int], object]
Progress = bool | ProgressFunction

_thread = threading.local()


@contextlib.contextmanager
def in_task(check: ProgressFunction) -> Iterator[None]:
    """Functions that this thread calls meanwhile without ``progress`` call ``check`` instead."""
    before = task_check()
    _thread.check = check
    try:
        yield
    finally:
        _thread.check = before


def task_check() -> ProgressFunction | None:
    """What a task calls as it goes on: it raises an exception if nobody waits for the task."""
    return getattr(_thread, "check", None)


@contextlib.contextmanager
def reported(progress: Progress, activity: str) -> Iterator[ProgressFunction | None]:
    """The function to call with (bytes done, bytes in all), or None."""
    if not progress or (progress is True and sys.stderr is None):
        yield task_check()
    elif progress is not True:
        yield progress
    else:
        with _bar(activity) as bar:
            yield bar


@contextlib.contextmanager
def _bar(activity: str) -> Iterator[ProgressFunction]:
    try:
        tqdm = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        with _line(activity) as line:
            yield line
        return
    bar: Any = tqdm(desc=activity, unit="B", unit_scale=True)

    def update(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    with bar:
        yield update


@contextlib.contextmanager
def _line(activity: str) -> Iterator[ProgressFunction]:
    """A line on standard error; at most one a second, where that is not a terminal."""
    terminal = sys.stderr.isatty()
    last = time.monotonic()

    def update(done: int, total: int) -> None:
        nonlocal last
        if not terminal and time.monotonic() < last + 1:
            return
        last = time.monotonic()
        share = 100 * done / total if total else 100
        text = f"{activity}: {share:3.0f} % of {total / 1e6:,.1f} MB"
        print(f"\r{text}" if terminal else text, end="" if terminal else "\n", file=sys.stderr)
        sys.stderr.flush()

    try:
        yield update
    finally:
        if terminal:
            print(file=sys.stderr)
