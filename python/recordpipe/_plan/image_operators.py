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

from recordpipe._plan.crop_operators import CropOperators
from recordpipe._plan.image_common import (
    MAX_SIZE,
    ImageOperator,
    channel_values,
    jitter_range,
    known_image_dtype,
    known_layout,
    scale_of,
)
from recordpipe._plan.plan import Count

__all__ = ["ImageOperators"]


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


class ImageOperators(CropOperators):
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
                feature, channels, max_pixels, dct == "fast", wide, exif_orientation, dct_scaling
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
        if len(sizes) != 3 or any(size < 1 or size > MAX_SIZE for size in sizes):
            raise ValueError(f"shape is of three sizes of 1 to {MAX_SIZE}, not {shape!r}")
        known = known_layout(layout)
        channels, height, width = sizes if known == "nchw" else (sizes[2], sizes[0], sizes[1])
        return self._then(DecodeRaw(feature, height, width, channels, known))

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
            jitter_range("brightness", brightness, 1.0),
            jitter_range("contrast", contrast, 1.0),
            jitter_range("saturation", saturation, 1.0),
            jitter_range("hue", hue, 0.0),
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
