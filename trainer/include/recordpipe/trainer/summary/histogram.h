// Where the numbers of a tensor lie: TensorFlow's histogram with its default buckets.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace recordpipe {

struct Histogram {
  // Of the values that are finite; all 0 where there is none.
  double min = 0;
  double max = 0;
  double num = 0;  // how many
  double sum = 0;
  double sum_squares = 0;
  // Bucket i counts the values in (limits[i - 1], limits[i]], the first all up to its limit.
  // Neighbours with nothing in them are one bucket. Never without a bucket.
  std::vector<double> limits = {};
  std::vector<double> counts = {};
  // How many values are infinite or not a number, and so in no bucket.
  size_t not_finite = 0;
};

// TensorFlow refuses numbers that are not finite; here they are counted. Its buckets begin with
// their lower limit, where its own documentation and TensorBoard let them end with the upper one,
// as these do.
Histogram make_histogram(std::span<const float> values);

// All limits: 1e-12 · 1.1^k up to 1e20 and the greatest double, their negatives, and 0. In
// ascending order.
std::span<const double> histogram_limits();

}  // namespace recordpipe
