// The distribution of a tensor's values: TensorFlow's histogram with its default buckets.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace recordpipe {

struct Histogram {
  // Over the finite values; all 0 if there are none.
  double min = 0;
  double max = 0;
  double num = 0;  // the number of values
  double sum = 0;
  double sum_squares = 0;
  // Bucket i counts the values in (limits[i - 1], limits[i]], the first bucket all up to its limit.
  // Adjacent empty buckets are merged. There is at least one bucket.
  std::vector<double> limits = {};
  std::vector<double> counts = {};
  // The number of values that are infinite or NaN; they are in no bucket.
  size_t not_finite = 0;
};

// TensorFlow rejects values that are not finite; here they are counted. TensorFlow's buckets
// include their lower limit, although its documentation and TensorBoard include the upper one;
// these include the upper one.
Histogram make_histogram(std::span<const float> values);

// All bucket limits in ascending order: 1e-12 · 1.1^k up to 1e20, the largest double, their
// negatives, and 0.
std::span<const double> histogram_limits();

}  // namespace recordpipe
