"""What the functions of toolkit.py return."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from recordpipe._notebook.report_table import Bar, Report, ReportTable
from recordpipe.errors import DataLossError, Error
from recordpipe.schema import Schema, counted

__all__ = [
    "DamagedRegion",
    "FileIndex",
    "FileInfo",
    "FileReport",
    "Info",
    "RecordSizes",
    "SalvageReport",
    "VerifyReport",
]


_File = TypeVar("_File")


class OfFiles(Generic[_File]):
    """A report that is also the sequence of its files."""

    files: tuple[_File, ...]

    def __iter__(self) -> Iterator[_File]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, file: int) -> _File:
        return self.files[file]


@dataclass(frozen=True)
class RecordSizes:
    """Sizes of records' data in bytes, without the 16 bytes of framing.

    Attributes:
        min: the smallest.
        median: exact up to 65,536 different sizes, beyond within 0.4 %.
        max: the largest.
        median_is_exact: whether it is.
    """

    min: int
    median: float
    max: int
    median_is_exact: bool = True


@dataclass(frozen=True)
class FileInfo:
    """What :func:`info` finds about one file. What isn't known is None.

    Attributes:
        path: of the file.
        records: their number; of a damaged file, those before the damage.
        bytes: the size of the file.
        content_bytes: the size of all records with their framing; ``bytes`` if not compressed.
        compression: "none", "gzip", "zlib" or "zstd".
        record_sizes: None without records.
        sample: the schema of the first 100 records, or of the first MiB of them.
        indexed: whether the number of records is that of an index beside the file, which fits.
        error: why reading ended early, or an error in the sample.
    """

    path: str
    records: int | None
    bytes: int
    content_bytes: int | None
    compression: str | None
    record_sizes: RecordSizes | None
    sample: Schema | None
    indexed: bool
    error: Error | None

    def __repr__(self) -> str:
        facts = _facts(self)
        if self.compression not in (None, "none"):
            facts.append(self.compression or "")
        if self.indexed:
            facts.append("indexed")
        if self.error is not None:
            facts.append(f"error: {self.error.reason}")
        return f"FileInfo({self.path}: {', '.join(facts)})"

    @classmethod
    def _of(cls, found: tuple[Any, ...]) -> FileInfo:
        path, records, size, content, compression, sizes, sample, indexed, error = found
        return cls(
            path, records, size, content, compression, *_sizes(sizes, sample), indexed, error
        )


@dataclass(frozen=True)
class Info(OfFiles[FileInfo], Report):
    """What :func:`info` finds: ``files``, and the same facts of all files together.

    ``info[0]``, ``len(info)`` and ``for file in info`` are those of ``files``.

    Attributes:
        files: a :class:`FileInfo` of each file.
        records: the number of records of all files that could be read; None if there is none.
        bytes: the size of all files.
        content_bytes: the size of all records with their framing.
        record_sizes: None without records.
        sample: the schema of all files' first records.
    """

    files: tuple[FileInfo, ...]
    records: int | None
    bytes: int
    content_bytes: int | None
    record_sizes: RecordSizes | None
    sample: Schema | None

    @property
    def damaged(self) -> int:
        """The number of files that are damaged."""
        return sum(isinstance(file.error, DataLossError) for file in self.files)

    @property
    def unreadable(self) -> int:
        """The number of files with another error."""
        return sum(file.error is not None for file in self.files) - self.damaged

    @classmethod
    def _of(cls, files: list[tuple[Any, ...]], total: tuple[Any, ...]) -> Info:
        _, records, size, content, _, sizes, sample, _, _ = total
        return cls(tuple(map(FileInfo._of, files)), records, size, content, *_sizes(sizes, sample))

    def _head(self) -> str:
        files = counted(len(self.files), "file")
        for number, what in (self.damaged, "damaged"), (self.unreadable, "unreadable"):
            files += f", {number:,} {what}" if number else ""
        return f"{files}: {', '.join(_facts(self))}"

    def _report(self) -> ReportTable:
        largest = max((file.bytes for file in self.files), default=0)
        rows = [
            (
                file.path,
                "" if file.records is None else f"{file.records:,}",
                Bar(file.bytes / max(largest, 1), f"{file.bytes:,}"),
                file.compression or "",
                "" if file.error is None else file.error.reason,
            )
            for file in self.files
        ]
        return ReportTable(self._head(), ("file", "records", "bytes", "compression", "error"), rows)

    def __repr__(self) -> str:
        lines = [self._head()]
        lines += [f"  {file!r}" for file in self.files]
        if self.sample is not None:
            lines.append(f"first records: {self.sample!r}")
        return "\n".join(lines)


@dataclass(frozen=True)
class DamagedRegion:
    """Bytes of a file in which no intact record starts.

    Attributes:
        begin: the offset of the first of these bytes; in a compressed file, in its decompressed
            content.
        end: the offset behind the last of these bytes.
        reason: what is wrong at ``begin``.
        hint: what to do; may be empty.
        records_before: the number of intact records before the region.
    """

    begin: int
    end: int
    reason: str
    hint: str
    records_before: int

    @property
    def size(self) -> int:
        """The number of these bytes; 0 if only the compressed data is damaged."""
        return self.end - self.begin


@dataclass(frozen=True)
class FileReport:
    """Which records of a file are intact.

    Attributes:
        path: of the file.
        intact: whether the file was read to its end, and nothing but intact records is in it.
        records: the number of intact records, before, between and behind the damage.
        regions: the damaged regions, in the order of the file; at most the first 10,000.
        damaged_regions: the number of all damaged regions.
        bytes: the size of the (decompressed) content; None if the file couldn't be read to its end.
        bytes_lost: the size of all damaged regions; None as ``bytes``.
        compression: "none", "gzip", "zlib" or "zstd"; None as ``bytes``.
        error: why the file couldn't be read to its end (permissions, a failing disk); otherwise
            None.
        compressed_bytes_lost: how many bytes of a compressed file can't be decompressed. The
            records in them are lost, too, and in no other count.
    """

    path: str
    intact: bool
    records: int
    regions: tuple[DamagedRegion, ...]
    damaged_regions: int
    bytes: int | None
    bytes_lost: int | None
    compression: str | None
    error: Error | None = None
    compressed_bytes_lost: int = 0

    def __repr__(self) -> str:
        if self.error is not None:
            return f"FileReport({self.path}: {self.error.reason})"
        if self.intact:
            return f"FileReport({self.path}: intact, {counted(self.records, 'record')})"
        lines = [
            f"FileReport({self.path}: damaged, {counted(self.records, 'intact record')}, "
            f"{counted(self.damaged_regions, 'damaged region')} of {self.bytes_lost:,} bytes"
        ]
        if self.compressed_bytes_lost:
            lines[0] += f", {self.compressed_bytes_lost:,} compressed bytes lost"
        shown = self.regions[:10]
        lines += [f"  [{one.begin}, {one.end}): {one.reason}" for one in shown]
        if self.damaged_regions > len(shown):
            lines.append(f"  and {self.damaged_regions - len(shown):,} more")
        return "\n".join(lines) + ")"

    @classmethod
    def _of(cls, found: tuple[Any, ...]) -> FileReport:
        path, intact, records, regions, *others = found
        return cls(path, intact, records, tuple(DamagedRegion(*one) for one in regions), *others)


@dataclass(frozen=True)
class VerifyReport(OfFiles[FileReport], Report):
    """What :func:`verify` finds.

    ``report[0]``, ``len(report)`` and ``for file in report`` are those of ``files``. The truth
    value is ``intact``.

    Attributes:
        files: a :class:`FileReport` of each file.
    """

    files: tuple[FileReport, ...]

    def __bool__(self) -> bool:
        return self.intact

    @property
    def intact(self) -> bool:
        """Whether all files are intact."""
        return all(file.intact for file in self.files)

    @property
    def damaged(self) -> tuple[FileReport, ...]:
        """The files that are not intact."""
        return tuple(file for file in self.files if not file.intact)

    @property
    def records(self) -> int:
        """The number of intact records of all files."""
        return sum(file.records for file in self.files)

    @property
    def bytes_lost(self) -> int:
        """The size of all damaged regions, in bytes."""
        return sum(file.bytes_lost or 0 for file in self.files)

    def _head(self) -> str:
        head = f"{counted(len(self.files), 'file')}: "
        if self.intact:
            return f"{head}intact, {counted(self.records, 'record')}"
        head += f"{len(self.damaged):,} damaged, {counted(self.records, 'intact record')}"
        compressed = sum(file.compressed_bytes_lost for file in self.files)
        others = f", and {compressed:,} compressed bytes" if compressed else ""
        return f"{head}, {self.bytes_lost:,} bytes lost{others}"

    def _report(self) -> ReportTable:
        rows = [
            (
                file.path,
                "intact" if file.intact else "damaged" if file.error is None else "unreadable",
                f"{file.records:,}",
                Bar((file.bytes_lost or 0) / (file.bytes or 1), f"{file.bytes_lost or 0:,}"),
                file.error.reason if file.error else file.regions[0].reason if file.regions else "",
            )
            for file in sorted(self.files, key=lambda file: file.intact)
        ]
        columns = "file, damaged first", "", "intact records", "bytes lost", "first reason"
        return ReportTable(self._head(), columns, rows)

    def __repr__(self) -> str:
        return "\n".join([self._head(), *(repr(file) for file in self.damaged)])


@dataclass(frozen=True, repr=False)
class SalvageReport(VerifyReport):
    """What :func:`salvage` saved, and what was lost; see :class:`VerifyReport`.

    Attributes:
        target: the path of the file that was written.
        records_written: their number.
    """

    target: str = ""
    records_written: int = 0

    def __repr__(self) -> str:
        written = counted(self.records_written, "record")
        return f"wrote {written} to {self.target}\n{super().__repr__()}"


@dataclass(frozen=True)
class FileIndex:
    """An index that :func:`index` wrote or checked.

    Attributes:
        path: of the TFRecord file.
        index: the path of its index.
        records: their number; None if the index doesn't match.
        error: why the index doesn't match the file, or can't be read; otherwise None.
    """

    path: str
    index: str
    records: int | None
    error: Error | None = None

    @property
    def matches(self) -> bool:
        """Whether the index is that of the file."""
        return self.error is None


def _sizes(
    sizes: tuple[Any, ...] | None, sample: tuple[Any, ...] | None
) -> tuple[RecordSizes | None, Schema | None]:
    return (
        None if sizes is None else RecordSizes(*sizes),
        None if sample is None else Schema._of(sample),
    )


def _facts(info: FileInfo | Info) -> list[str]:
    facts = [] if info.records is None else [counted(info.records, "record")]
    facts.append(counted(info.bytes, "byte"))
    sizes = info.record_sizes
    if sizes is not None:
        each = f"{sizes.min:,} to {sizes.max:,} (median {sizes.median:,.0f})"
        facts.append(f"records of {each if sizes.min < sizes.max else f'{sizes.min:,}'} bytes")
    if info.sample is not None and info.records:
        facts.append(info.sample.kind)
    return facts
