// Normalisation of an image's values, done in the same pass that puts it into its batch.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "recordpipe/image/crop_window.h"
#include "recordpipe/parameter.h"

namespace recordpipe {

// What becomes of a value x in 0..255 of channel c:
//
//     (x * scale - mean[c]) / stddev[c]
//
// in float, each operation rounded for itself, as the tutorials' chains of operations do; for
// float16 and bfloat16 the result is rounded once more. The default changes nothing. Padding is
// part of the image: its zeros are normalised too.
struct Normalization {
  static constexpr size_t kMaxChannels = ChannelMap::kMaxChannels;
  // tf.image.convert_image_dtype's scale from 0..255 to 0..1: a multiplication, not a division.
  static constexpr float kToUnit = 1 / 255.0f;

  float scale = 1;
  std::array<float, kMaxChannels> mean = {};  // after the scaling, as is the next
  std::array<float, kMaxChannels> stddev = {1, 1, 1, 1};
  // tf.image.per_image_standardization instead (scale, mean and stddev must be left alone): for all
  // values x of the image as it is after crop and padding, N of them,
  //     (x - mean) / max(stddev, 1 / sqrt(N))
  // with one mean and one standard deviation (of the population) for all channels, both rounded
  // to float from exact sums.
  bool per_image = false;

  // None where it changes nothing.
  std::vector<Parameter> parameters() const;
  bool operator==(const Normalization&) const = default;
};

// Throws Error{invalid_argument} unless the normalisation makes sense for `format`: floating-point
// values and at most kMaxChannels channels (if it does anything), finite numbers, each used stddev
// greater than 0, not both per_image and the others.
void check(const Normalization& normalization, const ImageFormat& format);

// The map for one window: `normalization` as it is, or per_image's from the window's values.
// `normalization` has been checked.
ChannelMap channel_map(const Normalization& normalization, const CropWindow& window,
                       const ImageFormat& format);

}  // namespace recordpipe
