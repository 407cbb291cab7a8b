"""Data sets that TensorFlow Datasets (TFDS) wrote, without TensorFlow.

ds = (rp.tfds("data/pictures/1.0.0", "train[:80%]")
        .random_resized_crop("image", 224, seed=7)
        .shuffle(seed=7)
        .batch(64))
for batch in ds.epoch(0):
    train(batch["image"], batch["label"])
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from recordpipe import _native as native
from recordpipe._notebook.report_table import Bar, Report, ReportTable
from recordpipe._plan.source_plans import Tfds
from recordpipe.dataset import Dataset
from recordpipe.inputs import path_of
from recordpipe.schema import counted

__all__ = ["TfdsFeature", "TfdsInfo", "TfdsSplit", "tfds", "tfds_info"]

Rounding = Literal["closest", "pct1_dropremainder"]
_ROUNDINGS = ("closest", "pct1_dropremainder")


def tfds(
    folder: str | os.PathLike[str],
    split: str = "train",
    *,
    decode_images: bool | Mapping[str, bool] = True,
    missing: Literal["mask", "fill"] = "mask",
    dct: Literal["fast", "accurate"] = "fast",
    max_pixels: int = 2**26,
    rounding: Rounding = "closest",
    check_crc: bool = True,
) -> Dataset:
    """Yields the Examples of a data set that TFDS wrote: those of ``tfds.as_numpy``, leaf for leaf.

    An element is a nested dict. Its values have the declared dtype and shape: NumPy scalars and
    arrays, ``bytes`` for text, labels as int64 (:func:`tfds_info` has their names); the bits of
    bfloat16 become uint16. The values of a Sequence or Dataset feature (the steps of an episode)
    are stacked: ``ex["steps"]["action"]`` is [steps, 7]. Several ragged dimensions are a
    :class:`Ragged`, and the steps' images of unknown size are a list.

    After :meth:`Dataset.batch`, an element is a nested dict of arrays [batch, ...]; values whose
    first dimension differs are a :class:`Ragged`, and those of any other unknown shape a list of
    arrays. The arrays are yours, as everywhere (:class:`Dataset`).

    Nothing is decoded before a batch is built: shuffles move numbers, not images. The image
    operators of Dataset (:meth:`Dataset.resize`, :meth:`Dataset.random_resized_crop`, ...) take the
    path of an image ("observation/image"); it is then decoded, cropped and resized into its row of
    the batch. The images of a sequence ("objects/crop") become an array [images, height, width,
    channels] of each element, and a :class:`Ragged` of a batch; they share their random crop.
    ``ds[i]``, ``len(ds)``, ``shuffle()`` without a buffer, saved states and pickles work as with
    :func:`tfrecords`.

    The order is that of the files. TFDS interleaves shards also if it doesn't shuffle;
    ``tfds.ReadConfig(interleave_cycle_length=1)`` gives this order.

    Raises, when the data set is opened: :class:`NotFoundError` for missing files
    that the split needs;
    :class:`UnsupportedError`, by name, for features that can't be read (audio with lazy_decode, GIF
    images, text with an encoder, classes that are not in ``tfds.features``);
    :class:`DataLossError` for damaged descriptions and for files of another number of shards; and
    for an element: what doesn't fit features.json. A file with another number of records than
    dataset_info.json says raises :class:`DataLossError` when its first record is needed.

    Args:
        folder: NAME/VERSION or NAME/CONFIG/VERSION; also NAME, if there is one version only.
        split: "train", "train[:80%]", "train[10:20]+val", "train[:4shard]", "train[-5:]", "all":
            TFDS's slicing syntax. Percent are rounded to the closest Example, a half to the even
            one. No other file is opened, and no other record read.
        decode_images: False leaves images as the bytes of their files. A dict says it for images by
            their path; the others are decoded.
        missing: what there is in place of an optional feature that an Example lacks. "mask": None;
            in a batch, zeros or empty strings, and ``"<name>_mask"`` beside it, a bool array
            [batch] that is True where the feature is present. "fill": TensorFlow's values: the
            least value of the dtype, False, ``b""``.
        dct: the inverse transform of JPEG files: "fast", as TFDS's, or "accurate", as PIL's.
        max_pixels: of one image. All images of one sequence (of an episode) together may have 16
            times as many.
        rounding: of percent, as that of ``tfds.core.ReadInstruction``: "pct1_dropremainder" makes
            all slices of n % equally large.
        check_crc: False accepts wrong CRCs.
    """
    if missing not in ("mask", "fill"):
        raise ValueError(f'missing is "mask" or "fill", not {missing!r}')
    if dct not in ("fast", "accurate"):
        raise ValueError(f'dct is "fast" or "accurate", not {dct!r}')
    _check_rounding(rounding)
    by_default, exceptions = _decoded(decode_images)
    return Dataset._of(
        Tfds(
            path_of(folder),
            str(split),
            by_default,
            exceptions,
            missing == "fill",
            dct == "fast",
            max_pixels,
            rounding,
            bool(check_crc),
        )
    )


def _decoded(decode_images: bool | Mapping[str, bool]) -> tuple[bool, tuple[str, ...]]:
    if isinstance(decode_images, Mapping):
        return True, tuple(path for path, decoded in decode_images.items() if not decoded)
    return bool(decode_images), ()


def _check_rounding(rounding: str) -> None:
    if rounding not in _ROUNDINGS:
        raise ValueError(f"rounding is one of {', '.join(_ROUNDINGS)}, not {rounding!r}")


@dataclass(frozen=True)
class TfdsSplit:
    """A split, as dataset_info.json describes it.

    Attributes:
        name: "train".
        shard_lengths: the number of Examples of each file.
        files: the paths of the files, in the same order.
        bytes: the size of the Examples; 0: unknown.
    """

    name: str
    shard_lengths: list[int] = field(repr=False)
    files: list[str] = field(repr=False)
    bytes: int

    def __len__(self) -> int:
        """The number of Examples."""
        return sum(self.shard_lengths)


@dataclass(frozen=True)
class TfdsFeature:
    """A feature, as features.json describes it: a node of the tree of features.

    Attributes:
        name: the class in ``tfds.features``: "FeaturesDict", "Sequence", "Dataset", "Image", ...
        dtype: "float32", ...; "bytes" for text and byte strings; None for features that have
            features.
        shape: None for a dimension that differs between Examples.
        encoding: "bytes" or "zlib" if values are stored so; otherwise "".
        optional: whether an Example may lack the feature.
        encoding_format: of images: "png", "jpeg" or "".
        length: of sequences; None if it differs.
        num_classes: of labels; 0: unknown.
        names: of labels, by their number; empty: unknown.
        sample_rate: of audio, in Hz; 0: unknown.
        features: of a FeaturesDict, by name.
        feature: of a Sequence, Dataset or Video.
    """

    name: str
    description: str = ""
    dtype: str | None = None
    shape: tuple[int | None, ...] = ()
    encoding: str = ""
    optional: bool = False
    encoding_format: str = ""
    length: int | None = None
    num_classes: int = 0
    names: tuple[str, ...] = ()
    sample_rate: int = 0
    features: Mapping[str, TfdsFeature] = field(default_factory=dict)
    feature: TfdsFeature | None = None

    def __getitem__(self, path: str) -> TfdsFeature:
        """The feature at a path ("steps/observation/image"), through sequences and datasets."""
        found = self._find(path)
        if found is None:
            raise KeyError(path)
        return found

    def _find(self, path: str) -> TfdsFeature | None:
        if self.feature is not None:
            return self.feature._find(path)
        if path in self.features:
            return self.features[path]
        for name, feature in self.features.items():
            if path.startswith(name + "/"):
                found = feature._find(path[len(name) + 1 :])
                if found is not None:
                    return found
        return None

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        if self.feature is not None:
            inner = self.feature._lines()
            inner[0] = f"{self.name}({inner[0]}"
            inner[-1] += ")" if self.length is None else f", length={self.length})"
            return inner
        if self.name == "FeaturesDict":
            lines = ["{"]
            for name, feature in self.features.items():
                inner = feature._lines()
                lines.append(f"    {name!r}: {inner[0]}")
                lines += [f"    {line}" for line in inner[1:]]
                lines[-1] += ","
            return [*lines, "}"]
        return [f"{self.name}({', '.join(self._properties())})"]

    def _properties(self) -> Iterable[str]:
        if self.dtype is not None and self.name not in ("Text", "ClassLabel", "BBoxFeature"):
            yield self.dtype
        if self.shape and self.name != "BBoxFeature":
            yield f"[{', '.join('?' if size is None else str(size) for size in self.shape)}]"
        for value in (self.encoding_format, self.encoding):
            if value:
                yield value
        if self.num_classes:
            yield f"{self.num_classes} classes"
        if self.names:
            shown = ", ".join(self.names[:3])
            yield f"{shown}, ..." if len(self.names) > 3 else shown
        if self.sample_rate:
            yield f"{self.sample_rate} Hz"
        if self.optional:
            yield "optional"


@dataclass(frozen=True)
class TfdsInfo(Report):
    """A data set, as dataset_info.json and features.json describe it.

    Attributes:
        folder: NAME/VERSION or NAME/CONFIG/VERSION.
        config: "" without a config.
        splits: by name.
        features: the tree; ``info.features["label"].names``.
    """

    folder: str
    name: str
    config: str
    version: str
    description: str = field(repr=False)
    splits: Mapping[str, TfdsSplit]
    features: TfdsFeature

    def ranges(self, split: str, *, rounding: Rounding = "closest") -> list[tuple[str, int, int]]:
        """The Examples that a split names: tuples (split, first, end).

        ``info.ranges("train[:50%]+val")`` is [("train", 0, 20), ("val", 0, 5)].
        """
        _check_rounding(rounding)
        return native.tfds_ranges(self.folder, split, rounding)

    def _head(self) -> str:
        config = f"/{self.config}" if self.config else ""
        return f"{self.name}{config}/{self.version} in {self.folder}"

    def _report(self) -> ReportTable:
        most = max(map(len, self.splits.values()), default=0)
        rows = [
            (
                split.name,
                Bar(len(split) / max(most, 1), counted(len(split), "Example")),
                counted(len(split.files), "file"),
            )
            for split in self.splits.values()
        ]
        features = [(line, "", "") for line in self.features._lines()]
        return ReportTable(self._head(), ("split", "", ""), [*rows, *features])

    def __repr__(self) -> str:
        lines = [f"<TfdsInfo {self._head()}"]
        for split in self.splits.values():
            files = counted(len(split.files), "file")
            lines.append(f"  {split.name}: {counted(len(split), 'Example')} in {files}")
        feature = self.features._lines()
        lines.append(f"  features: {feature[0]}")
        lines += [f"  {line}" for line in feature[1:]]
        return "\n".join(lines) + ">"


def tfds_info(folder: str | os.PathLike[str]) -> TfdsInfo:
    """Describes a data set that TFDS wrote: its splits, features and names of labels.

    Reads dataset_info.json and features.json only. Raises as :func:`tfds`.

    Args:
        folder: as of :func:`tfds`.
    """
    found, name, config, version, description, splits, features = native.tfds_info(path_of(folder))
    by_name = {each[0]: TfdsSplit(*each) for each in splits}
    return TfdsInfo(found, name, config, version, description, by_name, _feature(features))


def _feature(described: tuple[Any, ...]) -> TfdsFeature:
    name, description, dtype, shape, encoding, optional, encoding_format, length = described[:8]
    num_classes, names, sample_rate, children = described[8:]
    features = {child: _feature(feature) for child, feature in children}
    is_dict = name == "FeaturesDict"
    return TfdsFeature(
        name=name,
        description=description,
        dtype="bytes" if dtype is None and not children and not is_dict else dtype,
        shape=tuple(shape),
        encoding=encoding,
        optional=optional,
        encoding_format=encoding_format,
        length=length,
        num_classes=num_classes,
        names=tuple(names),
        sample_rate=sample_rate,
        features=features if is_dict else {},
        feature=None if is_dict or not children else features[""],
    )
