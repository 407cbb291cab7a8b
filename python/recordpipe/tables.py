"""Parquet and Arrow IPC files, from TFRecords and to them, through pyarrow; memory is bounded."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from recordpipe import _native
from recordpipe.errors import Error, error_of
from recordpipe.filesystem_adapters import files_on
from recordpipe.inputs import file_path_of
from recordpipe.table_files import reading_file, writing_file

if TYPE_CHECKING:
    from recordpipe.dataset import Dataset

__all__ = [
    "checked_codec",
    "is_table",
    "pyarrow_for",
    "record_batches",
    "table_batches",
    "write_empty_table",
    "write_table",
]

# Rows are read in batches of about so many bytes, and at most so many rows.
_BATCH_BYTES = 8 << 20
_BATCH_ROWS = 1024  # also where nothing says how large rows are
_MAX_ROWS = 1 << 16  # of Parquet
# A row group of Parquet ends behind the batch that reaches one of these.
_GROUP_BYTES = 32 << 20
_GROUP_ROWS = 1 << 20
# So many first records say how large records are.
_SAMPLED = 64

_PARQUET = (".parquet", ".pq")
_IPC = (".arrow", ".feather", ".ipc")
_PARQUET_CODECS = ("snappy", "zstd", "gzip", "lz4", "brotli", "none")
_IPC_CODECS = ("zstd", "lz4", "none")


def is_table(path: str) -> bool:
    """Whether a name is that of a Parquet or Arrow IPC file."""
    return path.lower().endswith(_PARQUET + _IPC)


def _is_parquet(name: str) -> bool:
    return name.lower().endswith(_PARQUET)


def checked_codec(name: str, compression: str | None) -> str:
    """The compression of a file of this name."""
    codec = compression
    if codec is None:
        codec = "snappy" if _is_parquet(name) else "none"
    codecs = _PARQUET_CODECS if _is_parquet(name) else _IPC_CODECS
    if not isinstance(codec, str) or codec.lower() not in codecs:
        what = "Parquet" if _is_parquet(name) else "an Arrow IPC file"
        listed = ", ".join(f'"{one}"' for one in codecs)
        raise ValueError(f"compression of {what} is one of {listed}, not {compression!r}")
    return codec.lower()


def write_table(
    path: str | os.PathLike[str],
    dataset: Dataset,
    *,
    compression: str | None = None,
    no_clobber: bool = False,
    filesystem: Any = None,
) -> int:
    """Writes a parsed Dataset to a Parquet or Arrow IPC file; returns the number of rows.

        ds = rp.tfrecords("train-*").parse(features).shuffle(seed=7)
        rp.write_table("train.parquet", ds)

    Columns are those of :meth:`Dataset.__arrow_c_stream__`: a missing feature is null. The file
    appears at the end, whole; after an exception there is none, and an older one is unchanged. A
    row group has about 32 MiB, and memory a few times that. Needs pyarrow.

    Args:
        path: of the file; its suffix says the format: .parquet, .pq, or .arrow, .feather, .ipc for
            Arrow IPC (Feather V2).
        dataset: behind :meth:`Dataset.parse`. Without :meth:`Dataset.batch`, the sizes of the first
            records decide how many rows are read at a time.
        compression: of Parquet: "snappy" (default), "zstd", "gzip", "lz4", "brotli" or "none"; of
            Arrow IPC: "zstd", "lz4" or "none" (default).
        no_clobber: True refuses to replace a file that exists (AlreadyExistsError).
        filesystem: of the path; see ``help(recordpipe.filesystem)``.

    Raises:
        InvalidArgumentError: the Dataset, or one of its functions, reads the file that would be
            replaced.
        UnsupportedError: elements have no columns, or the suffix is another one.
    """
    name = file_path_of(path, filesystem)
    if not is_table(name):
        reason = f"the format is unknown: names end in {', '.join(_PARQUET + _IPC)}"
        raise error_of("unsupported", reason, path=name)
    compression = checked_codec(name, compression)
    files = files_on(filesystem)
    if no_clobber:
        _native.require_absent(files, [name])
    dataset._native.require_not_read(files, [name])
    pyarrow = pyarrow_for("a Parquet or Arrow IPC file", name)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_native.WriteInProgress(files, [name]))
        has_batches = any(each.method == "batch" for each in dataset._operators)
        rows = dataset if has_batches else dataset.batch(_rows_of(dataset))
        batches = pyarrow.RecordBatchReader.from_stream(rows)
        sink = stack.enter_context(writing_file(name, filesystem))
        return _write(name, batches.schema, batches, sink, compression)


def write_empty_table(path: str, *, compression: str | None, filesystem: Any) -> None:
    """Writes a file without columns and rows, which is all that is known of no record."""
    pyarrow = pyarrow_for("a Parquet or Arrow IPC file", path)
    with writing_file(path, filesystem) as sink:
        _write(path, pyarrow.schema([]), [], sink, checked_codec(path, compression))


def _rows_of(dataset: Dataset) -> int:
    """The rows of a batch: by the sizes of the first rows' columns."""
    import pyarrow

    first = pyarrow.RecordBatchReader.from_stream(
        dataset.take(_SAMPLED).batch(8).with_options(threads=1)
    )
    rows = size = 0
    for batch in first:
        rows += batch.num_rows
        size += batch.nbytes
        if size > _BATCH_BYTES:
            break
    return max(1, min(_BATCH_ROWS, _BATCH_BYTES * rows // size if size else _BATCH_ROWS))


def _write(name: str, schema: Any, batches: Iterable[Any], sink: Any, codec: str) -> int:
    import pyarrow

    if _is_parquet(name):
        import pyarrow.parquet

        with pyarrow.parquet.ParquetWriter(sink, schema, compression=codec) as writer:
            rows = 0
            for group in _groups(batches):
                writer.write_table(pyarrow.Table.from_batches(group), row_group_size=_GROUP_ROWS)
                rows += sum(batch.num_rows for batch in group)
            return rows
    options = pyarrow.ipc.IpcWriteOptions(compression=None if codec == "none" else codec)
    with pyarrow.ipc.new_file(sink, schema, options=options) as writer:
        rows = 0
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
        return rows


def _groups(batches: Iterable[Any]) -> Iterator[list[Any]]:
    """Batches that make a row group each."""
    group: list[Any] = []
    size = rows = 0
    for batch in batches:
        group.append(batch)
        size += batch.nbytes
        rows += batch.num_rows
        if size >= _GROUP_BYTES or rows >= _GROUP_ROWS:
            yield group
            group, size, rows = [], 0, 0
    if group:
        yield group


def table_batches(
    name: str, filesystem: Any, columns: list[str] | None, advance: Callable[[float], None]
) -> Iterator[Any]:
    """Yields the record batches of a file; calls ``advance`` with the share that has been read."""
    pyarrow = pyarrow_for("a Parquet or Arrow IPC file", name)
    with contextlib.closing(_batches_and_shares(pyarrow, name, filesystem, columns)) as batches:
        while True:
            try:
                batch, share = next(batches)
            except StopIteration:
                return
            except Error:  # of the file system
                raise
            except pyarrow.ArrowNotImplementedError as error:
                raise error_of("unsupported", str(error), path=name) from None
            except (pyarrow.ArrowInvalid, OSError) as error:
                if getattr(error, "errno", None) is not None:  # of the operating system
                    raise
                raise error_of("corrupted", str(error), path=name) from None
            yield batch
            advance(share)


def _batches_and_shares(
    pyarrow: Any, name: str, filesystem: Any, columns: list[str] | None
) -> Generator[tuple[Any, float], None, None]:
    with reading_file(name, filesystem) as source:
        if _is_parquet(name):
            parquet = importlib.import_module("pyarrow.parquet")
            file = parquet.ParquetFile(source, buffer_size=1 << 20)
            done = 0
            for batch in record_batches(file, columns) or ():
                done += batch.num_rows
                yield batch, done / file.metadata.num_rows
            return
        with pyarrow.ipc.open_file(source) as reader:
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                share = (number + 1) / reader.num_record_batches
                yield batch if columns is None else batch.select(columns), share


def record_batches(table: Any, columns: list[str] | None = None) -> Iterator[Any] | None:
    """The batches of a pyarrow.parquet.ParquetFile or a dataset of pyarrow; None for others."""
    if hasattr(table, "iter_batches") and hasattr(table, "metadata"):
        return _parquet_batches(table, columns)
    if hasattr(table, "to_batches") and hasattr(table, "get_fragments"):
        return _dataset_batches(table, columns)
    return None


def _parquet_batches(file: Any, columns: list[str] | None) -> Iterator[Any]:
    # pyarrow keeps the memory of all row groups of one call.
    for group in range(file.metadata.num_row_groups):
        rows = _rows(file.metadata.row_group(group))
        yield from file.iter_batches(batch_size=rows, row_groups=[group], columns=columns)


def _dataset_batches(dataset: Any, columns: list[str] | None) -> Iterator[Any]:
    """Those of one fragment after the other, in Parquet of one row group after the other."""
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # it has a filter
        yield from dataset.to_batches(columns=columns, **_options(_BATCH_ROWS))
        return
    for fragment in fragments:
        is_parquet = hasattr(fragment, "split_by_row_group")
        for part in fragment.split_by_row_group() if is_parquet else [fragment]:
            rows = _BATCH_ROWS
            if is_parquet:
                rows = min(_rows(part.metadata.row_group(group.id)) for group in part.row_groups)
            yield from part.to_batches(schema=dataset.schema, columns=columns, **_options(rows))


def _options(rows: int) -> dict[str, int]:
    return {"batch_size": rows, "batch_readahead": 1, "fragment_readahead": 1}


def _rows(group: Any) -> int:
    """The rows of a batch, by the size of a row group before compression."""
    return int(
        max(1, min(_MAX_ROWS, _BATCH_BYTES * group.num_rows // max(group.total_byte_size, 1)))
    )


def pyarrow_for(what: str, path: str | None = None) -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ImportError as error:
        reason = f"{what} needs pyarrow: {error}"
        raise error_of("unsupported", reason, "pip install 'recordpipe[arrow]'", path) from None
