// What happens to the images of a feature: the parameters of Python's image operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "recordpipe/image/crop_flip_color.h"
#include "recordpipe/image/decode_image.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/image/image_size.h"
#include "recordpipe/image/normalization.h"
#include "recordpipe/image/resized_crop.h"
#include "recordpipe/parameter.h"

namespace recordpipe::python {

// The bytes of a feature are pixels of this size.
struct RawPixels {
  ImageSize size;
  size_t channels = 0;
  Layout layout = Layout::nhwc;
};

// What becomes the row: a window of the image, or of the resized image. At most one per feature;
// std::monostate: the image.
struct RandomPadCropFlip {
  int pad = 4;
  uint64_t seed = 0;
};
struct RandomCropFlipColor {
  ImageSize crop;
  ColorRanges ranges;
  Standardize standardize = Standardize::yes;
  uint64_t seed = 0;
};
struct CentralCrop {
  ImageSize crop;
};
struct RandomResizedCrop {
  ImageSize to;
  CropRanges ranges;
  Resampling resampling;
  uint64_t seed = 0;
};
// The image is resized, and then its centre is cropped. Neither, if it is nothing.
struct ResizeAndCrop {
  std::variant<std::monostate, ImageSize, size_t> to = {};  // size_t: the short side
  Resampling resampling = {};
  std::optional<ImageSize> crop = {};
};
using Distortion = std::variant<std::monostate, RandomPadCropFlip, RandomCropFlipColor, CentralCrop,
                                RandomResizedCrop, ResizeAndCrop>;

struct ImageSpec {
  std::string feature;
  std::variant<RawPixels, DecodeOptions> source;
  Distortion distortion = {};
  std::optional<Normalization> normalization = {};
  // The number of means and standard deviations that were given; 0: they hold for all channels.
  size_t normalized_channels = 0;
  std::optional<DType> dtype = {};  // default: uint8; float32 if values are not those of the image
  Layout layout = Layout::nhwc;

  // The seed of a random distortion.
  std::optional<uint64_t> seed() const;
  // The format of rows; for images that set the height, width or channels, it is 0.
  ImageFormat format() const;
  // Throws Error{invalid_argument} for parameters that contradict each other.
  void check() const;
  Parameter parameter() const;
};

// For example 32x48, and 32x48x3 with channels.
std::string text(const ImageSize& size);
std::string text(const ImageSize& size, size_t channels);

}  // namespace recordpipe::python
