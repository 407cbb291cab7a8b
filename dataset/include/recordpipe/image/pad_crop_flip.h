// Implements the standard CIFAR data augmentation: zero padding, a random crop of the original
// size, and a random horizontal flip (He et al. 2015, section 4.2,
// https://arxiv.org/abs/1512.03385).
//
// No padded copy is made: the crop is copied from the image directly into the batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "recordpipe/base/parameter.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/image/normalization.h"

namespace recordpipe {

struct PadCropFlipOptions {
  int pad = 4;
  // Reflects the image at its edges, without repeating the edge, instead of padding with zeros.
  bool reflect = false;
  // Flips each image in every second epoch, beginning with a random one of the first two, instead
  // of at random: each pair of epochs then has both sides of every image.
  bool alternating_flip = false;
  // The edge of a square that is grey (128) in every channel, at a random place within the crop
  // (DeVries and Taylor 2017, https://arxiv.org/abs/1708.04552, where it may lie partly outside).
  // 0: none.
  int cutout = 0;
};

// The parameters of one crop. Default: the unchanged image.
struct PadCropFlip {
  int top = 0;   // first row of the crop in the image, -pad..pad, |top| <= 2^30
  int left = 0;  // first column, with the same range
  bool flip = false;
  bool reflect = false;  // then |top| < height and |left| < width
  int cutout = 0;        // the edge of the grey square, at most height and width
  // The square's place: the share, in [0, 1), of the rows and columns at which it can begin.
  float cutout_row = 0, cutout_column = 0;

  // Draws three random values: the row and the column, uniform over the 2 * pad + 1 positions, and
  // the flip, with probability 1/2; with a cutout, its place, too.
  static PadCropFlip draw(Random& random, int pad) { return draw(random, {.pad = pad}); }
  static PadCropFlip draw(Random& random, const PadCropFlipOptions& options);
};

// Writes the crop of `image` to `out`.
//   image: uint8, [channels, height, width], as CIFAR stores it, with the sizes of `format`
//   out:   format.bytes_per_image() bytes in the dtype and layout of `format`, aligned for the
//          dtype; values 0..255, pixels outside the image are 0 or reflected
// The grey square is cut out of the crop.
// `normalization` (default: none) is applied to every value, including padding. `next` (default:
// none) is the image of the same size that will be cropped next; it is prefetched into the CPU
// cache. Throws Error{invalid_argument} for an image of another size, a cutout larger than it, and
// an invalid normalisation.
void pad_crop_flip(std::span<const uint8_t> image, const PadCropFlip& crop,
                   const ImageFormat& format, std::byte* out,
                   const Normalization& normalization = {}, const uint8_t* next = nullptr);

// An image to be added to a batch: its pixels, its label and its distortion.
struct ImageRow {
  std::span<const uint8_t> pixels;  // [channels, height, width]; must outlive the row
  int32_t label = 0;
  PadCropFlip distortion = {};
  // Owner of the pixels' buffer, if the pixels are part of a record that owns its bytes
  // (Record::owner; for example, a record from a compressed file). Without the owner, the pixels of
  // such a record dangle.
  std::shared_ptr<const std::byte[]> owner = {};

  friend uint64_t heap_bytes(const ImageRow& row) { return row.owner ? row.pixels.size() : 0; }
};

// Collates rows into an ImageBatch. Each distorted image is written directly into the batch.
struct ImageCollator {
  using Batch = ImageBatch;
  ImageFormat format;
  Normalization normalization = {};

  void reset(ImageBatch& batch, size_t rows) const { batch.reset(format, rows); }
  void set(ImageBatch& batch, size_t row, const ImageRow& image) const {
    batch.set_label(row, image.label);
    pad_crop_flip(image.pixels, image.distortion, format, batch.image_at(row), normalization);
  }
  void set(ImageBatch& batch, size_t row, const ImageRow& image, const ImageRow& next) const {
    batch.set_label(row, image.label);
    pad_crop_flip(image.pixels, image.distortion, format, batch.image_at(row), normalization,
                  next.pixels.data());
  }

  // The parameters of the format and the normalisation.
  std::vector<Parameter> parameters() const;
};

}  // namespace recordpipe
