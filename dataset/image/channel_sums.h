// The sums for mean and standard deviation of an image's channels, in exact integers: independent
// of the order of summation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recordpipe/image/crop_window.h"

namespace recordpipe {

struct ChannelSums {
  uint64_t values = 0;
  uint64_t squares = 0;  // of the values

  // The population variance of `n` values with these sums: (n * squares - values^2) / n^2. The
  // numerator is exact below 2^24 values.
  double variance(size_t n) const {
    const auto count = static_cast<double>(n);
    return static_cast<double>(n * squares - values * values) / count / count;
  }
};

// The sums over one channel of `window`, format.height x format.width values; pixels outside the
// image are zeros.
ChannelSums sum_channel(const CropWindow& window, const ImageFormat& format, size_t channel);

}  // namespace recordpipe
