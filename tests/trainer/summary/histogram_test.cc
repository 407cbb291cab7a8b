#include "recordpipe/trainer/summary/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

namespace recordpipe {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// The expected values are from a Python program that tries each value's buckets from the lowest up.
TEST(Histogram, CountsWhatLiesInEachBucket) {
  const std::array values = {-1.0f, 0.0f, 0.0f, -0.0f, 0.5f, 1.0f, 3.0f, 3.0f, 3.1f, 1e30f};
  const Histogram histogram = make_histogram(values);
  EXPECT_EQ(histogram.min, -1);
  EXPECT_EQ(histogram.max, 1e30f);
  EXPECT_EQ(histogram.num, 10);
  EXPECT_EQ(histogram.not_finite, 0u);
  const std::vector<double> limits = {-1.0089710279437536,
                                      -0.917246389039776,
                                      -1e-12,
                                      0.0,
                                      0.47069243095356195,
                                      0.5177616740489182,
                                      0.917246389039776,
                                      1.0089710279437536,
                                      2.8787120958073054,
                                      3.1665833053880363,
                                      9.920775621859783e+19,
                                      1.7976931348623157e+308};
  EXPECT_EQ(histogram.limits, limits);
  EXPECT_EQ(histogram.counts, (std::vector<double>{0, 1, 0, 3, 0, 1, 0, 1, 0, 3, 0, 1}));
}

TEST(Histogram, AddsUpValuesAndSquares) {
  const Histogram histogram = make_histogram(std::array{-1.0f, 0.5f, 3.0f});
  EXPECT_EQ(histogram.sum, 2.5);
  EXPECT_EQ(histogram.sum_squares, 10.25);
}

TEST(Histogram, HasTensorFlowsLimits) {
  const auto limits = histogram_limits();
  ASSERT_EQ(limits.size(), 1551u);
  EXPECT_EQ(limits[0], -std::numeric_limits<double>::max());
  EXPECT_EQ(limits[774], -1e-12);
  EXPECT_EQ(limits[775], 0);
  EXPECT_EQ(limits[776], 1e-12);
  EXPECT_EQ(limits[777], 1e-12 * 1.1);
  EXPECT_EQ(limits[1550], std::numeric_limits<double>::max());
  for (size_t i = 0; i < limits.size(); ++i) ASSERT_EQ(limits[i], -limits[1550 - i]);
}

// A limit belongs to the bucket that ends with it, not to the bucket that begins with it.
TEST(Histogram, PutsALimitIntoTheBucketBelow) {
  const auto limits = histogram_limits();
  const auto limit = static_cast<float>(limits[1000]);
  // Floats next to a limit may be above or below it: they are compared as doubles.
  for (const float value : {std::nextafter(limit, 0.0f), limit, std::nextafter(limit, infinity)}) {
    const Histogram histogram = make_histogram(std::array{value});
    ASSERT_EQ(histogram.counts.size(), 3u);
    EXPECT_EQ(histogram.counts[1], 1);
    EXPECT_LT(histogram.limits[0], value);
    EXPECT_LE(value, histogram.limits[1]);
  }
  const Histogram zero = make_histogram(std::array{0.0f});
  EXPECT_EQ(zero.limits[0], -1e-12);
  EXPECT_EQ(zero.limits[1], 0);
}

// Compares with a plain search, for all values next to a limit and at both ends of the 8192 groups
// of floats that have the same leading bits.
TEST(Histogram, FindsTheBucketOfAnyFloat) {
  const auto limits = histogram_limits();
  std::vector<float> values;
  const auto add_with_neighbours = [&](float value) {
    for (const float x : {std::nextafter(value, -infinity), value, std::nextafter(value, infinity)})
      if (std::isfinite(x)) values.push_back(x);
  };
  for (const double limit : limits)
    if (std::abs(limit) < 1e30) add_with_neighbours(static_cast<float>(limit));
  for (uint32_t group = 0; group < 8192; ++group)
    add_with_neighbours(std::bit_cast<float>(group << 19));
  ASSERT_GT(values.size(), 24'000u);
  for (const float value : values) {
    const Histogram histogram = make_histogram(std::array{value});
    const size_t full = histogram.counts[0] == 1 ? 0 : 1;
    ASSERT_EQ(histogram.counts[full], 1) << value;
    ASSERT_EQ(histogram.limits[full], *std::ranges::lower_bound(limits, double{value})) << value;
  }
}

TEST(Histogram, CountsApartWhatIsNotFinite) {
  const Histogram histogram = make_histogram(std::array{nan, 2.0f, infinity, -infinity});
  EXPECT_EQ(histogram.not_finite, 3u);
  EXPECT_EQ(histogram.num, 1);
  EXPECT_EQ(histogram.min, 2);
  EXPECT_EQ(histogram.max, 2);
  EXPECT_EQ(histogram.sum, 2);
  EXPECT_EQ(std::accumulate(histogram.counts.begin(), histogram.counts.end(), 0.0), 1);
}

TEST(Histogram, OfNothingHasAnEmptyBucket) {
  for (const Histogram& histogram : {make_histogram({}), make_histogram(std::array{nan})}) {
    EXPECT_EQ(histogram.num, 0);
    EXPECT_EQ(histogram.min, 0);
    EXPECT_EQ(histogram.max, 0);
    EXPECT_EQ(histogram.limits, std::vector{std::numeric_limits<double>::max()});
    EXPECT_EQ(histogram.counts, std::vector{0.0});
  }
}

}  // namespace
}  // namespace recordpipe
