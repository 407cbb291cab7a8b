// Normalises image values in the same pass that copies the image into its batch.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "recordpipe/base/parameter.h"
#include "recordpipe/image/crop_window.h"

namespace recordpipe {

// A value x of channel c, in 0..255 (of images of 16 bits, 0..65535), becomes
//
//     (x * scale - mean[c]) / stddev[c]
//
// in float, with each operation rounded, as in a chain of TensorFlow operations; for float16 and
// bfloat16, the result is rounded once more. Default: no change. Zero padding is part of the image
// and is also normalised.
struct Normalization {
  static constexpr size_t kMaxChannels = ChannelMap::kMaxChannels;
  // tf.image.convert_image_dtype's scale from 0..255 to 0..1: a multiplication, not a division.
  static constexpr float kToUnit = 1 / 255.0f;

  float scale = 1;
  std::array<float, kMaxChannels> mean = {};  // of the scaled values, like stddev
  std::array<float, kMaxChannels> stddev = {1, 1, 1, 1};
  // true: tf.image.per_image_standardization instead of the formula above (scale, mean and stddev
  // must have their defaults): all N values x of the image after crop and padding become
  //     (x - mean) / max(stddev, 1 / sqrt(N))
  // with one mean and one population standard deviation for all channels, both rounded to float
  // after being computed from exact sums (for floats: from sums in double). Default: false.
  bool per_image = false;

  // Empty for the default.
  std::vector<Parameter> parameters() const;
  bool operator==(const Normalization&) const = default;
};

// Throws Error{invalid_argument} if the normalisation is not valid for `format`. A normalisation
// other than the default requires a floating-point dtype, at most kMaxChannels channels, finite
// parameters, and each used stddev greater than 0. per_image can't be combined with the other
// parameters.
void check(const Normalization& normalization, const ImageFormat& format);

// Returns the channel map for one window; with per_image, computed from the values of the window.
// `normalization` must have passed check().
ChannelMap channel_map(const Normalization& normalization, const CropWindow& window,
                       const ImageFormat& format);
ChannelMap channel_map(const Normalization& normalization, const CropWindowOf<uint16_t>& window,
                       const ImageFormat& format);
ChannelMap channel_map(const Normalization& normalization, const CropWindowOf<float>& window,
                       const ImageFormat& format);

}  // namespace recordpipe
