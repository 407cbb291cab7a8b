// Implements the data augmentation of TensorFlow's CIFAR-10 tutorial (distorted_inputs of
// cifar10_input.py): random crop, horizontal flip, brightness and contrast, then standardisation.
//
// Brightness, contrast and standardisation are applied in one pass, as one linear function per
// channel, with coefficients from exact integer sums over the crop. The error of a value is the
// float rounding error in the range 0..255: less than 2e-5 grey levels, and therefore less than
// 1e-6 after standardisation of an image with a standard deviation of 20 grey levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "recordpipe/base/parameter.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/image/image_size.h"

namespace recordpipe {

struct ColorRanges {
  float max_brightness = 63;  // at least 0; values are 0..255
  float min_contrast = 0.2f;  // above 0
  float max_contrast = 1.8f;  // at least min_contrast
};

// The parameters of one distortion. Default: a crop at the upper left corner with unchanged
// colours.
struct CropFlipColor {
  int top = 0;   // first row of the crop in the image, |top| <= 2^30
  int left = 0;  // first column, |left| <= 2^30
  bool flip = false;
  float brightness = 0;  // added to each value; cancelled by standardisation
  // Must be above 0. A value x becomes (x - m) * contrast + m, where m is the channel's mean over
  // the crop.
  float contrast = 1;

  // Draws five random values: the row and column of the crop, uniform over the positions inside the
  // image; the flip, with probability 1/2; the brightness, uniform in [-max_brightness,
  // max_brightness); the contrast, uniform in [min_contrast, max_contrast). Throws
  // Error{invalid_argument} if `crop` is larger than `image` or a range is invalid.
  static CropFlipColor draw(Random& random, const ImageSize& image, const ImageSize& crop,
                            const ColorRanges& ranges = {});

  // Returns the parameters of the central crop, for evaluation. Like
  // tf.image.resize_image_with_crop_or_pad, pads with zeros in each dimension where the crop is
  // larger than the image.
  static CropFlipColor central(const ImageSize& image, const ImageSize& crop);
};

// Whether to standardise the result to mean 0 and standard deviation 1 over all values of the crop.
// Like tf.image.per_image_standardization, replaces a standard deviation below 1/sqrt(number of
// values) by this bound.
enum class Standardize { no, yes };

// Writes the distorted crop of `image` to `out`.
//   image: uint8, [channels, size.height, size.width], 1 to 4 channels
//   out:   format.bytes_per_image() bytes in the dtype (not uint8) and layout of `format`, aligned
//          for the dtype. The crop, with its zero padding, is format.height x format.width.
// Like the tutorial, does not clip the values to 0..255. Throws Error{invalid_argument} for other
// sizes, dtypes and numbers of channels, and if the contrast is not above 0.
void crop_flip_color(std::span<const uint8_t> image, const ImageSize& size,
                     const CropFlipColor& distortion, const ImageFormat& format, std::byte* out,
                     Standardize standardize = Standardize::yes);

// An image to be added to a batch.
struct RecoloredRow {
  std::span<const uint8_t> pixels;  // [channels, size.height, size.width]; must outlive the row
  int32_t label = 0;
  CropFlipColor distortion = {};
  // See ImageRow::owner (pad_crop_flip.h).
  std::shared_ptr<const std::byte[]> owner = {};

  friend uint64_t heap_bytes(const RecoloredRow& row) { return row.owner ? row.pixels.size() : 0; }
};

// Collates rows into an ImageBatch. Each distorted image is written directly into the batch.
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

  // The parameters of the format, the input size, and the standardisation.
  std::vector<Parameter> parameters() const;
};

}  // namespace recordpipe
