#include "recordpipe/trainer/summary/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace recordpipe {
namespace {

std::vector<double> make_limits() {
  std::vector<double> limits = {0};
  // Repeated multiplication, as in TensorFlow, for identical doubles.
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) limits.push_back(limit);
  limits.push_back(std::numeric_limits<double>::max());
  for (size_t i = limits.size(); --i > 0;) limits.push_back(-limits[i]);
  std::ranges::sort(limits);
  return limits;
}

size_t search_bucket(double value) {
  const auto limits = histogram_limits();
  return static_cast<size_t>(std::ranges::lower_bound(limits, value) - limits.begin());
}

// Equivalent to search_bucket() for finite floats, without a search. A cell is the set of floats
// with the same sign, exponent and first four bits of the mantissa. A cell spans less than a factor
// of 1.1 and so contains at most one limit: the bucket of a value is that of its cell's least
// value, or the next one.
class BucketTable {
 public:
  BucketTable() {
    for (uint32_t cell = 0; cell < first_.size(); ++cell) {
      // The least value has the smallest magnitude; in negative cells, the largest.
      const bool is_negative = cell >= first_.size() / 2;
      const uint32_t rest = is_negative ? (uint32_t{1} << kShift) - 1 : 0;
      const auto least = std::bit_cast<float>(cell << kShift | rest);
      if (std::isfinite(least)) first_[cell] = static_cast<uint16_t>(search_bucket(least));
    }
  }

  size_t find(float value) const {
    const size_t bucket = first_[std::bit_cast<uint32_t>(value) >> kShift];
    return bucket + (value > limits_[bucket] ? 1 : 0);
  }

 private:
  static constexpr uint32_t kShift = 19;

  const std::span<const double> limits_ = histogram_limits();
  std::array<uint16_t, (size_t{1} << (32 - kShift))> first_ = {};
};

// Merges adjacent empty buckets.
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
  static const BucketTable buckets;
  std::vector<double> counts(histogram_limits().size());
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
    ++counts[buckets.find(number)];
  }
  append_buckets(counts, histogram);
  return histogram;
}

}  // namespace recordpipe
