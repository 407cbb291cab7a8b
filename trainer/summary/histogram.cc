#include "trainer/summary/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace recordpipe {
namespace {

std::vector<double> make_limits() {
  std::vector<double> limits = {0};
  // Added up factor by factor, as TensorFlow does it: the same doubles.
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) limits.push_back(limit);
  limits.push_back(std::numeric_limits<double>::max());
  for (size_t i = limits.size(); --i > 0;) limits.push_back(-limits[i]);
  std::ranges::sort(limits);
  return limits;
}

// Those of neighbouring empty buckets become one.
void append_buckets(std::span<const double> counts, Histogram& histogram) {
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0)
      while (i + 1 < counts.size() && counts[i + 1] == 0) ++i;
    histogram.limits.push_back(histogram_limits()[i]);
    histogram.counts.push_back(counts[i]);
  }
}

}  // namespace

std::span<const double> histogram_limits() {
  static const std::vector<double> limits = make_limits();
  return limits;
}

Histogram make_histogram(std::span<const float> values) {
  Histogram histogram;
  const std::span<const double> limits = histogram_limits();
  std::vector<double> counts(limits.size());
  for (const float number : values) {
    if (!std::isfinite(number)) {
      ++histogram.not_finite;
      continue;
    }
    const double value = number;
    histogram.min = histogram.num == 0 ? value : std::min(histogram.min, value);
    histogram.max = histogram.num == 0 ? value : std::max(histogram.max, value);
    ++histogram.num;
    histogram.sum += value;
    histogram.sum_squares += value * value;
    ++counts[static_cast<size_t>(std::ranges::lower_bound(limits, value) - limits.begin())];
  }
  append_buckets(counts, histogram);
  return histogram;
}

double zero_fraction(std::span<const float> values) {
  if (values.empty()) return 0;
  return static_cast<double>(std::ranges::count(values, 0.0f)) / static_cast<double>(values.size());
}

}  // namespace recordpipe
