"""Writing TFRecord files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from recordpipe import _native
from recordpipe._plan.plan import Plan
from recordpipe.errors import InvalidArgumentError
from recordpipe.features import (
    NUMBERS,
    as_floats,
    float32_values,
    known_compression,
    unicode_text,
)
from recordpipe.filesystem_adapters import files_on
from recordpipe.inputs import file_path_of
from recordpipe.ragged import Ragged
from recordpipe.tables import record_batches

__all__ = ["Writer", "encode_example", "write_tfrecords"]

Element = bytes | Mapping[str, Any]

_WAY_IN = "uint64_bits=True writes values up to 2^64 - 1 by their bits"


def as_values(name: str, value: Any) -> Any:
    """Returns ``value`` as an int64 or float32 array [values], a list of bytes, or None."""
    if isinstance(value, str):
        return [_encoded(name, value)]
    if _is_bytes(value):
        return [bytes(value)]
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"feature {name!r}: a masked array; pass filled() or compressed() of it")
    if isinstance(value, Ragged):
        raise TypeError(
            f"feature {name!r}: a Ragged; pass its values and row_splits as two features"
        )
    if isinstance(value, (list, tuple)) and any(map(_is_bytes, value)):
        value = [bytes(item) if _is_bytes(item) else item for item in value]
    # NumPy's own byte strings lose null bytes at their end, and take numbers beside text for text.
    try:
        array = np.asarray(value, dtype=object if _holds_text(value) else None)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"feature {name!r}: {error}") from None
    if isinstance(value, (list, tuple)) and array.size == 0:
        return None  # of no type
    if array.dtype.kind in "SU" and not isinstance(value, (np.ndarray, np.generic)):
        raise TypeError(f"feature {name!r}: a list of text and other values")
    if array.dtype.kind in "biu":
        if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
            raise ValueError(f"feature {name!r}: a value is above 2^63 - 1 ({_WAY_IN})")
        return np.ascontiguousarray(array, dtype=np.int64).ravel()
    if array.dtype.kind == "f":
        return float32_values(name, array)
    values = [
        _encoded(name, item) if isinstance(item, str) else item for item in array.ravel().tolist()
    ]
    if all(isinstance(item, bytes) for item in values):
        return values
    if all(isinstance(item, int) for item in values):
        raise ValueError(
            f"feature {name!r}: a value is not within int64, -2^63 to 2^63 - 1 ({_WAY_IN})"
        )
    if (numbers := as_floats(name, values)) is not None:
        return float32_values(name, numbers)
    others = [type(item).__name__ for item in values if not isinstance(item, (bytes, *NUMBERS))]
    raise TypeError(
        f"feature {name!r}: values are integers, floats, bytes or strings, not "
        + (others[0] if others else f"a {type(value).__name__} of several kinds")
    )


def _encoded(name: str, text: str) -> bytes:
    return unicode_text(f"feature {name!r}: text", text).encode()


def _is_bytes(value: Any) -> bool:
    """Whether ``value`` is one byte string; a memoryview is, as database drivers return it."""
    return isinstance(value, (bytes, bytearray)) or (
        isinstance(value, memoryview) and value.format == "B" and value.ndim == 1
    )


def _holds_text(value: Any) -> bool:
    """Whether the first value of lists is bytes or a string."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return isinstance(value, (bytes, str))


def _with_bits(value: Any) -> Any:
    """``value`` with integers from 2^63 to 2^64 - 1 as the int64 values of the same bits."""
    if isinstance(value, (list, tuple)):
        return [_with_bits(item) for item in value]
    if isinstance(value, int):
        return value - 2**64 if 2**63 <= value < 2**64 else value
    if getattr(value, "dtype", None) is not None and str(value.dtype).endswith("uint64"):
        return np.asarray(value).astype(np.uint64).view(np.int64)
    return value


def _with_files(features: Mapping[str, Any]) -> dict[str, Any]:
    """``features`` with each file of Hugging Face's datasets as two of them: NAME and NAME/path."""
    spread: dict[str, Any] = {}
    for name, value in features.items():
        parts = {name: value}
        if isinstance(value, dict) and value.keys() == {"bytes", "path"}:
            parts = {name: value["bytes"], f"{name}/path": value["path"]}
            if value["bytes"] is None and value["path"] is not None:
                raise ValueError(f"feature {name!r}: the path of a file, without its bytes")
            if f"{name}/path" in features:
                raise ValueError(f"feature {name!r} has a path, and so has {name + '/path'!r}")
        spread |= parts
    return spread


