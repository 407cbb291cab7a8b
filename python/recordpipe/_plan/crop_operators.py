"""Image operators that choose and resize a part of an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from recordpipe._plan.image_common import (
    MAX_SIZE,
    ImageOperator,
    Interpolation,
    check_flip,
    known_interpolation,
    positive_range,
    size_of,
)
from recordpipe._plan.plan import Count, Plan

__all__ = ["CropOperators"]


class PadCropFlip(ImageOperator):
    draws = True
    pad: Count
    seed: Count


class CropFlipColor(ImageOperator):
    draws = True
    height: Count
    width: Count
    seed: Count
    max_brightness: float
    min_contrast: float
    max_contrast: float
    standardize: bool


class RandomResizedCrop(ImageOperator):
    draws = True
    height: Count
    width: Count
    scale: tuple[float, float]
    ratio: tuple[float, float]
    flip: bool
    interpolation: str
    antialias: bool
    rounded: bool
    seed: Count


class Resize(ImageOperator):
    height: Count
    width: Count
    interpolation: str
    antialias: bool
    rounded: bool


class ResizeShortSide(ImageOperator):
    method = "resize"
    side: Count
    interpolation: str
    antialias: bool
    rounded: bool


class CenterCrop(ImageOperator):
    height: Count
    width: Count


class ResizeWithCropOrPad(ImageOperator):
    native_name = "central_crop"
    height: Count
    width: Count


class CropOperators(Plan):
    """The image operators of :class:`Dataset` of which an image has at most one."""

    __slots__ = ()

    def pad_crop_flip(
        self, feature: str, pad: int = 4, *, seed: int = 0, flip_steps: bool = False
    ) -> Self:
        """Pads with ``pad`` zeros on each side, crops the old size at random, and flips.

        This is the usual distortion for CIFAR (He et al. 2015). The flip is horizontal, with a
        probability of 1/2.

        Args:
            flip_steps: as of :meth:`random_resized_crop`.
        """
        check_flip(self, "pad_crop_flip", flip_steps)
        if not 0 <= pad <= MAX_SIZE:
            raise ValueError(f"pad is 0 to {MAX_SIZE}, not {pad!r}")
        return self._then(PadCropFlip(feature, pad, seed))

    def crop_flip_color(
        self,
        feature: str,
        height: int,
        width: int,
        *,
        seed: int = 0,
        max_brightness: float = 63.0,
        min_contrast: float = 0.2,
        max_contrast: float = 1.8,
        standardize: bool = True,
        flip_steps: bool = False,
    ) -> Self:
        """Crops and flips at random, changes brightness and contrast, and standardises.

        This is distorted_inputs of TensorFlow's CIFAR-10 tutorial. Values become float32, and are
        not clipped.

        Raises :class:`UnsupportedError` for an image that is smaller than the crop.

        Args:
            max_brightness: a number of -max_brightness to max_brightness is added to all values.
            min_contrast, max_contrast: the distance from the channel's mean is multiplied by a
                number between them.
            standardize: to mean 0 and standard deviation 1, as tf.image.per_image_standardization.
            flip_steps: as of :meth:`random_resized_crop`.
        """
        check_flip(self, "crop_flip_color", flip_steps)
        size_of(height, width)
        return self._then(
            CropFlipColor(
                feature,
                height,
                width,
                seed,
                max_brightness,
                min_contrast,
                max_contrast,
                standardize,
            )
        )

    def random_resized_crop(
        self,
        feature: str,
        height: int | tuple[int, int],
        width: int | None = None,
        *,
        seed: int = 0,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        flip: bool = False,
        flip_steps: bool = False,
        interpolation: Interpolation = "bilinear",
        antialias: bool = True,
        rounded: bool = True,
    ) -> Self:
        """Crops an area at random, and resizes it (torchvision's RandomResizedCrop).

        The crop's area is uniform in ``scale``, and its ratio in the logarithm of ``ratio``; if it
        doesn't fit, it is drawn again, up to ten times; then it is the centre.

        Args:
            height, width: of the result. Default of width: the height.
            scale: of the crop's area, as a part of the image's, above 0 and at most 1.
            ratio: of the crop's width to its height, before it is resized.
            flip: whether to mirror left and right, with a probability of 1/2, as torchvision's
                RandomHorizontalFlip after it.
            flip_steps: permits a flip behind :meth:`steps`, where it raises ValueError: the actions
                and states of a step are not mirrored.
            interpolation, antialias, rounded: as of :meth:`resize`.
        """
        high, wide = size_of(height, width)
        known = known_interpolation(interpolation)
        scales, ratios = positive_range("scale", scale), positive_range("ratio", ratio)
        if flip:
            check_flip(self, "random_resized_crop", flip_steps)
        return self._then(
            RandomResizedCrop(
                feature, high, wide, scales, ratios, flip, known, antialias, rounded, seed
            )
        )

    def resize(
        self,
        feature: str,
        size: int | tuple[int, int],
        width: int | None = None,
        *,
        interpolation: Interpolation = "bilinear",
        antialias: bool = True,
        rounded: bool = True,
    ) -> Self:
        """Resizes (torchvision's Resize, PIL's Image.resize, tf.image.resize).

        With antialiasing, pixels equal those of Pillow 11; Pillow 13 differs by 1 where it filters
        columns before rows.

        Args:
            size: (height, width), or the height before ``width``; or the shorter side, where the
                longer one keeps the ratio, rounded down. Batches need images of one size:
                :meth:`center_crop` makes them so.
            interpolation: "nearest", "bilinear" or "bicubic" (Keys's, with a = -0.5).
            antialias: where the image shrinks, the filter is as wide as the pixels of the result.
                The default of tf.image.resize is False; PIL's resize has no other way. No effect
                on "nearest".
            rounded: True: values are rounded to uint8, those of "bicubic" clipped to 0 to 255,
                before they are normalised, as those of a PIL image. False: they are neither, and
                become float32, as those of tf.image.resize. Images of uint16 are rounded only to
                become uint16.
        """
        known = known_interpolation(interpolation)
        high, wide = size_of(size, width)
        if not isinstance(size, Sequence) and width is None:
            return self._then(ResizeShortSide(feature, high, known, antialias, rounded))
        return self._then(Resize(feature, high, wide, known, antialias, rounded))

    def center_crop(
        self, feature: str, height: int | tuple[int, int], width: int | None = None
    ) -> Self:
        """Crops the centre (torchvision's CenterCrop), of the image or of the result of resize().

        ``resize(key, 256).center_crop(key, 224)`` is the usual evaluation: only the pixels of the
        result are computed. An odd border is divided as torchvision does.

        Raises :class:`UnsupportedError` for an image that is smaller than the crop
        (:meth:`resize_with_crop_or_pad` pads it).

        Args:
            height, width: of the result. Default of width: the height.
        """
        high, wide = size_of(height, width)
        return self._then(CenterCrop(feature, high, wide))

    def resize_with_crop_or_pad(self, feature: str, height: int, width: int) -> Self:
        """Crops the centre, or pads with zeros (tf.image.resize_with_crop_or_pad)."""
        size_of(height, width)
        return self._then(ResizeWithCropOrPad(feature, height, width))
