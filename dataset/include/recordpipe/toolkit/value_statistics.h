// Computes statistics of one feature's values over any number of records, in bounded memory.
// feature_statistics.h covers all features.
//
// The result is bitwise identical for any distribution of the work among threads, as long as the
// parts have the same boundaries: counts are integers, and means and sums of squares are merged
// pairwise (Chan, Golub and LeVeque, 1979).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/example/message_view.h"
#include "recordpipe/toolkit/distribution.h"
#include "recordpipe/toolkit/schema_inference.h"

namespace recordpipe {

// Counts the most frequent values. The counts are exact for up to kMax distinct values (or the
// lower maximum set by limit()). Beyond that, only the values that were added first are counted,
// and each count is a lower bound.
template <typename Value>
class FrequentValues {
 public:
  static constexpr size_t kMax = 1024;

  struct Entry {
    Value value;
    uint64_t times;
  };

  // Adds distinct values in ascending order, with their counts.
  void add(std::span<const ValueRun<Value>> rising) { add_rising(rising); }
  void merge(const FrequentValues& other) {
    exact_ = exact_ && other.exact_;
    add_rising(std::span<const Entry>(other.entries_));
  }
  // Reduces the maximum number of distinct values to `most`; keeps the most frequent values.
  void limit(size_t most) {
    max_ = std::min(max_, most);
    if (entries_.size() <= max_) return;
    entries_ = top(max_);
    std::ranges::sort(entries_, {}, &Entry::value);
    exact_ = false;
  }

  bool exact() const { return exact_; }
  size_t distinct() const { return entries_.size(); }
  // The maximum number of distinct values.
  size_t max() const { return max_; }
  // Returns the `most` most frequent values; of equally frequent values, the smaller value comes
  // first.
  std::vector<Entry> top(size_t most) const {
    std::vector<Entry> entries = entries_;
    most = std::min(most, entries.size());
    std::ranges::partial_sort(entries, entries.begin() + static_cast<std::ptrdiff_t>(most),
                              [](const Entry& a, const Entry& b) {
                                return a.times != b.times ? a.times > b.times : a.value < b.value;
                              });
    entries.resize(most);
    return entries;
  }

 private:
  friend struct StatisticsArchive;  // writes and reads the members
  template <typename Any>
  void add_rising(std::span<const Any> rising) {
    size_t place = 0;
    std::vector<Entry> unknown;
    for (const auto& [value, times] : rising) {
      while (place < entries_.size() && entries_[place].value < value) ++place;
      if (place < entries_.size() && entries_[place].value == value) {
        entries_[place].times += times;
      } else if (entries_.size() + unknown.size() < max_) {
        unknown.push_back({value, times});
      } else {
        exact_ = false;
      }
    }
    if (unknown.empty()) return;
    const auto known = static_cast<std::ptrdiff_t>(entries_.size());
    entries_.insert(entries_.end(), std::make_move_iterator(unknown.begin()),
                    std::make_move_iterator(unknown.end()));
    std::ranges::inplace_merge(entries_, entries_.begin() + known, {}, &Entry::value);
  }

  std::vector<Entry> entries_;  // sorted by value
  size_t max_ = kMax;
  bool exact_ = true;
};

// Mean and standard deviation of finite numbers.
class Moments {
 public:
  Moments() = default;
  // Constructs from known moments; `squares` is the sum of squared differences from the mean.
  Moments(uint64_t count, double mean, double squares)
      : count_(count), mean_(mean), squares_(squares) {}

  void add(double value);
  void merge(const Moments& other);

  uint64_t count() const { return count_; }
  double mean() const { return mean_; }
  // The population standard deviation (ddof = 0), like numpy.std().
  double standard_deviation() const;

 private:
  friend struct StatisticsArchive;  // writes and reads the members
  uint64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

// Statistics of the numbers in a part of the records. `Number` is int64_t or float. NaNs are only
// counted. Infinities are included in everything except the moments.
template <typename Number>
class NumberPart {
 public:
  uint64_t count = 0;  // of all values
  uint64_t nans = 0;
  Moments moments = {};
  std::vector<ValueRun<Number>> runs = {};  // distinct values in ascending order, without NaNs

  void add(Number value) {
    waiting_.push_back(value);
    if (waiting_.size() >= kMaxWaiting) settle();
  }
  // Merges the buffered values into the members above.
  void settle();

 private:
  static constexpr size_t kMaxWaiting = 16'384;

  std::vector<Number> waiting_;
};

// Statistics of all numbers. Numbers above 2^53 are rounded to double in quantiles and histograms.
template <typename Number>
struct NumberStatistics {
  uint64_t count = 0;  // of all values
  uint64_t nans = 0;
  Number min = {};  // require count > nans
  Number max = {};
  Moments moments = {};
  Distribution distribution = {};
  FrequentValues<Number> frequent = {};

  // `part` must be settled.
  void merge(const NumberPart<Number>& part);
  void merge(const NumberStatistics& other);
};

// Statistics of sizes in bytes.
struct SizeStatistics {
  uint64_t total = 0;
  Moments moments = {};
  Distribution distribution = {};

  void add(size_t size);
  void merge(const SizeStatistics& other);
};

class BytesStatistics {
 public:
  // Longer values are not counted in `frequent`.
  static constexpr size_t kShort = 32;

  uint64_t count = 0;
  uint64_t long_values = 0;  // longer than kShort bytes
  SizeStatistics lengths = {};
  FrequentValues<std::string> frequent = {};  // of short values

  void add(std::span<const std::byte> value);
  // Merges the buffered values into `frequent`. Must be called before `frequent` is read.
  void settle();
  // `other` must be settled.
  void merge(const BytesStatistics& other);

 private:
  static constexpr size_t kMaxWaiting = 256;

  std::vector<std::string> waiting_;
};

// Statistics of one feature, or of all steps of a feature list, for a part of the records. Lists of
// different kinds are counted separately.
struct ValuesPart {
  InferredFeature shape = {};
  NumberPart<int64_t> int64s = {};
  NumberPart<float> floats = {};
  BytesStatistics bytes = {};

  void add(const FeatureView& feature);
};

struct ValueStatistics {
  InferredFeature shape = {};
  NumberStatistics<int64_t> int64s = {};
  NumberStatistics<float> floats = {};
  BytesStatistics bytes = {};

  // Does not copy the values, so the memory is bounded for any list.
  void add(const FeatureView& feature);
  void merge(const ValuesPart& part);
  void merge(const ValueStatistics& other);
  // Reduces the limits: numbers or buckets per distribution, and frequent values.
  void limit(size_t max_numbers, size_t most_frequent);
};

}  // namespace recordpipe
