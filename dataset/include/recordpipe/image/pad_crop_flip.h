// The CIFAR distortion: zero padding, a random crop of the original size, a random flip.
//
// (He et al. 2015, section 4.2: https://arxiv.org/abs/1512.03385.) No padded copy is made: the crop
// is read straight from the image, and its pixels go straight to their place in the batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "recordpipe/image/image_batch.h"
#include "recordpipe/image/normalization.h"
#include "recordpipe/parameter.h"
#include "recordpipe/philox.h"

namespace recordpipe {

// Which crop, decided before any pixel is touched. The default leaves the image as it is.
struct PadCropFlip {
  int top = 0;   // the crop's first row in the image's coordinates, -pad..pad, |top| <= 2^30
  int left = 0;  // its first column, likewise
  bool flip = false;

  // Three draws: rows and columns uniform over the 2 * pad + 1 places, a flip half of the time.
  static PadCropFlip draw(Random& random, int pad);
};

// Writes the crop of `image` to `out`.
//   image: uint8, [channels, height, width], as CIFAR stores it; the sizes are `format`'s.
//   out:   format.bytes_per_image() bytes in format's dtype and layout, values 0..255; pixels
//          outside the image are 0. Aligned for the dtype.
// Then `normalization` is applied to every value, padding included, on the way. Throws
// Error{invalid_argument} for an image of another size and for a normalisation that doesn't fit.
// `next`, if any, is the image of the same size that will be cropped next: the processor fetches it
// to its cache meanwhile, which it can't foresee where images are read in a random order.
void pad_crop_flip(std::span<const uint8_t> image, const PadCropFlip& crop,
                   const ImageFormat& format, std::byte* out,
                   const Normalization& normalization = {}, const uint8_t* next = nullptr);

// An image on its way to a batch: where its pixels are, its label, and what is to be done to it.
struct ImageRow {
  std::span<const uint8_t> pixels;  // [channels, height, width]; must outlive the row
  int32_t label = 0;
  PadCropFlip distortion = {};
  // Keeps the pixels alive, where they lie in a record that owns its bytes, as those of compressed
  // files do: Record::owner. Without it, pixels of such a record are gone when the record is.
  std::shared_ptr<const std::byte[]> owner = {};

  friend uint64_t heap_bytes(const ImageRow& row) { return row.owner ? row.pixels.size() : 0; }
};

// Puts rows together to an ImageBatch, distorting each straight into its place.
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

  // Those of the format and the normalisation.
  std::vector<Parameter> parameters() const;
};

}  // namespace recordpipe
