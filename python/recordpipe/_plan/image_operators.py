"""Image operators of a Dataset, under the names of tf.image and of the C++ library.

ds = (rp.tfrecords("train-*.tfrecord")
        .parse({"image": rp.FixedLenFeature([], "bytes"),
                "label": rp.FixedLenFeature([], "int64")})
        .decode_image("image", channels=3)
        .random_resized_crop("image", 224, flip=True, seed=7)
        .normalize("image", (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), scale=1 / 255)
        .image_format("image", layout="NCHW")
        .shuffle(seed=7)
        .batch(128))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

from recordpipe import _native as native
from recordpipe._plan.plan import Count, Operator, Plan

__all__ = ["ImageOperator", "ImageOperators", "channel_values", "known_image_dtype", "known_layout"]

Interpolation = Literal["nearest", "bilinear", "bicubic"]
_INTERPOLATIONS: tuple[Interpolation, ...] = ("nearest", "bilinear", "bicubic")


class ImageOperator(Operator):
    """Changes what parse() makes of a feature, by a native function that takes the fields."""

    parses = True
    feature: str

    def lower(self, input: native.Dataset) -> native.Dataset:
        made: native.Dataset = getattr(native, self.native_name)(input, *vars(self).values())
        return made


class DecodeImage(ImageOperator):
    channels: Count
    max_pixels: Count
    fast_dct: bool
    wide: bool  # 16 bits
    exif_orientation: bool
    dct_scaling: bool


class DecodeRaw(ImageOperator):
    height: Count
    width: Count
    channels: Count
    layout: str


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


class ColorJitter(ImageOperator):
    draws = True
    brightness: tuple[float, float]
    contrast: tuple[float, float]
    saturation: tuple[float, float]
    hue: tuple[float, float]
    seed: Count | None


class Normalize(ImageOperator):
    mean: list[float]
    std: list[float]
    scale: float


class PerImageStandardization(ImageOperator):
    pass


class ImageFormat(ImageOperator):
    dtype: str | None
    layout: str | None
    sizes: str | None


class ImageOperators(Plan):
    """The image operators of :class:`Dataset`.

    Like :meth:`Dataset.parse`, they compute nothing by themselves, and travel through operators
    that only order elements. When a batch is built, each image goes from the bytes of its record to
    its row of the batch in one pass, on the pipeline's threads, without the GIL.

    :meth:`decode_image` or :meth:`decode_raw` makes an image of a feature of bytes; the others take
    the feature's name. An image has at most one crop (:meth:`random_resized_crop`,
    :meth:`resize`, :meth:`center_crop`, also after resize(), :meth:`pad_crop_flip`,
    :meth:`crop_flip_color`, :meth:`resize_with_crop_or_pad`), then at most one
    :meth:`color_jitter`, and then at most one normalisation (:meth:`normalize`,
    :meth:`per_image_standardization`). Of a JPEG file, only the part that the crop needs is
    decoded.

    In a batch, an image is an array [batch, height, width, channels], or [batch, channels, height,
    width]; in a single element, without the batch dimension. Values are 0 to 255, uint8, unless an
    operator changes them. All images of a batch must have the same size after the crop; another
    size raises :class:`UnsupportedError`, which names the record, unless :meth:`image_format`
    says "padded" or "list".

    Random numbers depend on the seed, the epoch and the element's place in its source only. They
    are drawn where the batch is built: :meth:`Dataset.cache` keeps records, and each epoch has its
    own crops. Give each random operator its own seed; the numbers of two equal seeds differ too.
    """

    __slots__ = ()

    def decode_image(
        self,
        feature: str,
        channels: int = 3,
        *,
        max_pixels: int = 2**26,
        dtype: Any = "uint8",
        dct: Literal["accurate", "fast"] = "accurate",
        dct_scaling: bool = False,
        exif_orientation: bool = False,
    ) -> Self:
        """Decodes JPEG, PNG, WebP, GIF and BMP files (tf.io.decode_image).

        Of an animation, the first frame is decoded.

        Raises for an element: :class:`UnsupportedError` for another format,
        :class:`DataLossError` for a damaged file, :class:`LimitExceededError` for a larger image.
        Damage below the part that a crop needs is not noticed.

        Args:
            feature: the name of a feature that was parsed as ``FixedLenFeature([], "bytes")``.
            channels: 1: grey; 3: RGB; 4: RGBA; 0: as in the file.
            max_pixels: of one image.
            dtype: "uint8" or "uint16". uint16 keeps PNG files of 16 bits, and multiplies values of
                8 bits by 257, as tf.io.decode_image does; uint8 keeps the upper 8 bits.
            dct: the inverse transform of JPEG files: "accurate", as PIL's, or "fast", as
                tf.io.decode_image's. Values differ by up to 5 in smooth images, and by up to 18 in
                photographs of quality 95.
            dct_scaling: whether JPEG files are decoded at 1/2, 1/4 or 1/8 of their size where a
                crop is resized to at most that, in both dimensions. Faster for large images, but
                pixels differ: docs/photographs.md says by how much.
            exif_orientation: whether images are turned and mirrored as their EXIF data say
                (PIL.ImageOps.exif_transpose), before anything else. tf.io.decode_image and PIL
                ignore it.
        """
        if channels not in (0, 1, 3, 4):
            raise ValueError(f"channels is 0, 1, 3 or 4, not {channels!r}")
        if dct not in ("accurate", "fast"):
            raise ValueError(f'dct is "accurate" or "fast", not {dct!r}')
        wide = known_image_dtype(dtype, ("uint8", "uint16")) == "uint16"
        return self._then(
            DecodeImage(
                feature,
                channels,
                max_pixels,
                dct == "fast",
                wide,
                exif_orientation,
                dct_scaling,
            )
        )

    def decode_raw(self, feature: str, shape: Sequence[int], *, layout: str = "NHWC") -> Self:
        """Takes the bytes of uint8 pixels as an image.

        Raises :class:`UnsupportedError` for an element with another number of bytes.

        Args:
            feature: the name of a feature that was parsed as ``FixedLenFeature([], "bytes")``.
            shape: of an image in its record: [height, width, channels], or [channels, height,
                width].
            layout: of the image in its record, "NHWC" or "NCHW". A batch is NHWC without
                :meth:`image_format`.
        """
        sizes = [int(size) for size in shape]
        if len(sizes) != 3 or any(size < 1 or size > _MAX_SIZE for size in sizes):
            raise ValueError(f"shape is of three sizes of 1 to {_MAX_SIZE}, not {shape!r}")
        known = known_layout(layout)
        channels, height, width = sizes if known == "nchw" else (sizes[2], sizes[0], sizes[1])
        return self._then(DecodeRaw(feature, height, width, channels, known))

    def pad_crop_flip(
        self, feature: str, pad: int = 4, *, seed: int = 0, flip_steps: bool = False
    ) -> Self:
        """Pads with ``pad`` zeros on each side, crops the old size at random, and flips.

        This is the usual distortion for CIFAR (He et al. 2015). The flip is horizontal, with a
        probability of 1/2.

        Args:
            flip_steps: as of :meth:`random_resized_crop`.
        """
        _check_flip(self, "pad_crop_flip", flip_steps)
        if not 0 <= pad <= _MAX_SIZE:
            raise ValueError(f"pad is 0 to {_MAX_SIZE}, not {pad!r}")
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
        _check_flip(self, "crop_flip_color", flip_steps)
        _check_size(height, width)
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
        height: int,
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
        wide = height if width is None else width
        _check_size(height, wide)
        known = _known_interpolation(interpolation)
        scales, ratios = _range("scale", scale), _range("ratio", ratio)
        if flip:
            _check_flip(self, "random_resized_crop", flip_steps)
        return self._then(
            RandomResizedCrop(
                feature,
                height,
                wide,
                scales,
                ratios,
                flip,
                known,
                antialias,
                rounded,
                seed,
            )
        )

    def resize(
        self,
        feature: str,
        size: int | tuple[int, int],
        *,
        interpolation: Interpolation = "bilinear",
        antialias: bool = True,
        rounded: bool = True,
    ) -> Self:
        """Resizes (torchvision's Resize, PIL's Image.resize, tf.image.resize).

        With antialiasing, pixels equal those of Pillow 11; Pillow 13 differs by 1 where it filters
        columns before rows.

        Args:
            size: (height, width); or the shorter side, where the longer one keeps the ratio,
                rounded down. Batches need images of one size: :meth:`center_crop` makes them so.
            interpolation: "nearest", "bilinear" or "bicubic" (Keys's, with a = -0.5).
            antialias: where the image shrinks, the filter is as wide as the pixels of the result.
                The default of tf.image.resize is False; PIL's resize has no other way. No effect
                on "nearest".
            rounded: True: values are rounded to uint8, those of "bicubic" clipped to 0 to 255,
                before they are normalised, as those of a PIL image. False: they are neither, and
                become float32, as those of tf.image.resize. Images of uint16 are rounded only to
                become uint16.
        """
        known = _known_interpolation(interpolation)
        if isinstance(size, int):
            _check_size(size, size)
            return self._then(ResizeShortSide(feature, size, known, antialias, rounded))
        height, width = size
        _check_size(height, width)
        return self._then(Resize(feature, height, width, known, antialias, rounded))

    def center_crop(self, feature: str, height: int, width: int | None = None) -> Self:
        """Crops the centre (torchvision's CenterCrop), of the image or of the result of resize().

        ``resize(key, 256).center_crop(key, 224)`` is the usual evaluation: only the pixels of the
        result are computed. An odd border is divided as torchvision does.

        Raises :class:`UnsupportedError` for an image that is smaller than the crop
        (:meth:`resize_with_crop_or_pad` pads it).

        Args:
            height, width: of the result. Default of width: the height.
        """
        wide = height if width is None else width
        _check_size(height, wide)
        return self._then(CenterCrop(feature, height, wide))

    def resize_with_crop_or_pad(self, feature: str, height: int, width: int) -> Self:
        """Crops the centre, or pads with zeros (tf.image.resize_with_crop_or_pad)."""
        _check_size(height, width)
        return self._then(ResizeWithCropOrPad(feature, height, width))

    def color_jitter(
        self,
        feature: str,
        brightness: float | tuple[float, float] = 0.0,
        contrast: float | tuple[float, float] = 0.0,
        saturation: float | tuple[float, float] = 0.0,
        hue: float | tuple[float, float] = 0.0,
        *,
        seed: int | None = None,
    ) -> Self:
        """Changes the colours at random, in random order (torchvision's ColorJitter).

        It is applied to the crop, in the same pass. Values are those of torchvision for uint8
        tensors, or differ by 1; PIL images differ more in their hue.

        Args:
            brightness, contrast, saturation: factors are uniform in [max(0, 1 - x), 1 + x], or
                between two numbers. 0: no change.
            hue: uniform in [-hue, hue], or between two numbers, of -0.5 to 0.5.
            seed: of an image that has no random crop before. With a random crop, its numbers go on,
                and seed is None.
        """
        ranges = (
            _jitter_range("brightness", brightness, 1.0),
            _jitter_range("contrast", contrast, 1.0),
            _jitter_range("saturation", saturation, 1.0),
            _jitter_range("hue", hue, 0.0),
        )
        return self._then(ColorJitter(feature, *ranges, seed))

    def normalize(
        self,
        feature: str,
        mean: float | Sequence[float] = 0.0,
        std: float | Sequence[float] = 1.0,
        *,
        scale: float | None = None,
    ) -> Self:
        """Makes (value * scale - mean) / std of each value of 0 to 255, in float32.

        ``normalize(key, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), scale=1 / 255)`` is
        torchvision's ToTensor and Normalize. Zeros of padding are normalised, too.

        Args:
            mean, std: one number, or one for each channel.
            scale: default 1. Where no mean and no std is above 1, as those of torchvision's models,
                it must be given: ValueError.
        """
        means, stds = channel_values(mean), channel_values(std)
        factor = scale_of(means, stds, scale)
        return self._then(Normalize(feature, means, stds, factor))

    def per_image_standardization(self, feature: str) -> Self:
        """Gives each image mean 0 and standard deviation 1 (tf.image.per_image_standardization)."""
        return self._then(PerImageStandardization(feature))

    def image_format(
        self,
        feature: str,
        dtype: Any = None,
        *,
        layout: str | None = None,
        sizes: Literal["equal", "padded", "list"] | None = None,
    ) -> Self:
        """Sets the dtype and the layout of the arrays. Doesn't scale the values.

        Args:
            dtype: "uint8", "uint16", "float32" or "float16". Default: uint8 or uint16, as it was
                decoded; after operators that change the values, float32. uint8 and uint16 are for
                images that were decoded to them.
            layout: "NHWC" (default) or "NCHW".
            sizes: of the images of a batch. "equal" (default): another size than the first raises
                :class:`UnsupportedError`. "padded": images are padded to the largest height and
                width of the batch, with zeros (also after a normalisation) below and on the right,
                and a batch has their heights and widths as ``feature + "/size"``, int64 [batch, 2].
                "list": a batch has a list of arrays.
        """
        known = None if dtype is None else known_image_dtype(dtype)
        order = None if layout is None else known_layout(layout)
        if sizes not in (None, "equal", "padded", "list"):
            raise ValueError(f'sizes is "equal", "padded" or "list", not {sizes!r}')
        return self._then(ImageFormat(feature, known, order, sizes))


_MAX_SIZE = 2**16


def _known_interpolation(interpolation: str) -> Interpolation:
    """Returns the library's name of an interpolation; also takes PIL's and torchvision's enums."""
    name = str(getattr(interpolation, "name", interpolation)).lower()
    for known in _INTERPOLATIONS:
        if name == known:
            return known
    raise ValueError(f'interpolation is "nearest", "bilinear" or "bicubic", not {interpolation!r}')


def _range(name: str, bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = (float(bound) for bound in bounds)
    if not 0 < low <= high or (name == "scale" and high > 1) or high == float("inf"):
        raise ValueError(
            f"{name} is two numbers above 0, in order{', at most 1' * (name == 'scale')}, "
            f"not {bounds!r}"
        )
    return low, high


def _jitter_range(
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


def _check_size(height: int, width: int) -> None:
    if not (1 <= height <= _MAX_SIZE and 1 <= width <= _MAX_SIZE):
        raise ValueError(f"height and width are 1 to {_MAX_SIZE}, not {height!r} and {width!r}")


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


def _check_flip(plan: Plan, operator: str, flip_steps: bool) -> None:
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
