"""Steps and episodes of RLDS data sets: what robot learning trains on.

steps = (rp.tfds("data/robot_a/1.0.0", "train[:95%]")
           .steps(offsets={"observation": range(-1, 1), "action": range(8)})
           .decode_image("observation/image").resize("observation/image", (224, 224))
           .shuffle(seed=7)
           .batch(64)
           .prefetch())
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from recordpipe import _native as native
from recordpipe import recipe
from recordpipe.operators import Operators
from recordpipe.progress import Progress, reported
from recordpipe.random_access import StepAccess

if TYPE_CHECKING:
    from recordpipe.dataset import Dataset

__all__ = ["EpisodeStatistics", "StepOperators", "StepStatistics", "episode_statistics"]

Features: TypeAlias = Iterable[str] | Mapping[str, str]
Offsets: TypeAlias = Mapping[str, Iterable[int]]
Array: TypeAlias = npt.NDArray[np.float64]


class StepOperators(Operators):
    """The operators of :class:`Dataset` for episodes, which :func:`recordpipe.tfds` reads."""

    __slots__ = ()

    def steps(
        self,
        *,
        features: Features | None = None,
        offsets: Offsets | None = None,
        pad: Literal["edge", "zero"] = "edge",
        progress: Progress = False,
    ) -> Dataset:
        """Yields the single steps of all episodes, each with a window around it.

        Follows :func:`recordpipe.tfds` directly; all operators that order elements may follow it.
        An element is a nested dict of the step's features, and after :meth:`Dataset.batch` a nested
        dict of arrays [batch, ...]. Images are the bytes of their files until
        :meth:`Dataset.decode_image`, which image operators may follow::

            ds = (rp.tfds("data/robot_a/1.0.0")
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
                in the batch. Default: all features of a step. Features whose number of values
                differs between steps (sequences, tensors of unknown shape) are a :class:`Ragged` or
                a list of the batch, as TFDS gives them; their images stay bytes.
                :class:`UnsupportedError` names optional features of an episode, and what TFDS can't
                write or read in the steps.
            offsets: by name, of a feature or of all below it: the steps of its window, relative to
                the row's. Its values get a dimension for them, and if padding is possible there is
                "<name>_mask". Features without offsets are those of the step itself.
            pad: what the places before the first and after the last step hold: "edge", the values
                of that step, or "zero": zeros, empty bytes, and zeros in the batch for images.
            progress: of the reading that finds the steps: True (a bar), or a function of the bytes
                done and the bytes in all, which may raise. Files whose index is there count at
                once.
        """
        if pad not in ("edge", "zero"):
            raise ValueError(f'pad is "edge" or "zero", not {pad!r}')
        source = _source_of(self, "steps()")
        chosen, windows = _features(features), _offsets(offsets)
        derived = self._derive(
            "steps",
            (),
            lambda: _open(source, chosen, windows, pad == "zero", progress),
            features=dict(chosen) or None,
            offsets=dict(windows) or None,
            pad=pad,
        )
        derived._access = StepAccess(derived._native)
        return derived

    def map_episode(self, function: Callable[[dict[str, Any]], Any], *, name: str = "") -> Dataset:
        """Applies ``function(episode)`` to each episode.

        Follows :func:`recordpipe.tfds`, and operators that order Examples (:meth:`Dataset.shuffle`,
        :meth:`Dataset.take`, ...). An episode is the nested dict of an Example whose images stay
        encoded: ``episode["steps"]["action"]`` is an array [steps, 7],
        ``episode["steps"]["observation"]["image"]`` an array [steps] of ``bytes``. Results are in
        input order.

        Args:
            name: as of :meth:`Dataset.map`.
        """
        dataset: Any = self
        source, operators = recipe.operators_of(dataset)
        _source_of(source, "map_episode()")
        _, (tfds, arguments, keywords) = source._recipe
        encoded = tfds(*arguments, **{**keywords, "decode_images": False})
        return recipe.replay(encoded, operators).map(function, name=name)


@dataclass(frozen=True, eq=False)
class StepStatistics:
    """The statistics of a feature over all steps: float64 arrays of the feature's shape.

    NaN and infinities are left out; an element without finite values has NaN everywhere.

    Attributes:
        std: of the population, as ``numpy.std``.
        q01: the quantile 0.01, as ``numpy.quantile``; q99: 0.99.
        left_out: int64, of the feature's shape: the number of NaNs and infinities.
        episodes: those with such values, at most 100: each its number, the path and offset of its
            record, and the number of such values.
    """

    mean: Array
    std: Array
    min: Array
    max: Array
    q01: Array
    q99: Array
    left_out: Any = 0
    episodes: list[tuple[int, str, int, int]] = field(default_factory=list)

    def scaled(self, values: Any) -> Any:
        """Returns ``values`` with q01 at -1 and q99 at 1, clipped: as OpenVLA scales actions.

        ``values`` is an array or a tensor of torch, [..., *shape], of floats; so is the result, of
        the same dtype and device. Where q01 and q99 are equal, that value becomes -1.
        """
        if hasattr(values, "new_tensor"):
            low, high = values.new_tensor(self.q01), values.new_tensor(self.q99)
        else:
            low, high = self.q01.astype(values.dtype), self.q99.astype(values.dtype)
        return ((values - low) / (high - low + 1e-8) * 2 - 1).clip(-1, 1)


class EpisodeStatistics(dict[str, StepStatistics]):
    """What :func:`episode_statistics` returns: a dict of :class:`StepStatistics` by name.

    Attributes:
        episodes, steps: their numbers.
    """

    def __init__(self, features: dict[str, StepStatistics], episodes: int, steps: int) -> None:
        super().__init__(features)
        self.episodes = episodes
        self.steps = steps

    def __repr__(self) -> str:
        names = ", ".join(self)
        return f"<EpisodeStatistics of {names}: {self.episodes} episodes, {self.steps} steps>"


def episode_statistics(
    dataset: Dataset,
    features: Features,
    *,
    keep: bool = True,
    threads: int = 0,
    progress: Progress = False,
) -> EpisodeStatistics:
    """Mean, standard deviation, minimum, maximum and quantiles of features over all steps.

    What robot policies normalise actions and states with::

        statistics = rp.episode_statistics(rp.tfds("data/robot_a/1.0.0"), ["action"])
        low, high = statistics["action"].q01, statistics["action"].q99

    Exact, in double precision, and the same at any number of threads. NaN and infinities are left
    out, with a warning that counts them and names the first episode. Takes 8 bytes of memory per
    value of one feature. Raises :class:`InvalidArgumentError` for features that are not numbers of
    a step.

    Args:
        dataset: ``tfds(...)``: of the episodes of its split.
        features: as of :meth:`Dataset.steps`.
        keep: keeps the result in a file statistics-*.json in the folder (or in the user's cache, if
            it can't be written), which is used from then on if the files have not changed.
        threads: 0: one per available core.
        progress: as of :meth:`Dataset.steps`: of finding the steps.
    """
    source = _source_of(dataset, "episode_statistics()")
    with reported(progress, "steps") as function:
        episodes, steps, found = native.episode_statistics(
            *source, _features(features), operator.index(threads), bool(keep), function
        )
    by_name = {}
    for name, shape, named, left_out, *statistics in found:
        mean, std, least, most, q01, q99 = (np.array(one).reshape(shape) for one in statistics)
        counts = np.array(left_out, np.int64).reshape(shape)
        by_name[name] = StepStatistics(mean, std, least, most, q01, q99, counts, named)
        if named:
            number, path, offset, _ = named[0]
            many = "100 or more" if len(named) == 100 else len(named)
            warnings.warn(
                f"{name}: {counts.sum():,} of {steps * counts.size:,} values are NaN or infinite, "
                f"and left out of the statistics; they are in {many} episodes, first in episode "
                f"{number} (the record at offset {offset} of {path})",
                stacklevel=2,
            )
    return EpisodeStatistics(by_name, episodes, steps)


def _open(
    source: tuple[str, str, str],
    features: list[tuple[str, str]],
    offsets: list[tuple[str, list[int]]],
    zero: bool,
    progress: Progress,
) -> native.Dataset:
    with reported(progress, "steps") as function:
        return native.steps(*source, features, offsets, zero, function)


def _source_of(dataset: Any, caller: str) -> tuple[str, str, str]:
    """The folder, split and rounding of ``tfds(...)``."""
    from recordpipe.tfds import tfds

    function, arguments = dataset._recipe
    if function is not recipe.call or arguments[0] is not tfds:
        raise TypeError(f"{caller} needs what tfds() returns; call other operators after it")
    _, (folder, split), keywords = arguments
    if not keywords["check_crc"]:
        raise ValueError(f"{caller} always checks CRCs: leave out check_crc=False")
    return folder, split, keywords["rounding"]


def _features(features: Features | None) -> list[tuple[str, str]]:
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


def _offsets(offsets: Offsets | None) -> list[tuple[str, list[int]]]:
    windows = []
    example = 'such as {"action": range(8)}'
    if not isinstance(offsets, Mapping | None):
        raise TypeError(f"offsets are a dict, {example}, not {offsets!r}")
    for name, window in (offsets or {}).items():
        if not isinstance(name, str):
            raise TypeError(f"offsets are by name, not by {name!r}")
        if not isinstance(window, Iterable):
            raise TypeError(f"the offsets of {name!r} are several steps, {example}, not {window!r}")
        windows.append((name, [operator.index(offset) for offset in window]))
    return windows
