// Crops that are resized: for training (Inception's, as torchvision's RandomResizedCrop) and for
// evaluation (the short side resized, then the centre cropped).
//
// Nothing is computed twice or in vain: a ResizedCrop says which part of the image it needs, so
// that a decoder can leave out the rest, and only the pixels of the window are computed.
#pragma once

#include <cstddef>

#include "recordpipe/base/philox.h"
#include "recordpipe/image/image_size.h"
#include "recordpipe/image/resize.h"

namespace recordpipe {

// Of RandomResizedCrop. Defaults: torchvision's, which are those of "Going deeper with
// convolutions" (https://arxiv.org/abs/1409.4842).
struct CropRanges {
  double min_scale = 0.08;     // of the image's area, above 0
  double max_scale = 1;        // at least min_scale, at most 1
  double min_ratio = 3.0 / 4;  // width / height, above 0
  double max_ratio = 4.0 / 3;  // at least min_ratio
  bool flip = false;           // mirrors the crop with probability 1/2
};

// The crop of an image is resized; the result is a window of it.
struct ResizedCrop {
  ImagePart crop;   // of the image
  Resized resized;  // from the crop's size

  // Draws a crop: its area, uniform in the scales, and its ratio, uniform in the logarithm; again,
  // up to ten times, if it doesn't fit; then its place. If none fits: the largest central crop of a
  // permitted ratio. Then the flip. Throws Error{invalid_argument} for ranges that are not as
  // CropRanges describes them.
  static ResizedCrop draw(Random& random, const ImageSize& image, const ImageSize& to,
                          const CropRanges& ranges = {}, const Resampling& resampling = {});

  // The image is resized to `to`, and cropped to the centre: as torchvision's CenterCrop, whose
  // place is rounded half to even. Throws Error{unsupported} if `center` is larger than `to`.
  static ResizedCrop central(const ImageSize& image, const ImageSize& to, const ImageSize& center,
                             const Resampling& resampling = {});

  // The part of the image that must be decoded. Throws as Resized::source().
  ImagePart source() const;

  // The largest of 8, 4, 2 and 1 that the crop is as many times larger than its result, in both
  // dimensions.
  int shrinks_by() const;
  // The same crop of the image at 1/denominator of its size: pixel (y, x) of the `scaled` image is
  // at row y * denominator - top, column x * denominator - left of this one.
  ResizedCrop of_scaled(const ImageSize& scaled, int denominator, size_t top, size_t left) const;
};

// Returns the size of `image` when its shorter side becomes `short_side`, and its longer side keeps
// the ratio, rounded down (torchvision's Resize), at most kMaxResizedSide. Throws
// Error{limit_exceeded} above it.
ImageSize size_of_short_side(const ImageSize& image, size_t short_side);

// Throws Error{invalid_argument} for ranges that are not as described.
void check(const CropRanges& ranges);

}  // namespace recordpipe
