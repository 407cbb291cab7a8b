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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, field, replace
from typing import Any, Literal, Self, TypeAlias

from recordpipe import _native as native
from recordpipe._plan.function_operators import Map
from recordpipe._plan.order_operators import Skip, Take
from recordpipe._plan.plan import Count, Function, Operator, Plan, Shard, Source
from recordpipe._plan.source_plans import Tfds
from recordpipe.errors import InvalidArgumentError
from recordpipe.features import where_text
from recordpipe.progress import Progress, reported

__all__ = ["Features", "StepOperators", "Steps", "chosen_features", "episodes_of"]

Predicate: TypeAlias = Callable[[dict[str, Any]], Any]
Features: TypeAlias = Iterable[str] | Mapping[str, str]
Offsets: TypeAlias = Mapping[str, Iterable[int]]


class Steps(Operator):
    _: KW_ONLY
    features: Features | None
    offsets: Offsets | None
    pad: str | None  # "zero", or else None
    where: str | None
    min_length: Count | None
    episodes: Function | None
    source: tuple[str, str, str] = field(repr=False)  # of the input: what native.steps() opens
    numbers: list[int] | None = field(repr=False)  # of the chosen episodes; None: all
    progress: Progress = field(default=False, repr=False)

    def lower(self, input: native.Dataset) -> native.Dataset:
        with reported(self.progress, "steps") as function:
            return native.steps(
                *self.source,
                chosen_features(self.features),
                _offsets(self.offsets),
                self.pad == "zero",
                self.numbers,
                function,
            )

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "episodes": None, "progress": False}  # `numbers` has the answers


class StepOperators(Plan):
    """The operators of :class:`Dataset` for episodes, which :func:`recordpipe.tfds` reads."""

    __slots__ = ()

    def steps(
        self,
        *,
        features: Features | None = None,
        offsets: Offsets | None = None,
        pad: Literal["edge", "zero"] = "edge",
        where: str | None = None,
        min_length: int = 0,
        episodes: Predicate | None = None,
        progress: Progress = False,
    ) -> Self:
        """Yields the single steps of all episodes, each with a window around it.

        Follows :func:`recordpipe.tfds`, or take(), skip() and shard() of its episodes; all
        operators that order elements may follow it.
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
        written; a warning says where. A damaged record raises :class:`DataLossError` then; one that
        is damaged later raises where its steps are read.

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
                ``"<name>_mask"``. Features without offsets are those of the step itself.
            pad: what the places before the first and after the last step hold: "edge", the values
                of that step, or "zero": zeros, empty bytes, and zeros in the batch for images.
            where: chooses episodes by what is not of their steps, and by "steps", their number:
                ``"episode_metadata/success == 1 and steps >= 16"``, a text as of
                :func:`recordpipe.convert`. Features of unknown size, and optional ones, can't be
                named. Read from the index, not from the records.
            min_length: chooses the episodes of at least so many steps.
            episodes: chooses those for which ``episodes(episode)`` is true; ``episode`` is a nested
                dict of the values that ``where`` may name: ``{"episode_metadata": {"success": 1},
                "steps": 83}``. It is called when ``steps()`` is, and not kept: a pickle has the
                numbers of the chosen episodes. If none is chosen, :class:`InvalidArgumentError`.
            progress: of the reading that finds the steps: True (a bar), or a function of the bytes
                done and the bytes in all, which may raise. Files whose index is there count at
                once.
        """
        if pad not in ("edge", "zero"):
            raise ValueError(f'pad is "edge" or "zero", not {pad!r}')
        among = self._chosen_by_number()
        source = episodes_of(self._first(0), "steps()")
        call = Steps(
            features=features if isinstance(features, Mapping | str | None) else [*features],
            offsets=offsets and dict(_offsets(offsets)),
            pad="zero" if pad == "zero" else None,
            where=where_text(where),
            min_length=min_length or None,
            episodes=episodes,
            source=source,
            numbers=among,
            progress=progress,
        )
        if where is not None or min_length or episodes:
            with reported(progress, "steps") as function:
                numbers = native.chosen_episodes(
                    *source, among, min_length, call.where, episodes, function
                )
            if not numbers:
                of = self._native.cardinality()
                raise InvalidArgumentError(f"{call!r} chooses none of {of} episodes")
            call = replace(call, numbers=numbers, progress=False)
        return self._then(call)

    def _chosen_by_number(self) -> list[int] | None:
        """The numbers of the episodes that the operators choose; None: all."""
        numbers = range(self._first(0)._native.cardinality())
        for each in self._operators:
            if isinstance(each, Take):
                numbers = numbers[: each.count]
            elif isinstance(each, Skip):
                numbers = numbers[each.count :]
            elif isinstance(each, Shard):
                left_out = len(numbers) % each.num_shards if each.drop_remainder else 0
                numbers = numbers[each.index : len(numbers) - left_out : each.num_shards]
            else:
                raise TypeError(
                    "steps() comes behind tfds(), or take(), skip() and shard() of its episodes; "
                    f"{each.method}() may follow it. To choose episodes, call "
                    "steps(episodes=function), steps(where=...) or steps(min_length=...)"
                )
        return [*numbers] if self._operators else None

    def map_episode(self, function: Callable[[dict[str, Any]], Any], *, name: str = "") -> Self:
        """Applies ``function(episode)`` to each episode.

        Follows :func:`recordpipe.tfds`, and operators that order Examples (:meth:`Dataset.shuffle`,
        :meth:`Dataset.take`, ...). An episode is the nested dict of an Example whose images stay
        encoded: ``episode["steps"]["action"]`` is an array [steps, 7],
        ``episode["steps"]["observation"]["image"]`` an array [steps] of ``bytes``. Results are in
        input order.

        Args:
            name: as of :meth:`Dataset.map`.
        """
        source = _tfds_of(self._source, "map_episode()")
        encoded = self._of(replace(source, decode_images=False, left_encoded=()))
        return encoded._with((*self._operators, Map(function, name=name)))


def episodes_of(plan: Plan, caller: str) -> tuple[str, str, str]:
    """The folder, split and rounding of ``tfds(...)``."""
    if not isinstance(plan, Plan):
        raise TypeError(f"{caller} reads the episodes of tfds(folder), not {plan!r:.100}")
    source = _tfds_of(plan._source, caller)
    if plan._operators:
        first = plan._operators[0].method
        raise TypeError(
            f"{caller} comes directly behind tfds(): call {first}() behind it. To choose episodes, "
            'name them in the split, such as tfds(folder, split="train[:100]")'
        )
    return source.folder, source.split, source.rounding


def _tfds_of(source: Source, caller: str) -> Tfds:
    if not isinstance(source, Tfds):
        raise TypeError(f"{caller} reads the episodes of tfds(folder), not {source.method}()")
    if not source.check_crc:
        raise ValueError(f"{caller} always checks CRCs: leave out check_crc=False")
    return source


def chosen_features(features: Features | None) -> list[tuple[str, str]]:
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
