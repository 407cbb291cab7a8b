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
#include <string_view>
#include <variant>

#include "recordpipe/base/parameter.h"
#include "recordpipe/image/color_jitter.h"
#include "recordpipe/image/crop_flip_color.h"
#include "recordpipe/image/decode_image.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/image/image_size.h"
#include "recordpipe/image/normalization.h"
#include "recordpipe/image/resized_crop.h"

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

// How images of different size become a batch.
enum class ImageSizes {
  equal,   // they are not: another size than the first is an error
  padded,  // to the largest height and width of the batch, with zeros, below and on the right:
           // ImageColumn::batch and ImageColumn::sizes
  list,    // each keeps its size: ImageColumn::images
};
std::string_view to_string(ImageSizes sizes);  // "equal", ...

struct ImageSpec {
  std::string feature = {};  // the name, in errors and descriptions, and of an Example's feature
  // DecodeOptions: the stored bytes are a JPEG or PNG file.
  std::variant<RawPixels, DecodeOptions> source = DecodeOptions{};
  // true: a JPEG file is decoded at 1/2, 1/4 or 1/8 of its size (scaled_image()) if
  // RandomResizedCrop or ResizeAndCrop shrink it by at least that factor in both dimensions.
  // Faster, but the pixels differ: docs/photographs.md says by how much. Default: false.
  bool dct_scaling = false;
  Distortion distortion = {};
  // Drawn after the distortion, applied behind it; for uint8 images of 1 or 3 channels.
  std::optional<ColorJitterRanges> color_jitter = {};
  std::optional<Normalization> normalization = {};
  // The number of channels that the normalisation is for; 0 (default): any.
  size_t normalized_channels = 0;
  // Default: float32 after a normalisation, RandomCropFlipColor, or a resize that is not rounded;
  // else uint8, and uint16 for images that are decoded to 16 bits (DecodeOptions::bits). uint8
  // can't hold more than 8 bits, and only images of 16 bits become uint16.
  std::optional<DType> dtype = {};
  Layout layout = Layout::nhwc;
  ImageSizes sizes = ImageSizes::equal;
  uint64_t seed = 0;  // of the random numbers that a pipeline draws for an image

  // Whether random numbers are drawn.
  bool is_random() const;
  // Whether the source has 16 bits per channel.
  bool is_wide() const;
  // Whether the resized values are floats that nothing rounds before the normalisation.
  bool is_unrounded() const;
  // The format of rows. If the height and width, or the number of channels, are those of each
  // image, they are 0.
  ImageFormat format() const;
  // Throws Error{invalid_argument} for parameters that contradict each other.
  void check() const;
  // All parameters as text: for descriptions, and to compare specs.
  Parameter parameter() const;
};

}  // namespace recordpipe
