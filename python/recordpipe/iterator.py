"""Iterator: one pass over a Dataset, with a state that can be saved."""

from __future__ import annotations

import atexit
import base64
import binascii
import os
import sys
import warnings
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from recordpipe import _native
from recordpipe._plan.execution_operators import chosen_epoch
from recordpipe._plan.plan import Plan
from recordpipe.errors import Error, error_of
from recordpipe.inputs import path_of

__all__ = ["Iterator", "iterate"]

_VERSION = 1
_MAX_STATE_SIZE = 2**30
_PYTHON = sys.implementation.cache_tag or ""  # the version, which decides on the bytecode
_warned: set[str] = set()

# The threads of a pipeline must not run functions while the interpreter ends, also not those of
# iterators that a daemon thread makes then. By id(): listing a WeakSet fails if another thread adds
# to it meanwhile.
_open: weakref.WeakValueDictionary[int, Iterator] = weakref.WeakValueDictionary()
_is_ending = False


@atexit.register
def _close_all() -> None:
    global _is_ending
    _is_ending = True  # daemon threads go on meanwhile
    _native.begin_exit()
    for reference in _open.valuerefs():
        iterator = reference()
        if iterator is None:
            continue
        try:
            iterator.close()
        except Exception as error:  # the others must be closed, too
            warnings.warn(f"an iterator was not closed at exit: {error}", stacklevel=1)
    _native.warn_of_unlisted()  # of passes that have not ended


class Iterator(_native.Iterator):
    """One pass over a Dataset: ``iter(dataset)``.

    Several threads may use it: each element goes to one of them. A process made by ``fork()`` can't
    use the parent's iterators (InvalidArgumentError), but iterate their Datasets anew.

    ``close()``, the end of a ``with`` block and the garbage collector end the pass and its threads;
    they wait until the functions in Python that run at the time have returned: for ever, if one
    never does.

    While ``next()`` waits on the main thread, handlers of signals run. What one raises, such as
    KeyboardInterrupt, comes out of ``next()``; the next call goes on with the next element. From
    the first signal on, functions in Python no longer run on the thread that iterates: signals that
    come again and again, as those of a timer, then interrupt none of them.

    Attributes:
        position: the number of elements returned, including those before a restored state.
        epoch: of this pass; after load_state_dict(), that of the state.
    """

    def __init__(
        self, dataset: _native.Dataset, epoch: int | None, at_end: Callable[[int], None] | None
    ) -> None:
        super().__init__(dataset, epoch, at_end)
        _open[id(self)] = self
        if _is_ending:  # on a daemon thread: the pass ends at once
            self.close()

    def state_dict(self) -> dict[str, Any]:
        """Returns the place after the last returned element, as a dict of JSON's types.

        Each call returns a new dict. The same place can be restored in another process, with any
        number of threads; the bytes are those of a C++ iterator's state. Files are not read.
        """
        state, position = self._state()
        return {
            "version": _VERSION,
            "position": position,
            "plan": f"{self._plan_hash:016x}",
            "python": _PYTHON,
            "state": base64.b64encode(state).decode(),
        }

    def load_state_dict(self, state_dict: dict[str, Any], *, compare_code: bool = True) -> None:
        """Continues after the place of ``state_dict``.

        Raises InvalidArgumentError, naming what differs, if the state was saved from another plan
        or if its files have changed, or if its fields contradict each other; the iterator then
        keeps its place. Ctrl-C ends a long way to the place; unless it is reached, the iterator
        then starts its epoch again.

        Of the plan, operators and their parameters are compared, and functions by their ``name``
        and their code: the bytecode, constants, defaults, and the values of the variables that they
        use (numbers, text, NumPy's arrays, collections of these; functions and classes of modules
        that are not installed, too; of these modules, and of objects of these classes, the
        attributes that the code reads). What can't be compared, such as a model that a function
        uses, is named by a warning, once. What installed packages define is compared by name. The
        bytecode of another version of Python differs: functions are then compared by name only,
        with a warning. Not compared are the Datasets that a function of interleave() returns. Of
        files, names and sizes are compared, and of those that were opened, the content: all of it
        up to 72 KiB, 18 blocks of 4 KiB of a larger one.

        Args:
            compare_code: False accepts a state although the code of a function has changed: when
                you know that its results have not.
        """
        if not isinstance(state_dict, Mapping):
            raise _refusal(
                f"the state is {type(state_dict).__name__!r}, where state_dict() returns a dict"
            )
        try:
            version = state_dict["version"]
            if version != _VERSION:
                raise _refusal(f"a state of version {version!r}; this recordpipe reads {_VERSION}")
            state = base64.b64decode(state_dict["state"], validate=True)
            python = state_dict.get("python", _PYTHON)
        except (KeyError, TypeError, binascii.Error) as error:
            raise _refusal(f"not a state of an iterator ({error!r})") from None
        saved = _native.position_of_state(state)
        position = state_dict.get("position", saved)
        if not _is_position_of(position, saved):
            raise _refusal(f"'position' is {position!r}, where 'state' is after {saved} elements")
        plan = f"{self._plan_hash:016x}"
        saved_plan = state_dict.get("plan", plan)
        if not compare_code or python != _PYTHON:
            state, given = self._with_own_code(state), state
            if state != given:
                saved_plan = plan
                if compare_code:
                    _warn_of_other_python(python)
        if saved_plan == plan:
            self._restore_compared(state)
            return
        before, _ = self._state()
        self._restore(state)  # refuses the state of another plan, and names what differs
        self._restore(before)
        raise _refusal(f"'plan' is {saved_plan!r}, where 'state' is of plan {plan!r}")

    def _restore_compared(self, state: bytes) -> None:
        self._restore(state)
        _warn_of_not_compared(self._not_compared)

    def save_state(self, path: str | os.PathLike[str]) -> None:
        """Writes the place to a file, as C++ programs do (cifar10_batches --save-state).

        The file appears when it is complete, and replaces an older state of this name, or an empty
        file. Raises AlreadyExistsError if the file of this name is another one.
        """
        import tempfile  # 4 ms, which `import recordpipe` would take longer

        target = path_of(path)
        _require_replaceable(target)
        state, _ = self._state()
        with tempfile.NamedTemporaryFile(
            dir=os.path.dirname(target) or ".", prefix=".state.", delete=False
        ) as file:
            try:
                file.write(state)
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, target)
            except BaseException:
                os.unlink(file.name)
                raise

    def load_state(self, path: str | os.PathLike[str], *, compare_code: bool = True) -> None:
        """Continues after the place in a file of :meth:`save_state` or of a C++ program.

        Raises like :meth:`load_state_dict`; the file doesn't tell the version of Python.
        """
        path = path_of(path)
        with open(path, "rb") as file:
            state = file.read(_MAX_STATE_SIZE + 1)
        if len(state) > _MAX_STATE_SIZE:
            raise _refusal(f"{path!r} is too large for a state of an iterator")
        self._restore_compared(state if compare_code else self._with_own_code(state))

    def stats(self) -> dict[str, Any]:
        """Returns counts, and a profile of the operators as text.

        Keys: batches (lent so far), batches_allocated (of these, with newly allocated memory),
        batches_held (still in use), skipped (elements that :meth:`Dataset.ignore_errors` has left
        out, including those computed ahead), first_skipped (path, offset and reason of at most 100
        of them), damaged_files (different ones in which ``tfrecords(on_damage=...)`` has met
        damage, also ahead), regions_skipped, bytes_skipped and compressed_bytes_skipped (what was
        left out of them; the last are bytes that can't be decompressed), profile. Each
        ``tfrecords()`` counts what it leaves out, once also if it reads the file again in another
        epoch: damage in a file that is zipped with itself counts twice. Those that the function of
        :meth:`Dataset.interleave` or :meth:`Dataset.flat_map` returns count as one.
        """
        batches, allocated, held = self._leases()
        skipped, first, files, regions, size, compressed = self._skipped()
        return {
            "batches": batches,
            "batches_allocated": allocated,
            "batches_held": held,
            "skipped": skipped,
            "first_skipped": first,
            "damaged_files": files,
            "regions_skipped": regions,
            "bytes_skipped": size,
            "compressed_bytes_skipped": compressed,
            "profile": self._statistics(),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "an Iterator can't be pickled: send its state_dict() and the Dataset, and restore the "
            "state in an iterator made there"
        )

    def __enter__(self) -> Iterator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# Random Datasets of which a pass in epoch 0 has ended, while no epoch was chosen.