def encode_example(features: Mapping[str, Any], *, uint64_bits: bool = False) -> bytes:
    """Returns the serialised tf.train.Example of a dict; keys are sorted.

    Integers and bools become int64 values, floats float values (rounded to 32 bits; a number that
    would become an infinity or 0 is a ValueError), bytes, bytearrays, memoryviews of bytes and
    strings (as UTF-8) bytes values. Arrays, lists and tuples of these become lists, flattened in
    row-major order. A dict of ``bytes`` and ``path``, an image or a sound of Hugging Face's
    datasets, becomes two features: NAME, the bytes, and NAME/path. A value of None, and an empty
    list or tuple, which has no type, leave the feature out.

    Args:
        uint64_bits: True writes an integer x from 2^63 to 2^64 - 1 as the int64 of the same bits,
            x - 2^64; ``.view(numpy.uint64)`` of the array that is read gives it back. Default: a
            ValueError, because features have no uint64.
    """
    if not isinstance(features, Mapping):
        raise TypeError(f"an Example is a dict of features, not {features!r:.80}")
    if any(isinstance(value, dict) for value in features.values()):
        features = _with_files(features)
    if uint64_bits:
        return _native.encode_example({name: _with_bits(one) for name, one in features.items()})
    return _native.encode_example(dict(features))


