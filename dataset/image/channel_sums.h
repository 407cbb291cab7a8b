// Computes the sums for the mean and standard deviation of an image's channels. The sums are exact
// integers, so they do not depend on the order of summation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recordpipe/image/crop_window.h"

namespace recordpipe {

struct ChannelSums {
  uint64_t values = 0;
  uint64_t squares = 0;  // of the values

  // The population variance of `n` values with these sums: (n * squares - values^2) / n^2. The
  // numerator is exact for fewer than 2^24 values.
  double variance(size_t n) const {
    const auto count = static_cast<double>(n);
    return static_cast<double>(n * squares - values * values) / count / count;
  }
};

// Returns the sums over one channel of `window`, that is, over format.height x format.width values.
// Pixels outside the image count as zeros.
ChannelSums sum_channel(const CropWindow& window, const ImageFormat& format, size_t channel);

}  // namespace recordpipe