_passed: weakref.WeakSet[Plan] = weakref.WeakSet()


def iterate(plan: Plan) -> Iterator:
    """A pass. Warns at the first element if it repeats an earlier one, unless it continues a state:
    then the state chooses the epoch.
    """
    if not plan._random or chosen_epoch(plan) is not None:
        return Iterator(plan._native, None, None)
    if plan in _passed:
        iterator = Iterator(plan._native, None, None)
        iterator._set_at_first(_warn_of_repetition)
        return iterator

    def at_end(epoch: int) -> None:
        (_passed.add if epoch == 0 else _passed.discard)(plan)

    return Iterator(plan._native, None, at_end)


def _warn_of_repetition() -> None:
    warnings.warn(
        "this Dataset is random, and a second pass over it repeats the order of epoch 0; "
        "iterate over dataset.epoch(k) for epoch k, or end the Dataset in repeat() where "
        "another program makes the passes (in Keras, with steps_per_epoch)",
        stacklevel=2,
    )


def _warn_of_not_compared(parts: list[str]) -> None:
    new = [part for part in dict.fromkeys(parts) if part not in _warned]
    if not new:
        return
    _warned.update(new)
    warnings.warn(
        "a state was restored, but these may have changed since it was saved, because they can't "
        f"be compared: {'; '.join(new)}; name=... tells versions of a function apart",
        stacklevel=4,
    )


def _warn_of_other_python(saved: Any) -> None:
    warnings.warn(
        f"the state was saved by Python {saved!r}, and this is {_PYTHON!r}: the code of functions "
        "is not compared, only their names",
        stacklevel=3,
    )


def _require_replaceable(path: str) -> None:
    """Refuses a file that is neither empty nor a state, of whatever version: that begins with the
    version, and ends with a checksum, a field of five bytes.
    """
    if not os.path.exists(path):
        return
    with open(path, "rb") as file:
        first = file.read(1)
        file.seek(max(os.path.getsize(path) - 5, 0))
        is_state = first == b"\x08" and file.read(1) == b"\x7d"
    if first and not is_state:
        reason = "exists, is no state of an iterator, and would be replaced"
        raise error_of("already_exists", reason, "give the state another name", path)


def _is_position_of(position: Any, saved: int) -> bool:
    """Whether a state after ``saved`` elements may have been saved at ``position``.

    Behind a shard that comes last, the state counts the elements of all workers.
    """
    if type(position) is not int or position < 0:
        return False
    return position in (0, saved) or saved // max(saved // position, 1) == position


def _refusal(reason: str) -> Error:
    return error_of("invalid_argument", reason)
