"""recordpipe.ray.global_shuffle: a random order of all records, of data that fits no machine."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import ray.data

from recordpipe import _native as native
from recordpipe._ray.philox import random_keys
from recordpipe._ray.read import RecordSource, batch_size, blocks_of, shared_files
from recordpipe._ray.write import make_folder
from recordpipe.dataset import Dataset
from recordpipe.filesystem_adapters import files_on
from recordpipe.inputs import Paths, absolute_path, file_path_of, whole_number
from recordpipe.sources import tfrecords
from recordpipe.writer import Writer, shard_paths

__all__ = ["ShuffleReport", "global_shuffle"]

_SCHEMA = pa.schema(
    [
        ("to", pa.int32()),  # the output shard
        ("key", pa.uint64()),  # the order in it; of equal keys, that of the inputs
        ("shard", pa.int32()),
        ("number", pa.int64()),
        ("record", pa.large_binary()),
    ]
)


@dataclass(frozen=True)
class ShuffleReport:
    """What :func:`global_shuffle` wrote.

    Attributes:
        paths: of the files.
        records: the number of records of each.
    """

    paths: tuple[str, ...]
    records: tuple[int, ...]


def global_shuffle(
    paths: Paths,
    out: str | os.PathLike[str],
    *,
    shards: int,
    seed: int = 0,
    recursive: bool = False,
    filesystem: Any = None,
    compression: str | None = None,
    compression_level: int = 6,
    check_crc: bool = True,
    partitions: int | None = None,
) -> ShuffleReport:
    """Writes all records in a random order to ``shards`` files, by Ray Data's shuffle.

        rpr.global_shuffle("/data/train-*", "/data/shuffled/train", shards=4096, seed=7)

    Each record draws its shard and its place from Philox(seed, number of its file, its number in
    the file): all orders are equally likely, and the same paths in the same order, ``shards`` and
    seed give the same bytes on any number of machines. The shards' numbers of records differ by
    chance: by about their square root. Ray spills to disks what doesn't fit into the object stores;
    a task needs memory for about three times the records of one partition. Each file appears when
    it is whole, and a task that runs again replaces it by the same bytes.

    Args:
        paths: a path, a folder, a pattern, or several; see :func:`read_tfrecords`.
        out: the start of the paths: OUT-00000-of-04096, or with an extension,
            OUT-00000-of-04096.tfrecord. None of them may be one of ``paths``.
        shards: the number of files.
        seed: 0 to 2^64 - 1.
        recursive: True reads the folders below a folder, too.
        filesystem: of all paths; see :func:`read_tfrecords`.
        compression: "gzip", "zlib" or "zstd". Default: none.
        compression_level: gzip and zlib: 0 to 9; zstd: 1 to 22.
        check_crc: False accepts wrong CRCs.
        partitions: the number of Ray's hash partitions. Default: ``shards``, at most 1,024.
    """
    whole_number("shards", shards, 1, 99_999)
    whole_number("seed", seed)
    files = shared_files(paths, recursive, filesystem)
    targets = shard_paths(absolute_path(file_path_of(out, filesystem), filesystem), shards)
    native.require_no_input(files_on(filesystem), files.paths, targets)
    make_folder(os.path.dirname(targets[0]), filesystem)
    options: dict[str, Any] = {
        "compression": compression,
        "compression_level": compression_level,
        "filesystem": filesystem,
    }
    read = functools.partial(_read, seed, shards, check_crc, filesystem)
    written = (
        ray.data.read_datasource(RecordSource(files, read))
        .groupby("to", num_partitions=partitions or min(shards, 1024))
        .map_groups(
            _write,
            fn_args=(targets, options),
            batch_format="pyarrow",
        )
        .take_all()
    )
    records = dict.fromkeys(range(shards), 0)
    records.update({row["to"]: row["records"] for row in written})
    for number, count in records.items():
        if count == 0:
            Writer(targets[number], **options).close()
    return ShuffleReport(tuple(targets), tuple(records.values()))


def _read(
    seed: int, shards: int, check_crc: bool, filesystem: Any, files: Sequence[tuple[int, str]]
) -> Iterator[pa.Table]:
    for shard, path in files:
        records = tfrecords(path, check_crc=check_crc, filesystem=filesystem)
        size = batch_size(records)
        if size:
            yield from blocks_of(_batches(records, seed, shards, shard, size))


def _batches(
    records: Dataset, seed: int, shards: int, shard: int, size: int
) -> Iterator[pa.RecordBatch]:
    first = 0
    waiting: list[bytes] = []

    def batch() -> pa.RecordBatch:
        count = len(waiting)
        draws, keys = random_keys(seed, shard, first, count)
        to = _below(draws, shards)
        columns = [
            pa.array(to),
            pa.array(keys),
            pa.array(np.full(count, shard, np.int32)),
            pa.array(np.arange(first, first + count, dtype=np.int64)),
            pa.array(waiting, pa.large_binary()),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)

    for record in records.with_options(threads=1):
        waiting.append(record)
        if len(waiting) == size:
            yield batch()
            first += len(waiting)
            waiting.clear()
    if waiting:
        yield batch()


def _below(draws: np.typing.NDArray[np.uint64], most: int) -> np.typing.NDArray[np.int32]:
    """Uniform numbers below ``most``, by the upper 32 bits; ``most`` is less than 2^17."""
    return ((draws >> np.uint64(32)) * np.uint64(most) >> np.uint64(32)).astype(np.int32)


def _write(group: pa.Table, targets: list[str], options: dict[str, Any]) -> pa.Table:
    number = group["to"][0].as_py()
    indices = pc.sort_indices(
        group,
        sort_keys=[("key", "ascending"), ("shard", "ascending"), ("number", "ascending")],
    )
    records = group["record"].combine_chunks()
    with Writer(targets[number], **options) as writer:
        for index in indices.to_numpy():
            writer.write(records[index].as_py())
    return pa.table({"to": [number], "records": [len(records)]})
