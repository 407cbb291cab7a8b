"""The statistics of features over all steps of RLDS data sets, for normalisation."""

from __future__ import annotations

import operator
import warnings
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from recordpipe import _native as native
from recordpipe._notebook.report_table import Bar, Report, ReportTable
from recordpipe._plan.step_operators import Features, chosen_features, episodes_of
from recordpipe.dataset import Dataset
from recordpipe.progress import Progress, reported
from recordpipe.schema import counted

__all__ = ["EpisodeStatistics", "StepStatistics", "episode_statistics"]

Array: TypeAlias = npt.NDArray[np.float64]


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


class EpisodeStatistics(dict[str, StepStatistics], Report):
    """What :func:`episode_statistics` returns: a dict of :class:`StepStatistics` by name.

    Attributes:
        episodes, steps: their numbers.
    """

    def __init__(self, features: dict[str, StepStatistics], episodes: int, steps: int) -> None:
        super().__init__(features)
        self.episodes = episodes
        self.steps = steps

    def to_json(self) -> str:
        """A JSON object in the form of the ``dataset_statistics.json`` of Octo and OpenVLA.

        Of each feature "mean", "std", "min", "max", "q01" and "q99", as lists of its shape, in
        which null is an element without finite values; "num_transitions", "num_trajectories".
        """
        import json

        fields = ("mean", "std", "min", "max", "q01", "q99")
        document: dict[str, Any] = {
            name: {each: _listed(getattr(one, each)) for each in fields}
            for name, one in self.items()
        }
        document |= {"num_transitions": self.steps, "num_trajectories": self.episodes}
        return json.dumps(document)

    def _report(self) -> ReportTable:
        rows: list[tuple[str | Bar, ...]] = []
        for name, one in self.items():
            for at in np.ndindex(one.mean.shape):
                low, q01, q99, high = (float(x[at]) for x in (one.min, one.q01, one.q99, one.max))
                of_range = Bar((q99 - q01) / (high - low) if high > low else 0, "")
                numbers = (float(one.mean[at]), float(one.std[at]), low, q01, q99, high)
                place = f"{name}{list(at)}" if at else name
                rows.append((place, *(f"{number:.4g}" for number in numbers), of_range))
        columns = "feature", "mean", "std", "min", "q01", "q99", "max", "q01 to q99 of the range"
        return ReportTable(
            f"{counted(self.episodes, 'episode')}, {counted(self.steps, 'step')}", columns, rows
        )

    def __repr__(self) -> str:
        names = ", ".join(self)
        return f"<EpisodeStatistics of {names}: {self.episodes} episodes, {self.steps} steps>"


def _listed(values: Array) -> Any:
    return np.where(np.isnan(values), np.array(None), values.astype(object)).tolist()


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
            it can't be written), which is used from then on if the files have not changed. A
            warning names the file when it is made.
        threads: 0: one per available core.
        progress: as of :meth:`Dataset.steps`: of finding the steps.
    """
    source = episodes_of(dataset, "episode_statistics()")
    with reported(progress, "steps") as function:
        episodes, steps, found = native.episode_statistics(
            *source, chosen_features(features), operator.index(threads), bool(keep), function
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
                f"{number} (the record at offset {offset} of {native.without_secrets(path)})",
                stacklevel=2,
            )
    return EpisodeStatistics(by_name, episodes, steps)
