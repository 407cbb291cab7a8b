// Describes how stored images become rows of a batch: what is stored, what is done to it, and the
// format of the rows. CMake target: recordpipe::image_batches.
//
//     const ImageSpec training{.feature = "image/encoded",
//                              .source = DecodeOptions{.channels = 3},
//                              .distortion = RandomResizedCrop{.to = {224, 224}},
//                              .normalization = Normalization{.scale = Normalization::kToUnit},
//                              .layout = Layout::nchw,
//                              .seed = 7};
//
// Such images are computed by ImageColumnCollator (image_column.h) and, from Examples, by
// ExampleImagesCollator (example_images.h).
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

namespace recordpipe {

// The stored bytes are pixels of this size, uint8.
struct RawPixels {
  ImageSize size;
  size_t channels = 0;
  Layout layout = Layout::nhwc;
};

// A window of the image, or of the resized image, becomes the row. std::monostate: the image.

// pad_crop_flip.h
struct RandomPadCropFlip {
  int pad = 4;
};
// crop_flip_color.h; needs a floating-point dtype, and no normalization.
struct RandomCropFlipColor {
  ImageSize crop;
  ColorRanges ranges = {};
  Standardize standardize = Standardize::yes;
};
// The centre, padded with zeros where the crop is larger (CropFlipColor::central).
struct CentralCrop {
  ImageSize crop;
};
// resized_crop.h: ResizedCrop::draw
struct RandomResizedCrop {
  ImageSize to;
  CropRanges ranges = {};
  Resampling resampling = {};
};
// resized_crop.h: ResizedCrop::central. The image is resized, and then its centre is cropped;
// neither, if it is nothing.
struct ResizeAndCrop {
  std::variant<std::monostate, ImageSize, size_t> to = {};  // size_t: the short side
  Resampling resampling = {};
  std::optional<ImageSize> crop = {};
};
using Distortion = std::variant<std::monostate, RandomPadCropFlip, RandomCropFlipColor, CentralCrop,
                                RandomResizedCrop, ResizeAndCrop>;

struct ImageSpec {
  std::string feature = {};  // the name, in errors and descriptions, and of an Example's feature
  // DecodeOptions: the stored bytes are a JPEG or PNG file.
  std::variant<RawPixels, DecodeOptions> source = DecodeOptions{};
  Distortion distortion = {};
  std::optional<Normalization> normalization = {};
  // The number of channels that the normalisation is for; 0 (default): any.
  size_t normalized_channels = 0;
  std::optional<DType> dtype = {};  // default: uint8; float32 if values are not those of the image
  Layout layout = Layout::nhwc;
  uint64_t seed = 0;  // of the random numbers that a pipeline draws for the distortion

  // Whether the distortion draws random numbers.
  bool is_random() const;
  // The format of rows. If the height and width, or the number of channels, are those of each
  // image, they are 0.
  ImageFormat format() const;
  // Throws Error{invalid_argument} for parameters that contradict each other.
  void check() const;
  // All parameters as text: for descriptions, and to compare specs.
  Parameter parameter() const;
};

}  // namespace recordpipe
