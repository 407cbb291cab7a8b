// How far numbers are from those that are expected.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace recordpipe {

// The greatest difference, relative to the greatest number that is expected. Rounding errors of
// float sums are relative to the terms, not to a sum that may cancel to nothing.
inline double relative_error(const std::vector<float>& got, const std::vector<float>& expected) {
  EXPECT_EQ(got.size(), expected.size());
  double scale = 0, error = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    scale = std::max(scale, std::abs(static_cast<double>(expected[i])));
    error = std::max(error, std::abs(static_cast<double>(got[i]) - expected[i]));
  }
  return scale == 0 ? error : error / scale;
}

}  // namespace recordpipe
