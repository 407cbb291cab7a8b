// The sums that means and standard deviations of an image's channels are made of, in exact
// integers, so that their order doesn't matter.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recordpipe/image/crop_window.h"

namespace recordpipe {

struct ChannelSums {
  uint64_t values = 0;
  uint64_t squares = 0;  // of the values

  // The population variance of `n` values that have these sums: n * squares - values^2, which is
  // exact below 2^24 values, over n^2.
  double variance(size_t n) const {
    const auto count = static_cast<double>(n);
    return static_cast<double>(n * squares - values * values) / count / count;
  }
};

// Over what `window` shows of one channel, `format`'s height times width values; those outside the
// image are zeros.
ChannelSums sum_channel(const CropWindow& window, const ImageFormat& format, size_t channel);

}  // namespace recordpipe
