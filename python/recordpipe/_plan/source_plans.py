"""The sources of plans: what the functions that return a Dataset were called with."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable
from typing import Any

from recordpipe import _native as native
from recordpipe._plan.function_identity import identity_of
from recordpipe._plan.plan import Plan, Source, merged
from recordpipe.filesystem_adapters import files_on

__all__ = [
    "ChooseFromDatasets",
    "FromGenerator",
    "FromList",
    "ListFiles",
    "Range",
    "SampleFromDatasets",
    "Tfds",
    "Tfrecords",
    "Zip",
]


class FilesSource(Source):
    """``filesystem``: what the user passed; ``files``: what is made of it."""

    paths: list[str]
    filesystem: Any
    files: native.FileSystem

    def __repr__(self) -> str:
        first = native.without_secrets(self.paths[0])
        others = f" and {len(self.paths) - 1} more" if self.paths[1:] else ""
        return f"{self.method}({first!r}{others})"

    def __reduce__(self) -> tuple[Any, ...]:
        values = {**vars(self)}
        del values["files"]
        return _on_files, (type(self), values)


def _on_files(kind: Callable[..., FilesSource], values: dict[str, Any]) -> FilesSource:
    return kind(**values, files=files_on(values["filesystem"]))


class Tfrecords(FilesSource):
    check_crc: bool
    compression: str
    on_damage: str
    cycle_length: int
    block_length: int

    def __repr__(self) -> str:
        text = super().__repr__()
        if self.on_damage == "raise":
            return text
        return f"{text[:-1]}, on_damage={self.on_damage!r})"

    def lower(self) -> native.Dataset:
        paths, _, files, *options = vars(self).values()
        return native.tfrecords(files, paths, *options)

    @property
    def has_files(self) -> bool:
        return self.cycle_length == 1 and self.on_damage == "raise"

    def open_files(self) -> native.RecordFiles:
        return native.RecordFiles(self.files, self.paths, self.check_crc, self.compression)


def local_records(paths: list[str]) -> Tfrecords:
    return Tfrecords(paths, None, files_on(None), True, "", "raise", 1, 1)


class ListFiles(FilesSource):
    def lower(self) -> native.Dataset:
        return native.list_files(self.files, self.paths)


class Tfds(Source):
    folder: str
    split: str
    decode_images: bool = True
    left_encoded: tuple[str, ...] = ()  # images that are not decoded
    fill_missing: bool = False
    fast_dct: bool = True
    max_pixels: int = 2**26
    rounding: str = "closest"
    check_crc: bool = True

    def lower(self) -> native.Dataset:
        return native.tfds_open(*vars(self).values())[0]

    @property
    def has_files(self) -> bool:
        return True

    def open_files(self) -> native.RecordFiles:
        return native.RecordFiles(native.tfds_open(*vars(self).values())[1], self.check_crc)


class Range(Source):
    start: int
    stop: int
    step: int

    def lower(self) -> native.Dataset:
        return native.range(self.start, self.stop, self.step)


class FromList(Source):
    elements: list[Any]

    def lower(self) -> native.Dataset:
        return native.from_list(self.elements, _digest(self.elements))


def _digest(elements: list[Any]) -> str:
    """Returns a text that differs between lists of different values; "" for unknown objects."""
    import hashlib  # loads OpenSSL

    try:
        # Version 2 has no references, so equal values have equal bytes.
        values = marshal.dumps(elements, 2)
    except ValueError:
        return ""
    return hashlib.blake2b(values, digest_size=8).hexdigest()


class FromGenerator(Source):
    factory: Callable[[], Iterable[Any]]
    name: str

    def lower(self) -> native.Dataset:
        identity = identity_of(self.factory, self.name)
        return native.from_generator(native.Function(self.factory, *identity))


class Mixture(Source):
    """Of several Datasets."""

    datasets: tuple[Plan, ...]

    @property
    def is_random(self) -> bool:
        return any(dataset._random for dataset in self.datasets)


class Zip(Mixture):
    def lower(self) -> native.Dataset:
        return native.zip([dataset._native for dataset in self.datasets], tuple)


class SampleFromDatasets(Mixture):
    weights: list[float]
    seed: int
    stop_on_empty_dataset: bool

    @property
    def is_random(self) -> bool:
        return True

    def lower(self) -> native.Dataset:
        inputs = merged(dataset._lowered for dataset in self.datasets)
        return native.sample(inputs, self.weights, self.seed, self.stop_on_empty_dataset)


class ChooseFromDatasets(Mixture):
    choices: Plan
    stop_on_empty_dataset: bool

    @property
    def is_random(self) -> bool:
        return self.choices._random or super().is_random

    def lower(self) -> native.Dataset:
        inputs = merged(dataset._lowered for dataset in self.datasets)
        return native.choose(inputs, self.choices._native, self.stop_on_empty_dataset)
