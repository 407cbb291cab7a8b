// Represents the distribution of a large set of numbers in bounded memory, independent of their
// order.
//
// Up to 4,096 distinct numbers (configurable) are counted exactly, and quantiles are exact. Above
// that, numbers are counted in buckets with a width of 1/128 of a power of two (like DDSketch,
// Masson et al. 2019, but computed from the bits of a double), and the relative error of a quantile
// is at most 0.4 %. If the number of buckets exceeds its limit, the bucket width is doubled until
// the buckets fit (like UDDSketch, Epicoco et al. 2020); within() gives the resulting error bound.
// The result depends only on the numbers, so parts that several threads have counted can be merged
// in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace recordpipe {

// A number and its count.
template <typename Number>
struct ValueRun {
  Number value;
  uint32_t times;
};

// Not thread-safe: const functions must not be called concurrently either.
class Distribution {
 public:
  // Enough for all floats, or all int64s, with a relative error of 0.4 %. Half as many buckets
  // suffice for twice the error, and so on.
  static constexpr size_t kMaxBuckets = 73'728;

  // Uses at most 16 bytes per bucket or exact number, and a quarter more while numbers are added.
  // Distributions to be merged must be constructed with the same limits.
  Distribution() = default;
  explicit Distribution(size_t max_exact, size_t max_buckets = kMaxBuckets)
      : max_exact_(max_exact), max_buckets_(max_buckets) {}

  // `value` must not be NaN. -0 counts as 0.
  void add(double value);
  // Adds many distinct values in ascending order, with their counts. int64 values above 2^53 are
  // rounded to double.
  void add(std::span<const ValueRun<int64_t>> rising) { add_runs(rising); }
  void add(std::span<const ValueRun<float>> rising) { add_runs(rising); }
  void merge(const Distribution& other);
  // Reduces the maximum number of buckets or exact numbers to `most`.
  void limit(size_t most);
  // The current number of buckets or exact numbers.
  size_t size() const;

  uint64_t count() const { return count_; }
  bool exact() const;
  // The upper bound of a quantile's relative error: 0 if the distribution is exact, otherwise
  // 1/256, doubled each time the bucket width was doubled.
  double within() const;
  // The following functions require count() > 0. min() and max() are always exact.
  double min() const { return below_ > 0 ? -kInfinity : above_ == count_ ? kInfinity : least_; }
  double max() const { return above_ > 0 ? kInfinity : below_ == count_ ? -kInfinity : greatest_; }
  // Requires 0 <= q <= 1. Interpolates linearly between two numbers, like numpy.quantile; if one of
  // the two numbers is infinite, returns the nearer number.
  double quantile(double q) const { return quantiles({q}).front(); }
  // Returns several quantiles at once; `qs` must be in ascending order.
  std::vector<double> quantiles(const std::vector<double>& qs) const;

  // The number of finite numbers, and the smallest and largest finite number (if any).
  uint64_t finite() const { return count_ - below_ - above_; }
  double finite_min() const { return least_; }
  double finite_max() const { return greatest_; }
  // Requires finite() > 0. Returns the counts of `bins` equal-width bins over [finite_min,
  // finite_max]. If the distribution isn't exact, a bucket is counted at its midpoint.
  std::vector<uint64_t> histogram(size_t bins) const;

 private:
  friend struct StatisticsArchive;  // writes and reads the members
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  // The key of a number is its bits, mapped so that keys have the order of the numbers. The key of
  // a bucket is the key of its numbers without the lower bits.
  struct Entry {
    uint64_t key;
    uint64_t times;
  };
  struct Number {
    double value;
    uint64_t times;
  };

  template <typename Value>
  void add_runs(std::span<const ValueRun<Value>> rising);
  void count_ends(double value, uint64_t times);
  void settle() const;
  void add_entries(std::span<const Entry> rising) const;
  void widen_to(int dropped_bits) const;
  void make_room() const;
  std::vector<Number> sorted() const;

  size_t max_exact_ = 4096;
  size_t max_buckets_ = kMaxBuckets;
  uint64_t count_ = 0;
  uint64_t below_ = 0;  // minus infinity
  uint64_t above_ = 0;  // infinity
  double least_ = 0;    // of the finite numbers
  double greatest_ = 0;
  // The finite numbers, sorted by key, except the numbers in `waiting_`, which are unsorted and are
  // merged in batches.
  mutable std::vector<Entry> entries_;
  mutable std::vector<double> waiting_;
  mutable int dropped_bits_ = 0;
};

}  // namespace recordpipe
