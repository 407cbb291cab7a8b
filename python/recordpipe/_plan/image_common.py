"""What image operators have in common: their base, and the values that they take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from recordpipe import _native as native
from recordpipe._plan.plan import Operator, Plan

__all__ = [
    "MAX_SIZE",
    "ImageOperator",
    "Interpolation",
    "channel_values",
    "check_flip",
    "jitter_range",
    "known_image_dtype",
    "known_interpolation",
    "known_layout",
    "positive_range",
    "scale_of",
    "size_of",
]

Interpolation = Literal["nearest", "bilinear", "bicubic"]
_INTERPOLATIONS: tuple[Interpolation, ...] = ("nearest", "bilinear", "bicubic")
MAX_SIZE = 2**16


class ImageOperator(Operator):
    """Changes what parse() makes of a feature, by a native function that takes the fields."""

    parses = True
    feature: str

    def lower(self, input: native.Dataset) -> native.Dataset:
        made: native.Dataset = getattr(native, self.native_name)(input, *vars(self).values())
        return made


def known_interpolation(interpolation: str) -> Interpolation:
    """Returns the library's name of an interpolation; also takes PIL's and torchvision's enums."""
    name = str(getattr(interpolation, "name", interpolation)).lower()
    for known in _INTERPOLATIONS:
        if name == known:
            return known
    raise ValueError(f'interpolation is "nearest", "bilinear" or "bicubic", not {interpolation!r}')


def positive_range(name: str, bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = (float(bound) for bound in bounds)
    if not 0 < low <= high or (name == "scale" and high > 1) or high == float("inf"):
        raise ValueError(
            f"{name} is two numbers above 0, in order{', at most 1' * (name == 'scale')}, "
            f"not {bounds!r}"
        )
    return low, high


def jitter_range(
    name: str, value: float | tuple[float, float], center: float
) -> tuple[float, float]:
    """Returns the bounds, as torchvision's ColorJitter makes them."""
    if isinstance(value, (int, float)):
        low, high = center - value, center + value
        if center:
            low = max(0.0, low)
    else:
        low, high = value
    most = 0.5 if name == "hue" else 1e6
    if not (-0.5 if name == "hue" else 0.0) <= low <= high <= most:
        raise ValueError(f"{name} is a number, or two in order, not {value!r}")
    return float(low), float(high)


def _is_side(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def size_of(height: int | tuple[int, int], width: int | None = None) -> tuple[int, int]:
    """(height, width), given together or one by one; a square of one number."""
    sides: list[Any] = [height, height if width is None else width]
    is_wrong = False
    if isinstance(height, (tuple, list)):
        sides, is_wrong = [*height], width is not None
    if is_wrong or len(sides) != 2 or not all(map(_is_side, sides)):
        given = f"{height!r}" if width is None else f"{height!r} and {width!r}"
        raise TypeError(f"a size is height and width, or (height, width), not {given}")
    high, wide = int(sides[0]), int(sides[1])
    if not (1 <= high <= MAX_SIZE and 1 <= wide <= MAX_SIZE):
        raise ValueError(f"height and width are 1 to {MAX_SIZE}, not {high} and {wide}")
    return high, wide


def channel_values(values: float | Sequence[float]) -> list[float]:
    """Returns one number for all channels, or one for each, as a list."""
    if isinstance(values, (int, float)):
        return [float(values)]
    return [float(value) for value in values]


def scale_of(means: list[float], stds: list[float], scale: float | None) -> float:
    """Returns the scale of a normalisation; raises ValueError where it must be given."""
    if scale is not None:
        return scale
    changes = any(means) or any(std not in (0, 1) for std in stds)  # native code refuses 0
    if changes and all(abs(value) <= 1 for value in means + stds):
        raise ValueError(
            f"mean {means} and std {stds} are of values from 0 to 1, and those of images are 0 to "
            "255: pass scale=1 / 255 (1 / 65535 for uint16), or scale=1 if they are meant so"
        )
    return 1.0


def check_flip(plan: Plan, operator: str, flip_steps: bool) -> None:
    if plan._lowered.elements.has_steps() and not flip_steps:
        raise ValueError(
            f"{operator} mirrors images at random, but not the actions and states of their steps; "
            "leave the flip out, or pass flip_steps=True if no feature tells left from right"
        )


def known_image_dtype(
    dtype: Any, allowed: tuple[str, ...] = ("uint8", "uint16", "float32", "float16")
) -> str:
    """Returns the library's name of a dtype of images."""
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    if name not in allowed:
        names = " or ".join(f'"{one}"' for one in allowed)
        raise ValueError(f"dtype is {names}, not {dtype!r}")
    return str(name)


def known_layout(layout: str) -> str:
    """Returns the library's name of a layout."""
    if layout.lower() not in ("nhwc", "nchw"):
        raise ValueError(f'layout is "NHWC" or "NCHW", not {layout!r}')
    return layout.lower()
