"""Sources of Datasets: TFRecord files, lists, generators; and those made of several Datasets."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from recordpipe import _native as native
from recordpipe._plan.plan import Plan, checked_plan, shown
from recordpipe._plan.source_plans import (
    ChooseFromDatasets,
    FromGenerator,
    FromList,
    ListFiles,
    Range,
    SampleFromDatasets,
    Tfrecords,
    Zip,
)
from recordpipe.dataset import Dataset
from recordpipe.features import known_compression
from recordpipe.filesystem_adapters import files_on
from recordpipe.inputs import (
    OnDamage,
    Paths,
    checked_on_damage,
    paths_of,
    whole_number,
)

__all__ = [
    "choose_from_datasets",
    "from_generator",
    "from_list",
    "list_files",
    "range",
    "sample_from_datasets",
    "tfrecords",
    "zip",
]


def tfrecords(
    paths: Paths,
    *,
    recursive: bool = False,
    filesystem: Any = None,
    check_crc: bool = True,
    compression: str | None = None,
    on_damage: OnDamage = "raise",
    cycle_length: int = 1,
    block_length: int = 1,
) -> Dataset:
    """Yields the records of TFRecord files as bytes, file after file.

    An index beside a plain file (PATH.idx, of ``tfrecord index``) is used. Files are opened when
    their first record is needed. By default, a damaged record is an element that raises
    :class:`DataLossError` with its path and offset; all records before it are yielded.

    Args:
        paths: a path, a folder, a pattern ("train-*.tfrecord", "train-{000..127}"), a set of
            shards ("train@64"), or several; found now, see ``help(recordpipe.inputs)``: one that is
            missing on this machine is a :class:`MissingFileError`. Files that appear later are no
            part of the Dataset, nor of its pickles. An empty list is a ValueError;
            ``from_list([])`` has no elements.
        recursive: True reads the folders below a folder, too.
        filesystem: of all paths: one of fsspec or pyarrow, or your own; see
            ``help(recordpipe.filesystem)``. Default: this machine, and the stores of URLs.
        check_crc: False accepts wrong CRCs.
        compression: "none", "gzip", "zlib" or "zstd"; "" is "none", as in tf.data. Default: found
            out from the first bytes of each file.
        on_damage: "raise" (see above), "skip_file" (leaves out damaged records, and after a damaged
            length or stream the rest of the file) or "resync" (leaves out only what is damaged);
            see ``help(recordpipe.inputs)``. The last two count what they leave out, in
            ``iter(ds).stats()``. They have no random access (``len(ds)``, ``ds[i]``, ``shuffle()``
            without a buffer), and read plain files on one thread, without their indexes.
        cycle_length: the number of files read at a time, block by block.
        block_length: consecutive records of one file.
    """
    format = known_compression(compression)
    damage = checked_on_damage(on_damage, check_crc)
    files, on = _record_files(paths, recursive, filesystem)
    interleaved = (
        whole_number("cycle_length", cycle_length),
        whole_number("block_length", block_length),
    )
    return Dataset._of(
        Tfrecords(files, filesystem, on, bool(check_crc), format, damage, *interleaved)
    )


def range(*bounds: int) -> Dataset:
    """Yields integers: ``range(end)``, ``range(begin, end)`` or ``range(begin, end, step)``.

    The same as of Python's ``range``, from -2**63 to 2**63 - 1; others raise ValueError. Random
    access for ``shuffle()`` without a buffer.
    """
    numbers = builtins.range(*bounds)
    for bound in (numbers.start, numbers.stop, numbers.step):
        if not -(2**63) <= bound < 2**63:
            raise ValueError(f"range() takes integers from -2**63 to 2**63 - 1, not {bound}")
    return Dataset._of(Range(numbers.start, numbers.stop, numbers.step))


def list_files(paths: Paths, *, recursive: bool = False, filesystem: Any = None) -> Dataset:
    """Yields the paths of files, which :func:`tfrecords` reads.

    ``rp.list_files("train-*").shuffle(seed=7).interleave(rp.tfrecords, 16)`` reads 16 files at a
    time, in another order in each epoch. A state compares the files.

    Args:
        paths, recursive, filesystem: as of :func:`tfrecords`; found now.
    """
    files, on = _record_files(paths, recursive, filesystem)
    return Dataset._of(ListFiles(files, filesystem, on))


def from_list(elements: Sequence[Any]) -> Dataset:
    """Yields the elements of a sequence; they may be any objects.

    Supports random access: ``ds[i]``, slices, and ``shuffle()`` without a buffer. A state of one
    list is refused for another, if they hold numbers, strings, bytes, arrays, and lists, tuples and
    dicts of these; of other objects, only the number is compared.
    """
    return Dataset._of(FromList(list(elements)))


def from_generator(factory: Callable[[], Iterable[Any]], *, name: str = "") -> Dataset:
    """Yields the elements of ``factory()``, which is called for each pass.

    Each call must make a new generator: one that was returned before is used up, and raises
    :class:`InvalidArgumentError`. Elements are computed ahead and not copied: a generator that
    fills one array again and again must yield copies of it.

    Args:
        name: part of the plan, as in :meth:`Dataset.map`.
    """
    if not callable(factory):
        raise TypeError(
            "from_generator() takes a function that returns a new iterable for each pass, such as "
            f"lambda: range(3), not {shown(factory)}"
        )
    return Dataset._of(FromGenerator(factory, name))


def zip(*datasets: Dataset) -> Dataset:
    """Yields tuples of one element of each Dataset; ends with the shortest.

    Keeps random access.
    """
    return Dataset._of(Zip(tuple(map(checked_plan, datasets))))


def sample_from_datasets(
    datasets: Sequence[Dataset],
    weights: Sequence[float] | None = None,
    *,
    seed: int = 0,
    stop_on_empty_dataset: bool = False,
) -> Dataset:
    """Draws each element from one of ``datasets``, chosen at random.

    Args:
        weights: relative probabilities; default: equal.
        stop_on_empty_dataset: ends when a chosen Dataset is at its end. Default: goes on with the
            others.
    """
    members = _members("sample_from_datasets", datasets)
    shares = [1.0] * len(members)
    if weights is not None:
        if not isinstance(weights, Iterable) or isinstance(weights, Dataset):
            raise TypeError(f"weights are numbers, one for each Dataset, not {shown(weights)}")
        shares = [float(weight) for weight in weights]
    return Dataset._of(SampleFromDatasets(members, shares, seed, stop_on_empty_dataset))


def choose_from_datasets(
    datasets: Sequence[Dataset],
    choice_dataset: Dataset,
    stop_on_empty_dataset: bool = True,
) -> Dataset:
    """Takes each element from the Dataset whose index comes next in ``choice_dataset``.

    ``choice_dataset`` yields integers from 0 to ``len(datasets) - 1``; any other is an element that
    fails. Each Dataset keeps its order. Ends with ``choice_dataset``.

    Args:
        stop_on_empty_dataset: ends also when a chosen Dataset is at its end (default, as in
            tf.data). False: such a choice yields nothing, and the end comes when all Datasets are
            at their ends.
    """
    members = _members("choose_from_datasets", datasets)
    choices = checked_plan(choice_dataset)
    return Dataset._of(ChooseFromDatasets(members, choices, stop_on_empty_dataset))


def _members(caller: str, datasets: Any) -> tuple[Plan, ...]:
    if isinstance(datasets, Dataset):
        raise TypeError(f"{caller}() takes a list of Datasets: {caller}([first, second])")
    return tuple(map(checked_plan, datasets))


def _record_files(
    paths: Paths, recursive: bool, filesystem: Any
) -> tuple[list[str], native.FileSystem]:
    """The files of ``paths``, and where they are. Those on this machine must be there."""
    on = files_on(filesystem)
    return native.record_paths(on, paths_of(paths, filesystem), bool(recursive)), on
