// The distortions of TensorFlow's CIFAR-10 tutorial (distorted_inputs of cifar10_input.py): a
// random crop, a random flip, random brightness, random contrast, and standardisation of the
// result.
//
// The pixels' work is one pass. Brightness, contrast and standardisation are together one linear
// function for each channel; its coefficients come from exact integer sums over the crop. A value
// differs from the exact one by what rounding to float costs in the range of 0..255: less than
// 2e-5 of a grey level, and so less than 1e-6 in an image whose values spread over 20 of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "recordpipe/image/image_batch.h"
#include "recordpipe/parameter.h"
#include "recordpipe/philox.h"

namespace recordpipe {

// The size of the images that crops are taken from.
struct ImageSize {
  size_t height = 32;
  size_t width = 32;
};

struct ColorRanges {
  float max_brightness = 63;  // at least 0; values are 0..255
  float min_contrast = 0.2f;  // above 0
  float max_contrast = 1.8f;  // at least min_contrast
};

// What is done to an image, decided before any pixel is touched. The default takes the upper left
// corner and leaves the colours alone.
struct CropFlipColor {
  int top = 0;   // the crop's first row in the image's coordinates, |top| <= 2^30
  int left = 0;  // its first column, likewise
  bool flip = false;
  float brightness = 0;  // added to each value; standardisation takes it out again
  // Above 0. With m the channel's mean over the crop, a value x becomes (x - m) * contrast + m.
  float contrast = 1;

  // Five draws: the crop's row and column, uniform over the places where it lies inside the image;
  // a flip half of the time; brightness, uniform in [-max_brightness, max_brightness); contrast,
  // uniform in [min_contrast, max_contrast). Throws Error{invalid_argument} where `crop` is larger
  // than `image` or the ranges make no sense.
  static CropFlipColor draw(Random& random, const ImageSize& image, const ImageSize& crop,
                            const ColorRanges& ranges = {});

  // For evaluation, as tf.image.resize_image_with_crop_or_pad: the middle of the image, or zeros on
  // all sides where the crop is larger, in either direction.
  static CropFlipColor central(const ImageSize& image, const ImageSize& crop);
};

// Whether the result is standardised, as by tf.image.per_image_standardization: all values of the
// crop get the mean 0, and a standard deviation of 1 unless it was below 1/sqrt(their number).
enum class Standardize { no, yes };

// Writes the crop of `image` to `out`.
//   image: uint8, [channels, size.height, size.width], 1 to 4 channels
//   out:   format.bytes_per_image() bytes in format's dtype, not uint8, and layout; the crop is
//          format.height by format.width. Padding is part of it, with zeros. Aligned for the dtype.
// Nothing is clipped to 0..255, as in the tutorial.
void crop_flip_color(std::span<const uint8_t> image, const ImageSize& size,
                     const CropFlipColor& distortion, const ImageFormat& format, std::byte* out,
                     Standardize standardize = Standardize::yes);

// An image on its way to a batch.
struct RecoloredRow {
  std::span<const uint8_t> pixels;  // [channels, size.height, size.width]; must outlive the row
  int32_t label = 0;
  CropFlipColor distortion = {};
  // As ImageRow's (pad_crop_flip.h).
  std::shared_ptr<const std::byte[]> owner = {};

  friend uint64_t heap_bytes(const RecoloredRow& row) { return row.owner ? row.pixels.size() : 0; }
};

// Puts rows together to an ImageBatch, distorting each straight into its place.
struct RecoloredCollator {
  using Batch = ImageBatch;
  ImageFormat format = {.height = 24, .width = 24};
  ImageSize size = {};
  Standardize standardize = Standardize::yes;

  void reset(ImageBatch& batch, size_t rows) const { batch.reset(format, rows); }
  void set(ImageBatch& batch, size_t row, const RecoloredRow& image) const {
    batch.set_label(row, image.label);
    crop_flip_color(image.pixels, size, image.distortion, format, batch.image_at(row), standardize);
  }

  // Those of the format, the size of what is cropped, and whether it is standardised.
  std::vector<Parameter> parameters() const;
};

}  // namespace recordpipe
