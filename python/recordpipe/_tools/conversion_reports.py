"""What convert() returns."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ConvertPlan", "ConvertReport", "SkippedRecord", "SkippedRegion", "WrittenFile"]


@dataclass(frozen=True)
class WrittenFile:
    """A file that was written.

    Attributes:
        path: of the file.
        records: their number.
        bytes: the size of the file.
        split: the name of its split; empty if there are none.
    """

    path: str
    records: int
    bytes: int
    split: str = ""


@dataclass(frozen=True)
class SkippedRegion:
    """Damaged bytes that ``on_damage`` left out.

    Attributes:
        path: of the input.
        begin: the offset of the first of these bytes, in the (decompressed) content.
        end: the offset behind the last of these bytes.
        reason: what is wrong at ``begin``.
        hint: what to do; may be empty.
    """

    path: str
    begin: int
    end: int
    reason: str
    hint: str = ""


@dataclass(frozen=True)
class SkippedRecord:
    """A record whose image can't be resized, that ``on_damage`` left out.

    Attributes:
        path: of the input.
        offset: of the record, in the (decompressed) content.
        reason: what is wrong with the image.
    """

    path: str
    offset: int
    reason: str


@dataclass(frozen=True)
class ConvertPlan:
    """What ``dry_run=True`` says that :func:`convert` would do.

    Attributes:
        inputs: the number of source files.
        bytes: their size.
        records: the number of their records; None if indexes and headers can't tell, as
            with ``on_damage``.
        read_twice: the sources that are read twice, the first time for the number of records (at
            most to ``limit``).
        outputs: the files that are written; with ``max_bytes``, a pattern of their names.
    """

    inputs: int
    bytes: int | None
    records: int | None
    read_twice: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class ConvertReport:
    """What :func:`convert` wrote.

    Attributes:
        files: the files, in the order of the records.
        records_read: the number of records that were read.
        regions_skipped: the number of damaged regions that were skipped.
        bytes_skipped: the size of these regions, in the (decompressed) content.
        skipped: the first 10,000 of these regions.
        records_skipped: the number of records whose image can't be resized.
        skipped_records: the first 10,000 of these records.
        plan: with ``dry_run=True``, what would be done; then there are no files.
        compressed_bytes_skipped: how many bytes of compressed files can't be decompressed. The
            records in them are lost, too, and in no other count.
    """

    files: tuple[WrittenFile, ...]
    records_read: int
    regions_skipped: int = 0
    bytes_skipped: int = 0
    skipped: tuple[SkippedRegion, ...] = ()
    records_skipped: int = 0
    skipped_records: tuple[SkippedRecord, ...] = ()
    plan: ConvertPlan | None = None
    compressed_bytes_skipped: int = 0

    @property
    def paths(self) -> list[str]:
        """The paths of the files."""
        return [file.path for file in self.files]

    @property
    def records(self) -> int:
        """The number of records that were written."""
        return sum(file.records for file in self.files)

    @property
    def bytes(self) -> int:
        """The size of all files that were written."""
        return sum(file.bytes for file in self.files)
