// Computes the relative error of values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

namespace recordpipe {

// Returns the largest difference, relative to the largest expected value. The rounding error of a
// float sum is relative to its terms, not to the sum, because terms may cancel.
inline double relative_error(const std::vector<float>& got, const std::vector<float>& expected) {
  EXPECT_EQ(got.size(), expected.size());
  double scale = 0, error = 0;
  for (size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    scale = std::max(scale, std::abs(static_cast<double>(expected[i])));
    const double off = std::abs(static_cast<double>(got[i]) - expected[i]);
    if (!(off <= error)) error = off;  // also for NaN
  }
  return scale == 0 ? error : error / scale;
}

}  // namespace recordpipe
