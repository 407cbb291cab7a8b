"""recordpipe.ray.read_tfrecords: TFRecords as blocks of Ray Data."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import ray.data
from ray.data import Datasource, ReadTask
from ray.data.block import BlockMetadata

from recordpipe._plan.found_features import (
    FoundFeatures,
    Unseen,
    checked_unseen,
    found_features,
)
from recordpipe.dataset import Dataset
from recordpipe.features import Feature, ListFeature, known_compression
from recordpipe.inputs import FoundFiles, Paths, absolute_path, found_files
from recordpipe.schema import Schema, schema
from recordpipe.sources import tfrecords

__all__ = ["MAX_BLOCK_BYTES", "RecordSource", "read_tfrecords"]

MAX_BLOCK_BYTES = 128 << 20
# Of the batches that a block is made of.
_BATCH_BYTES = 4 << 20
_MAX_BATCH = 4096
# The records of the first file that are looked into.
_LOOKED_AT = 1000
_WAYS_OUT = (
    "pass read_tfrecords() a schema; recordpipe.schema(paths, executor=recordpipe.ray.Executor()) "
    'finds that of all records; unseen="warn" leaves others out, and counts them'
)

Read = Callable[[Sequence[tuple[int, str]]], Iterator[pa.Table]]


def read_tfrecords(
    paths: Paths,
    *,
    schema: Schema | Mapping[str, Feature] | None = None,
    unseen: Unseen | None = None,
    recursive: bool = False,
    filesystem: Any = None,
    check_crc: bool = True,
    compression: str | None = None,
    **options: Any,
) -> ray.data.Dataset:
    """Returns a ray.data.Dataset of the files' Examples: a feature is a column, a record a row.

        ds = rpr.read_tfrecords("/data/train-*.tfrecord")
        ds = rpr.read_tfrecords("/data/*", schema={"label": rp.FixedLenFeature([], "int64")})

    A task reads whole files as a stream of Arrow blocks of at most 128 MiB, or of one record that
    is larger. Every CRC is checked. A column has the type that Arrow streams of ``Dataset`` have: a
    :class:`FixedLenFeature` of one value is a column of numbers or bytes, any other feature one of
    lists; a missing feature is null. Unless features are declared, bytes that are all text are
    strings.

    Args:
        paths: a path, a folder, a pattern ("train-*.tfrecord", "train-{000..127}"), a set of
            shards ("train@64"), a URL (s3://, gs://), or several; found now, by this
            process. All workers need the same paths, and credentials of their own.
        schema: what :func:`schema` returns, or what ``Dataset.parse()`` takes. Default: that of the
            first 1,000 records of the first file that is not empty. If other records have other
            numbers of values, give ``rp.schema(paths, executor=rpr.Executor())``, which looks into
            all. SequenceExamples need a schema of :func:`schema`, or this default: their columns
            are the context's features and the feature lists.
        unseen: without ``schema``, what becomes of a record with a feature that the first ones
            lack. "error" (default), or "warn": the feature is left out; each task writes a
            UserWarning that counts such records, and names the first.
        recursive: True reads the folders below a folder, too.
        filesystem: of all paths: one of fsspec or pyarrow, or your own, which is pickled
            for the workers; see ``help(recordpipe.filesystem)``. Default: the machine, and the
            stores of URLs.
        check_crc: False accepts wrong CRCs.
        compression: "none", "gzip", "zlib" or "zstd". Default: found out from the first bytes of
            each file.
        options: those of ``ray.data.read_datasource``: ``concurrency``, ``ray_remote_args``, ....

    Raises:
        NotFoundError: a file doesn't exist, or a pattern matches none.
        UnsupportedError: the records have no features; when the Dataset is computed, for a feature
            that the first records lack.
        DataLossError: when the Dataset is computed, for a damaged record, with its path and offset.
    """
    files = shared_files(paths, recursive, filesystem)
    known = known_compression(compression)
    if schema is not None and unseen is not None:
        raise ValueError("unseen is about features that are found; a schema was passed")
    if isinstance(schema, Schema):
        parsing = _Parsing(
            schema.features(for_table=True), schema.feature_lists(for_table=True), schema.kind
        )
    elif schema is not None:
        parsing = _Parsing(dict(schema), {})
    else:
        parsing = _found(
            files.paths, check_crc, compression, filesystem, checked_unseen(unseen or "error")
        )
    read = functools.partial(_read, parsing, check_crc, known, filesystem)
    return ray.data.read_datasource(RecordSource(files, read), **options)


def shared_files(paths: Paths, recursive: bool, filesystem: Any) -> FoundFiles:
    """The files under absolute paths: workers have another working directory."""
    found = found_files(paths, recursive, filesystem)
    return FoundFiles([absolute_path(path, filesystem) for path in found.paths], found.sizes)


class RecordSource(Datasource):
    """Calls ``read`` with the numbers and paths of consecutive files, in Ray's tasks."""

    def __init__(self, files: FoundFiles, read: Read) -> None:
        super().__init__()
        self._files, self._sizes = files.paths, files.sizes
        self._read = read

    def get_name(self) -> str:
        return "TFRecords"

    def estimate_inmemory_data_size(self) -> int:
        return sum(self._sizes)

    def get_read_tasks(
        self,
        parallelism: int,
        per_task_row_limit: int | None = None,
        data_context: Any = None,
    ) -> list[ReadTask]:
        tasks = []
        for begin, end in self._groups(parallelism):
            numbered = [(i, self._files[i]) for i in range(begin, end)]
            metadata = BlockMetadata(
                num_rows=None,
                size_bytes=sum(self._sizes[begin:end]),
                exec_stats=None,
                input_files=tuple(self._files[begin:end]),
            )
            task = functools.partial(self._read, numbered)
            tasks.append(ReadTask(task, metadata, per_task_row_limit=per_task_row_limit))
        return tasks

    def _groups(self, parallelism: int) -> Iterator[tuple[int, int]]:
        """Groups of consecutive files, as many as asked for, of nearly equal sizes in all."""
        left = sum(self._sizes)
        groups = min(max(1, parallelism), len(self._files))
        begin = size = 0
        for i, file_size in enumerate(self._sizes):
            size += file_size
            files_left = len(self._sizes) - i - 1
            following = self._sizes[i + 1] if files_left else 0
            is_full = groups > 1 and (size + following / 2) * groups > left
            if files_left == 0 or files_left == groups - 1 or is_full:
                yield begin, i + 1
                begin, left, size, groups = i + 1, left - size, 0, groups - 1


def blocks_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Joins batches to blocks of at most MAX_BLOCK_BYTES, and slices larger ones."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        for part in _sliced(batch):
            if waiting and size + part.get_total_buffer_size() > MAX_BLOCK_BYTES:
                yield pa.Table.from_batches(waiting)
                waiting, size = [], 0
            waiting.append(part)
            size += part.get_total_buffer_size()
    if waiting:
        yield pa.Table.from_batches(waiting)


def _sliced(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if batch.nbytes <= MAX_BLOCK_BYTES or batch.num_rows == 1:
        yield batch
        return
    middle = batch.num_rows // 2
    yield from _sliced(batch.slice(0, middle))
    yield from _sliced(batch.slice(middle))


@dataclass(frozen=True)
class _Parsing:
    """What makes columns of records; with lists, of SequenceExamples or ExampleListWithContexts."""

    features: dict[str, Feature]
    lists: dict[str, ListFeature]
    kind: str = "Example"

    def __call__(self, records: Dataset) -> Dataset:
        features, lists = self.features, FoundFeatures(self.lists)
        if not isinstance(features, FoundFeatures):
            features = FoundFeatures(features)  # a file may lack some in all its records
        if self.kind == "ExampleListWithContext":
            return records.parse_example_list(features, lists)
        if lists:
            return records.parse_sequence_example(features, lists)
        return records.parse(features)


def _found(
    files: Sequence[str],
    check_crc: bool,
    compression: str | None,
    filesystem: Any,
    unseen: Unseen,
) -> _Parsing:
    for path in files:
        found = schema(
            path,
            limit=_LOOKED_AT,
            check_crc=check_crc,
            input_compression=compression,
            threads=1,
            filesystem=filesystem,
        )
        if found.records:
            features = found_features(found, unseen, _WAYS_OUT)
            return _Parsing(features, found.feature_lists(for_table=True), found.kind)
    return _Parsing({}, {})


def _read(
    parsing: _Parsing,
    check_crc: bool,
    compression: str,
    filesystem: Any,
    files: Sequence[tuple[int, str]],
) -> Iterator[pa.Table]:
    for _, path in files:
        records = tfrecords(
            path, check_crc=check_crc, compression=compression or None, filesystem=filesystem
        )
        size = batch_size(records)
        if not size:
            continue
        parsed = parsing(records).batch(size).with_options(threads=1)
        yield from blocks_of(pa.RecordBatchReader.from_stream(parsed))


def batch_size(records: Dataset) -> int:
    """So many records as the first ones have about _BATCH_BYTES; 0 without any."""
    count = size = 0
    for record in records.take(100).with_options(threads=1):
        count += 1
        size += len(record)
        if size >= _BATCH_BYTES:
            break
    return min(_MAX_BATCH, max(1, _BATCH_BYTES * count // max(1, size))) if count else 0
