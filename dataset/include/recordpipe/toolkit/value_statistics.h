// Statistics of one feature's values over very many records, in little memory and always the same;
// feature_statistics.h has those of all features.
//
// The result is the same to the last bit however the work was shared among threads, as long as the
// parts are cut at the same places: counts are whole numbers, and means and sums of squares are
// merged pairwise (Chan, Golub and LeVeque, 1979).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/message_view.h"
#include "recordpipe/toolkit/distribution.h"
#include "recordpipe/toolkit/schema_inference.h"

namespace recordpipe {

// How often each value came: exact while there are no more than kMost different ones, or as many as
// limit() says. Beyond, only those that came first are counted, and a count says how often the
// value came at least.
template <typename Value>
class FrequentValues {
 public:
  static constexpr size_t kMost = 1024;

  struct Entry {
    Value value;
    uint64_t times;
  };

  // Different ones, the smallest first, and how often they came.
  void add(std::span<const ValueRun<Value>> rising) { add_rising(rising); }
  void merge(const FrequentValues& other) {
    exact_ = exact_ && other.exact_;
    add_rising(std::span<const Entry>(other.entries_));
  }
  // From now on at most so many: the most frequent ones stay.
  void limit(size_t most) {
    most_ = std::min(most_, most);
    if (entries_.size() <= most_) return;
    entries_ = top(most_);
    std::ranges::sort(entries_, {}, &Entry::value);
    exact_ = false;
  }

  bool exact() const { return exact_; }
  size_t distinct() const { return entries_.size(); }
  // How many are counted at most.
  size_t most() const { return most_; }
  // The `most` most frequent ones, the smaller value first where counts are equal.
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
  template <typename Any>
  void add_rising(std::span<const Any> rising) {
    size_t place = 0;
    std::vector<Entry> unknown;
    for (const auto& [value, times] : rising) {
      while (place < entries_.size() && entries_[place].value < value) ++place;
      if (place < entries_.size() && entries_[place].value == value) {
        entries_[place].times += times;
      } else if (entries_.size() + unknown.size() < most_) {
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
  size_t most_ = kMost;
  bool exact_ = true;
};

// Mean and spread of finite numbers.
class Moments {
 public:
  Moments() = default;
  // Of numbers of which these are known; `squares` is the sum of squared differences from the mean.
  Moments(uint64_t count, double mean, double squares)
      : count_(count), mean_(mean), squares_(squares) {}

  void add(double value);
  void merge(const Moments& other);

  uint64_t count() const { return count_; }
  double mean() const { return mean_; }
  // Of the numbers themselves, not estimated for a population they were drawn from: numpy's std().
  double standard_deviation() const;

 private:
  uint64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

// `Number` is int64_t or float. NaNs are counted, and in nothing else; infinities are in all but
// the moments.
template <typename Number>
class NumberPart {
 public:
  uint64_t count = 0;  // of all values
  uint64_t nans = 0;
  Moments moments = {};
  std::vector<ValueRun<Number>> runs = {};  // different values, the smallest first; without NaNs

  void add(Number value) {
    waiting_.push_back(value);
    if (waiting_.size() >= kMostWaiting) settle();
  }
  // Takes what waits into the others.
  void settle();

 private:
  static constexpr size_t kMostWaiting = 16'384;

  std::vector<Number> waiting_;
};

// Numbers of more than 2^53 are rounded to doubles in quantiles and histograms.
template <typename Number>
struct NumberStatistics {
  uint64_t count = 0;  // of all values
  uint64_t nans = 0;
  Number min = {};  // want count > nans
  Number max = {};
  Moments moments = {};
  Distribution distribution = {};
  FrequentValues<Number> frequent = {};

  // A settled one.
  void merge(const NumberPart<Number>& part);
};

class BytesStatistics {
 public:
  // Longer values aren't compared with one another.
  static constexpr size_t kShort = 32;

  uint64_t count = 0;
  uint64_t total_bytes = 0;
  uint64_t long_values = 0;  // of more than kShort bytes
  Moments moments = {};      // of the lengths
  Distribution lengths = {};
  FrequentValues<std::string> frequent = {};  // of short ones

  void add(std::span<const std::byte> value);
  // Takes what waits into `frequent`: before anybody looks at it.
  void settle();
  // A settled one.
  void merge(const BytesStatistics& other);

 private:
  static constexpr size_t kMostWaiting = 256;

  std::vector<std::string> waiting_;
};

// Of one feature, or of all steps of a feature list. Lists of several kinds are counted apart.
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

  // Without memory for the values, however long the list is.
  void add(const FeatureView& feature);
  void merge(const ValuesPart& part);
  // From now on at most so many numbers or buckets in each distribution, and frequent values.
  void limit(size_t most_numbers, size_t most_frequent);
};

}  // namespace recordpipe
