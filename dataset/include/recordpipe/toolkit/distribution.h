// The distribution of very many numbers in little memory, the same whatever order they come in.
//
// Up to 4,096 different numbers (or as many as is said) are counted one by one, and quantiles are
// exact. Beyond, numbers are counted in buckets that are 1/128 of a power of two wide (as
// DDSketch's, Masson et al. 2019, taken from the bits of a double), and a quantile is off by at
// most 0.4 % of its own size. Where that takes more buckets than are allowed, they become twice as
// wide, and twice again, until it doesn't (as in UDDSketch, Epicoco et al. 2020); within() says
// what is promised then. All of it depends on the numbers alone, so parts that several threads have
// counted merge to the same result in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace recordpipe {

// A number, and how often it came.
template <typename Number>
struct ValueRun {
  Number value;
  uint32_t times;
};

// Not even const functions may be called by several threads at once.
class Distribution {
 public:
  // Enough for all floats, or all int64s, with 0.4 %; half as many for twice that, and so on.
  static constexpr size_t kMostBuckets = 73'728;

  // At most 16 bytes for each of the buckets, or of the exact numbers; a quarter more while numbers
  // come. Those that are merged must have been made alike.
  Distribution() = default;
  explicit Distribution(size_t most_exact, size_t most_buckets = kMostBuckets)
      : most_exact_(most_exact), most_buckets_(most_buckets) {}

  // `value` is not NaN. Minus zero counts as zero.
  void add(double value);
  // The same for many: different ones, the smallest first. Numbers of more than 2^53 are rounded.
  void add(std::span<const ValueRun<int64_t>> rising) { add_runs(rising); }
  void add(std::span<const ValueRun<float>> rising) { add_runs(rising); }
  void merge(const Distribution& other);
  // From now on at most so many buckets or exact numbers.
  void limit(size_t most);
  // How many there are.
  size_t size() const;

  uint64_t count() const { return count_; }
  bool exact() const;
  // A quantile is off by at most this part of its own size: 0 where it is exact, 1/256, twice that
  // for each time the buckets became wider.
  double within() const;
  // The following want count() > 0. Smallest and largest are always exact.
  double min() const { return below_ > 0 ? -kInfinity : above_ == count_ ? kInfinity : least_; }
  double max() const { return above_ > 0 ? kInfinity : below_ == count_ ? -kInfinity : greatest_; }
  // 0 <= q <= 1; between two numbers, as far as q is between them, as numpy's quantile does; the
  // nearer of the two where one is infinite.
  double quantile(double q) const { return quantiles({q}).front(); }
  // Several at once, in rising order.
  std::vector<double> quantiles(const std::vector<double>& qs) const;

  // How many numbers are finite, and if any are: the smallest and the largest of them.
  uint64_t finite() const { return count_ - below_ - above_; }
  double finite_min() const { return least_; }
  double finite_max() const { return greatest_; }
  // Wants finite() > 0: how many numbers are in each of `bins` parts, equally wide, of [finite_min,
  // finite_max]. By the middle of their bucket, where it isn't exact.
  std::vector<uint64_t> histogram(size_t bins) const;

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  // A number's key is its bits, put so that larger numbers have larger keys; a bucket's is what is
  // left of it without its lower bits.
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

  size_t most_exact_ = 4096;
  size_t most_buckets_ = kMostBuckets;
  uint64_t count_ = 0;
  uint64_t below_ = 0;  // minus infinity
  uint64_t above_ = 0;  // infinity
  double least_ = 0;    // of the finite ones
  double greatest_ = 0;
  // The finite ones, sorted by key; but for those that wait in no order, so that many are put among
  // the others at once.
  mutable std::vector<Entry> entries_;
  mutable std::vector<double> waiting_;
  mutable int dropped_bits_ = 0;
};

}  // namespace recordpipe