class Writer:
    """Writes records to a TFRecord file, or to several shards in turn.

        with rp.Writer("train.tfrecord", shards=4) as writer:
            writer.write({"image": jpeg, "label": 3})

    The files appear at the end, whole, under their names; after an exception in the ``with`` block
    there are none, and older files of these names are unchanged. Without ``with``, call
    :meth:`close`: a Writer that is dropped without it leaves no file, and warns (ResourceWarning).
    Not thread-safe.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        compression: str | None = None,
        compression_level: int = 6,
        shards: int = 1,
        index: bool = False,
        uint64_bits: bool = False,
        no_clobber: bool = False,
        filesystem: Any = None,
    ) -> None:
        """Begins the files.

        Args:
            path: of the file; with ``shards``, the files are PATH-00000-of-00004, ..., and for a
                path with a suffix NAME-00000-of-00004.SUFFIX.
            compression: "none", "gzip", "zlib" or "zstd". Default: by the name (.gz, .zlib, .zst),
                as in :func:`convert`. The name of another format (.parquet, .csv, ...) is refused
                (InvalidArgumentError).
            compression_level: gzip and zlib: 0 to 9; zstd: 1 to 22.
            shards: the number of files; records go to them in turn.
            index: also writes an index PATH.idx for each file, for random access and faster
                opening. Not for compressed files.
            uint64_bits: writes integers above 2^63 - 1 by their bits: as of :func:`encode_example`,
                also of tables.
            no_clobber: True refuses to replace a file that exists (AlreadyExistsError).
            filesystem: of the path: one of fsspec or pyarrow, or your own; see
                ``help(recordpipe.filesystem)``. Default: this machine, and the stores of URLs.
        """
        if shards < 1:
            raise ValueError(f"shards must be at least 1, not {shards}")
        name = file_path_of(path, filesystem)
        files = files_on(filesystem)
        kind = _native.output_compression(name, known_compression(compression) or None)
        self._is_open = True
        self._uint64_bits = bool(uint64_bits)
        self.paths = [name] if shards == 1 else shard_paths(name, shards)
        self.records = 0
        if no_clobber:
            _native.require_absent(files, self.paths)
        self._files: list[_native.RecordFileWriter] = []
        for file in self.paths:
            self._files.append(
                _native.RecordFileWriter(files, file, kind, compression_level, index)
            )

    def write(self, element: Element) -> None:
        """Writes a record: bytes as they are, or a dict as :func:`encode_example` encodes it.

        An array is a list of numbers: of pixels, write ``array.tobytes()`` for a RawFeature, or
        ``serialize_tensor(array)`` for a TensorFeature.
        """
        try:
            record = (
                element
                if isinstance(element, bytes)
                else encode_example(element, uint64_bits=self._uint64_bits)
            )
        except (TypeError, ValueError) as error:
            if type(error) not in (TypeError, ValueError):
                raise
            raise type(error)(f"record {self.records}: {error}") from None
        self._files[self.records % len(self._files)].write(record)
        self.records += 1

    def write_table(self, table: Any) -> None:
        """Writes each row of an Arrow table as a tf.train.Example.

        A column becomes a feature: integers and bools int64 values, floats of any width float
        values (rounded to 32 bits), strings and binary bytes values, also if they are
        dictionary-encoded (categories); lists of these become lists, and fixed-size lists of
        fixed-size lists are flattened. A struct of ``bytes`` and ``path``, as Hugging Face's
        datasets store images and sounds, becomes two features: NAME, the bytes, and NAME/path. Null
        leaves the feature out. Reads batch by batch.

        Raises :class:`UnsupportedError` for other types (structs, maps, nested lists, times,
        decimals), nulls inside of lists, a path without bytes, integers above 2^63 - 1 (unless
        ``uint64_bits``), and floats that 32 bits would turn into an infinity or 0, with the name
        of the column, and the row's number among the records of the Writer. The rows before it are
        written.

        Args:
            table: anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``: tables, record
                batches and readers of pyarrow, frames of polars and pandas, relations of DuckDB.
                Of pandas' index, row labels with a name are a column; those without a name are left
                out, and so is any range of numbers, which pandas does not pass on. Call
                ``frame.reset_index()`` to write it as a column in all cases.
        """
        if hasattr(table, "__next__"):  # a reader: exceptions of its source remain what they are
            for batch in table:
                self.write_table(batch)
            return
        self._write_rows(table, self.records)

    def _write_rows(self, table: Any, first: int) -> None:
        """Like :meth:`write_table`; ``first`` is the number of the first row, for errors."""
        bits = self._uint64_bits
        try:
            if hasattr(table, "__arrow_c_stream__"):
                stream = table.__arrow_c_stream__()
                _native.write_arrow_stream(stream, self._files, self.records, bits, first)
            else:
                schema, array = table.__arrow_c_array__()
                _native.write_arrow_array(schema, array, self._files, self.records, bits, first)
        finally:
            self.records = sum(file.records for file in self._files)

    def close(self) -> None:
        """Completes the files.

        No file appears under its name before all are complete on disk; the first one is named last.
        After an exception, files that have no name yet are removed.
        """
        self._is_open = False
        try:
            for file in self._files:
                file.finish()
            for file in reversed(self._files):
                file.close()
        except BaseException:
            self._abort()
            raise

    def _abort(self) -> None:
        self._is_open = False
        for file in self._files:
            file.abort()

    def __del__(self) -> None:
        if getattr(self, "_is_open", False) and self.records > 0:
            warnings.warn(
                f"{self.paths[0]!r}: the Writer was not closed; {self.records} records are lost",
                ResourceWarning,
                source=self,
                stacklevel=2,
            )

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._abort()


def shard_paths(path: str, shards: int) -> list[str]:
    """Returns train-00000-of-00002.tfrecord, ... for train.tfrecord."""
    stem, suffix = os.path.splitext(path)
    return [f"{stem}-{i:05d}-of-{shards:05d}{suffix}" for i in range(shards)]


def write_tfrecords(path: str | os.PathLike[str], elements: Any, **options: Any) -> list[str]:
    """Writes all ``elements``, and returns the paths of the files.

    Args:
        elements: a Dataset or any iterable of bytes and dicts (see :meth:`Writer.write`); a table,
            a pyarrow.parquet.ParquetFile or a dataset of pyarrow, which are read by batches, or
            an iterable of record batches (see :meth:`Writer.write_table`). A Dataset of
            batches is refused (InvalidArgumentError): each batch would become one Example. So is
            a Dataset that reads one of the files that would be replaced, also in a function or in a
            generator: but not what a function opens in a pass that has begun before this call.
        options: those of :class:`Writer`.
    """
    last = elements._last() if isinstance(elements, Plan) else None
    if last is not None and last.method in ("batch", "padded_batch"):
        raise InvalidArgumentError(
            "the elements are batches, and each would become one Example: write the Dataset before "
            "batch(), or after unbatch()"
        )
    elements = record_batches(elements) or elements
    with (
        Writer(path, **options) as writer,
        _native.WriteInProgress(files_on(options.get("filesystem")), writer.paths),
    ):
        if _is_table(elements):
            writer.write_table(elements)
        else:
            for element in elements:
                if _is_table(element):
                    writer.write_table(element)
                else:
                    writer.write(element)
    return writer.paths


def _is_table(elements: Any) -> bool:
    """Whether ``elements`` are rows of Arrow columns. A Dataset yields the elements to write."""
    if isinstance(elements, (bytes, dict, Plan)):
        return False
    return hasattr(elements, "__arrow_c_stream__") or hasattr(elements, "__arrow_c_array__")
