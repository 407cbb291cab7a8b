"""The argument ``progress`` of the functions that read whole files."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Progress", "in_task", "line_text", "reported", "task_check"]

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
    began = last = time.monotonic()
    width = 0

    def update(done: int, total: int) -> None:
        nonlocal last, width
        now = time.monotonic()
        if not terminal and now < last + 1:
            return
        last = now
        text = f"{activity}: {line_text(done, total, now - began)}"
        print(
            f"\r{text.ljust(width)}" if terminal else text,
            end="" if terminal else "\n",
            file=sys.stderr,
            flush=True,
        )
        width = len(text)

    try:
        yield update
    finally:
        if terminal:
            print(file=sys.stderr)


def line_text(done: int, total: int, seconds: float) -> str:
    """What is done, and after a second how fast, and how long the rest takes at that speed."""
    share = 100 * done / total if total else 100
    text = f"{share:3.0f} % of {total / 1e6:,.1f} MB"
    if seconds >= 1 and done:
        text += f", {done / seconds / 1e6:,.1f} MB/s"
        if done < total:
            left = round((total - done) * seconds / done)
            text += f", {left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"
    return text
