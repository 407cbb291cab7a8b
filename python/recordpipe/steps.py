"""Steps and episodes of RLDS data sets: what robot learning trains on.

steps = (rp.tfds("data/bridge/1.0.0", "train[:95%]")
           .steps(offsets={"observation": range(-1, 1), "action": range(8)})
           .decode_image("observation/image").resize("observation/image", (224, 224))
           .shuffle(seed=7)
           .batch(64)
           .prefetch())
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from recordpipe import _native as native

if TYPE_CHECKING:
    from recordpipe.dataset import Dataset

__all__ = ["StepOperators", "native_features", "native_offsets"]

Features = Iterable[str] | Mapping[str, str]
Offsets = Mapping[str, Iterable[int]]


class StepOperators:
    """The operators of :class:`Dataset` for episodes, which :func:`recordpipe.tfds` reads."""

    __slots__ = ()

    def _steps(
        self, features: list[tuple[str, str]], offsets: list[tuple[str, list[int]]], zero: bool
    ) -> native.Dataset:
        raise NotImplementedError

    def steps(
        self,
        *,
        features: Features | None = None,
        offsets: Offsets | None = None,
        pad: Literal["edge", "zero"] = "edge",
    ) -> Dataset:
        """Yields the single steps of all episodes, each with a window around it.

        Follows :func:`recordpipe.tfds` directly; all operators that order elements may follow it.
        An element is a nested dict of the step's features, and after :meth:`Dataset.batch` a nested
        dict of arrays [batch, ...]. Images are the bytes of their files until
        :meth:`Dataset.decode_image`, which image operators may follow::

            ds = (rp.tfds("data/bridge/1.0.0")
                    .steps(offsets={"observation": range(-1, 1), "action": range(8)})
                    .decode_image("observation/image")
                    .resize("observation/image", (224, 224))
                    .shuffle(seed=7)                     # of all steps of all episodes
                    .batch(64))
            # batch["observation"]["image"]  uint8 [64, 2, 224, 224, 3]
            # batch["observation_mask"]      bool [64, 2]: True where the step exists
            # batch["action"]                float32 [64, 8, 7]

        A shuffle moves step numbers, never images, so memory doesn't grow with its buffer. A row
        is read when its batch is made: only the bytes of its own steps, and only their images are
        decoded. ``len()``, ``ds[i]`` and ``shuffle()`` without a buffer work.

        The places of all steps are found out once, by reading all files, and kept as an index
        beside each (PATH.steps), or in ``$XDG_CACHE_HOME/recordpipe`` if the folder can't be
        written. A damaged record raises :class:`DataLossError` then; one that is damaged later
        raises where its steps are read.

        Args:
            features: the features of a row: paths in the steps ("action", "observation/image", or
                "observation" for all below it), or else in the episode
                ("episode_metadata/file_path"); or a dict of such paths by the names that they get
                in the batch. Default: all features of a step. Needed if some have a different
                number of values in each step: :class:`UnsupportedError` names the first.
            offsets: by name, of a feature or of all below it: the steps of its window, relative to
                the row's. Its values get a dimension for them, and if padding is possible there is
                "<name>_mask". Features without offsets are those of the step itself.
            pad: what the places before the first and after the last step hold: "edge", the values
                of that step, or "zero": zeros, empty bytes, and zeros in the batch for images.
        """
        if pad not in ("edge", "zero"):
            raise ValueError(f'pad is "edge" or "zero", not {pad!r}')
        chosen = native_features(features)
        windows = native_offsets(offsets)
        return self._step_rows(
            {"features": dict(chosen) or None, "offsets": dict(windows) or None, "pad": pad},
            lambda: self._steps(chosen, windows, pad == "zero"),
        )

    def _step_rows(
        self, keywords: dict[str, Any], make: Callable[[], native.Dataset]
    ) -> Dataset:
        raise NotImplementedError


def native_features(features: Features | None) -> list[tuple[str, str]]:
    """Pairs of a name in the batch and a path."""
    if features is None:
        return []
    if isinstance(features, str):
        raise TypeError(f"features are a list or dict of names, not {features!r}")
    pairs = (
        list(features.items())
        if isinstance(features, Mapping)
        else [(name, name) for name in features]
    )
    for pair in pairs:
        if not all(isinstance(name, str) for name in pair):
            raise TypeError(f"features are names, not {pair!r}")
    if not pairs:
        raise ValueError("no features are chosen")
    return pairs


def native_offsets(offsets: Offsets | None) -> list[tuple[str, list[int]]]:
    windows = []
    for name, window in (offsets or {}).items():
        if not isinstance(name, str):
            raise TypeError(f"offsets are by name, not by {name!r}")
        windows.append((name, [operator.index(offset) for offset in window]))
    return windows
