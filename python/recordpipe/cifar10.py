"""The batches of CIFAR-10, as the C++ library and its cifar10_batches program make them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from recordpipe import _native as native
from recordpipe._plan.image_common import (
    channel_values,
    known_image_dtype,
    known_layout,
    scale_of,
)
from recordpipe._plan.plan import Source
from recordpipe.dataset import Dataset
from recordpipe.inputs import path_of

__all__ = ["cifar10_batches"]


_DTYPES = ("uint8", "float32", "float16")


class Cifar10Batches(Source):
    data_dir: str
    subset: str
    has_epochs: bool  # that differ
    options: tuple[Any, ...]  # what native.cifar10_batches() takes

    @property
    def is_random(self) -> bool:
        return self.has_epochs

    def lower(self) -> native.Dataset:
        files = native.cifar10_files(self.data_dir, self.subset)
        return native.cifar10_batches(files, *self.options)


def cifar10_batches(
    data_dir: str | os.PathLike[str],
    subset: str = "train",
    *,
    batch_size: int = 128,
    drop_remainder: bool = False,
    seed: int = 7,
    shuffle: str = "buffer",
    shuffle_buffer: int = 16_384,
    distort: bool = True,
    epochs: int | None = 1,
    dtype: Any = "float32",
    layout: str = "NHWC",
    mean: float | Sequence[float] = 0.0,
    std: float | Sequence[float] = 1.0,
    scale: float | None = None,
    per_image_standardization: bool = False,
    num_shards: int = 0,
    shard_index: int = 0,
    prefetch: int | None = None,
    threads: int = 0,
) -> Dataset:
    """Yields {"image": [batch, 32, 32, 3], "label": int32 [batch]} of the files in ``data_dir``.

    Reads the files that generate_cifar10_tfrecords writes. The defaults are those of the C++
    program cifar10_batches, and so are batches and states, byte for byte:
    :meth:`Iterator.load_state` reads the file of its --save-state, and its --restore-state reads
    the file of :meth:`Iterator.save_state`. (The C++ function cifar10_batches has other defaults:
    no shuffling, shuffle_buffer = 0, and distort = false.)

    Raises :class:`NotFoundError` if files are missing, and for a record that is not an image of
    32x32 with a label of 0 to 9, :class:`DataLossError`.

    Args:
        subset: "train", "validation" or "eval".
        seed: of the order and the distortions; both differ between epochs.
        shuffle: "buffer": of ``shuffle_buffer`` records; "global": of all, in O(1) memory; "none".
        distort: pad by 4 zeros, crop 32x32 at random, flip.
        epochs: passes over the files; None: without end.
        dtype: "float32", "float16" or "uint8", with values of 0 to 255 unless normalised.
        layout: "NHWC" or "NCHW".
        mean, std, scale: make (value * scale - mean) / std of each value; one number, or one for
            each channel.
        per_image_standardization: instead, mean 0 and standard deviation 1 in each image.
        num_shards, shard_index: of ``num_shards`` workers, the number of this one. 0: not shared.
            One set of workers can resume from a state of another.
        prefetch: batches that a thread keeps ready; default: tuned automatically.
        threads: that decode; 0: as many as needed, at most one per available core.
    """
    if subset not in ("train", "validation", "eval"):
        raise ValueError(f'subset is "train", "validation" or "eval", not {subset!r}')
    if shuffle not in ("none", "buffer", "global"):
        raise ValueError(f'shuffle is "none", "buffer" or "global", not {shuffle!r}')
    means, stds = _of_channels(mean), _of_channels(std)
    factor = scale_of(means, stds, scale)
    options = (
        batch_size,
        drop_remainder,
        seed,
        shuffle_buffer if shuffle == "buffer" else 0,
        shuffle == "global",
        distort,
        -1 if epochs is None else epochs,
        known_image_dtype(dtype, _DTYPES),
        known_layout(layout),
        per_image_standardization,
        means,
        stds,
        factor,
        num_shards,
        shard_index,
        prefetch,
        threads,
    )
    has_epochs = shuffle != "none" or distort
    return Dataset._of(Cifar10Batches(path_of(data_dir), subset, has_epochs, options))


def _of_channels(values: float | Sequence[float]) -> list[float]:
    numbers = channel_values(values)
    if len(numbers) not in (1, 3):
        raise ValueError("mean and std are one number, or one for each of the 3 channels")
    return numbers * (3 // len(numbers))
