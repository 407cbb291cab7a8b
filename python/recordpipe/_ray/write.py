"""recordpipe.ray.write_tfrecords: Ray Data as TFRecord files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import ray.data
from ray.data import Datasink
from ray.data.block import BlockAccessor

from recordpipe.errors import error_of
from recordpipe.filesystem_adapters import files_on
from recordpipe.inputs import absolute_path, file_path_of, whole_number
from recordpipe.writer import Writer

__all__ = ["make_folder", "write_tfrecords"]

_EXTENSIONS = {None: "", "none": "", "gzip": ".gz", "zlib": ".zlib", "zstd": ".zst"}


def write_tfrecords(
    dataset: ray.data.Dataset,
    folder: str | os.PathLike[str],
    *,
    filesystem: Any = None,
    compression: str | None = None,
    compression_level: int = 6,
    index: bool = False,
    rows_per_file: int | None = None,
    uint64_bits: bool = False,
    **options: Any,
) -> list[str]:
    """Writes each row of a ray.data.Dataset as a tf.train.Example, and returns the paths.

    The files are FOLDER/part-000000.tfrecord, ...: one for each of Ray's write tasks. Each appears
    when it is whole, under a name that depends on the task only: a task that runs again replaces
    its file, so no row is lost or doubled. If the job fails, its files are removed. Columns become
    features as :meth:`Writer.write_table` says.

    Args:
        folder: of the files, on a file system that all workers have, or the URL of one in an object
            store; made if it is missing. It must not have files named part-*.
        filesystem: of the folder; see :func:`read_tfrecords`.
        compression: "gzip", "zlib" or "zstd"; names get its extension. Default: none.
        compression_level: gzip and zlib: 0 to 9; zstd: 1 to 22.
        index: also writes an index beside each file. Not for compressed files.
        rows_per_file: at least so many rows in each file, but for the last. Default: Ray's choice.
        uint64_bits: writes integers above 2^63 - 1 by their bits, as of :func:`encode_example`.
        options: those of ``Dataset.write_datasink``: ``concurrency``, ``ray_remote_args``.

    Raises:
        AlreadyExistsError: the folder has such files.
    """
    if compression not in _EXTENSIONS:
        raise ValueError(f'compression is "gzip", "zlib" or "zstd", not {compression!r}')
    if rows_per_file is not None:
        whole_number("rows_per_file", rows_per_file, 1)
    target = absolute_path(file_path_of(folder, filesystem), filesystem)
    sink = _RecordSink(
        target if target.endswith("://") else target.rstrip("/"),
        _EXTENSIONS[compression],
        {
            "compression": compression,
            "compression_level": compression_level,
            "index": index,
            "uint64_bits": uint64_bits,
            "filesystem": filesystem,
        },
        rows_per_file,
    )
    dataset.write_datasink(sink, **options)
    return sink.paths


class _RecordSink(Datasink[str]):
    def __init__(
        self, folder: str, extension: str, options: dict[str, Any], rows_per_file: int | None
    ) -> None:
        self._folder = folder
        self._extension = extension
        self._options = options
        self._filesystem = options.get("filesystem")
        self._rows_per_file = rows_per_file
        self.paths: list[str] = []
        make_folder(folder, self._filesystem)
        if found := self._found():
            hint = "remove the part-* files of the folder, or give another folder"
            path = os.path.join(folder, min(found))
            raise error_of("already_exists", "an earlier job has written it", hint, path)

    @property
    def min_rows_per_write(self) -> int | None:
        return self._rows_per_file

    def write(self, blocks: Iterable[Any], ctx: Any) -> str:
        name = f"part-{ctx.task_idx:06d}.tfrecord{self._extension}"
        path = os.path.join(self._folder, name)
        # Nothing appears before the end of the block, and nothing at all after an exception.
        with Writer(path, **self._options) as writer:
            for block in blocks:
                accessor = BlockAccessor.for_block(block)
                table = accessor.to_arrow()
                if any(map(_is_of_objects, table.schema.types)):
                    for row in accessor.iter_rows(public_row_format=True):
                        writer.write(row)
                else:
                    writer.write_table(table)
        return path

    def on_write_complete(self, write_result: Any) -> None:
        self.paths = sorted(path for path in write_result.write_returns if path)
        kept = {os.path.basename(path) for path in self.paths}
        self._remove(self._found() - kept - {f"{name}.idx" for name in kept})

    def on_write_failed(self, error: Exception) -> None:
        self._remove(self._found())

    def _found(self) -> set[str]:
        return set(files_on(self._filesystem).names(self._folder, "part-"))

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            files_on(self._filesystem).remove(os.path.join(self._folder, name))


def _is_of_objects(column: Any) -> bool:
    """Whether values are pickled, because Arrow has no type for them: integers of 64 bits too."""
    return getattr(column, "extension_name", "") == "ray.data.arrow_pickled_object"


def make_folder(folder: str, filesystem: Any) -> None:
    """On this machine; on other file systems, files come with their folders."""
    files_on(filesystem).make_folders(folder)
