#include "recordpipe/toolkit/distribution.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace recordpipe {
namespace {

constexpr uint64_t kSignBit = uint64_t{1} << 63;
constexpr int kMantissaBits = 52;
// The narrowest buckets keep seven bits of the mantissa.
constexpr int kFirstDroppedBits = 45;

uint64_t key_of(double value) {
  const auto bits = std::bit_cast<uint64_t>(value + 0.0);  // -0.0 becomes 0.0
  return (bits & kSignBit) != 0 ? ~bits : bits | kSignBit;
}

double value_of(uint64_t key) {
  return std::bit_cast<double>((key & kSignBit) != 0 ? key & ~kSignBit : ~key);
}

double middle_of(uint64_t bucket, int dropped_bits) {
  const uint64_t first = bucket << dropped_bits;
  if (value_of(first) == 0) return 0;  // also for values close to zero
  return value_of(first | uint64_t{1} << (dropped_bits - 1));
}

}  // namespace

void Distribution::count_ends(double value, uint64_t times) {
  count_ += times;
  if (std::isinf(value)) {
    (value < 0 ? below_ : above_) += times;
    return;
  }
  const bool first = finite() == times;
  least_ = first ? value : std::min(least_, value);
  greatest_ = first ? value : std::max(greatest_, value);
}

void Distribution::add(double value) {
  constexpr size_t kMinWaiting = 256;
  count_ends(value, 1);
  if (std::isinf(value)) return;
  waiting_.push_back(value);
  if (waiting_.size() >= std::max(kMinWaiting, entries_.size() / 2)) settle();
}

template <typename Value>
void Distribution::add_runs(std::span<const ValueRun<Value>> rising) {
  if (rising.empty()) return;
  settle();
  std::vector<Entry> entries;
  entries.reserve(rising.size());
  for (const ValueRun<Value>& run : rising) {
    const auto value = static_cast<double>(run.value);
    count_ends(value, run.times);
    if (std::isinf(value)) continue;
    const uint64_t key = key_of(value) >> dropped_bits_;
    if (!entries.empty() && entries.back().key == key) {
      entries.back().times += run.times;
    } else {
      entries.push_back({key, run.times});
    }
  }
  add_entries(entries);
}

template void Distribution::add_runs(std::span<const ValueRun<int64_t>>);
template void Distribution::add_runs(std::span<const ValueRun<float>>);

void Distribution::settle() const {
  if (waiting_.empty()) return;
  std::ranges::sort(waiting_);
  std::vector<Entry> entries;
  for (const double value : waiting_) {
    const uint64_t key = key_of(value) >> dropped_bits_;
    if (!entries.empty() && entries.back().key == key) {
      ++entries.back().times;
    } else {
      entries.push_back({key, 1});
    }
  }
  waiting_.clear();
  add_entries(entries);
}

// The keys in `rising` have the same width as the keys in entries_.
void Distribution::add_entries(std::span<const Entry> rising) const {
  std::vector<Entry> merged;
  merged.reserve(entries_.size() + rising.size());
  auto mine = entries_.begin();
  for (const Entry& entry : rising) {
    while (mine != entries_.end() && mine->key < entry.key) merged.push_back(*mine++);
    merged.push_back(entry);
    if (mine != entries_.end() && mine->key == entry.key) merged.back().times += mine++->times;
  }
  merged.insert(merged.end(), mine, entries_.end());
  entries_ = std::move(merged);
  make_room();
  if (entries_.capacity() > entries_.size() + entries_.size() / 4) entries_.shrink_to_fit();
}

void Distribution::make_room() const {
  if (dropped_bits_ == 0 && entries_.size() > max_exact_) widen_to(kFirstDroppedBits);
  while (dropped_bits_ > 0 && entries_.size() > max_buckets_) widen_to(dropped_bits_ + 1);
}

void Distribution::widen_to(int dropped_bits) const {
  const int shift = dropped_bits - dropped_bits_;
  size_t kept = 0;
  for (const Entry& entry : entries_) {
    const uint64_t key = entry.key >> shift;
    if (kept > 0 && entries_[kept - 1].key == key) {
      entries_[kept - 1].times += entry.times;
    } else {
      entries_[kept++] = {key, entry.times};
    }
  }
  entries_.resize(kept);
  dropped_bits_ = dropped_bits;
}

void Distribution::limit(size_t most) {
  settle();
  max_exact_ = std::min(max_exact_, most);
  max_buckets_ = std::min(max_buckets_, most);
  make_room();
  entries_.shrink_to_fit();
}

void Distribution::merge(const Distribution& other) {
  settle();
  other.settle();
  if (other.finite() > 0) {
    const bool first = finite() == 0;
    least_ = first ? other.least_ : std::min(least_, other.least_);
    greatest_ = first ? other.greatest_ : std::max(greatest_, other.greatest_);
  }
  count_ += other.count_;
  below_ += other.below_;
  above_ += other.above_;
  if (other.dropped_bits_ > dropped_bits_) widen_to(other.dropped_bits_);
  Distribution narrow(other.max_exact_, other.max_buckets_);
  narrow.entries_ = other.entries_;
  narrow.dropped_bits_ = other.dropped_bits_;
  if (dropped_bits_ > other.dropped_bits_) narrow.widen_to(dropped_bits_);
  add_entries(narrow.entries_);
}

size_t Distribution::size() const {
  settle();
  return entries_.size();
}

bool Distribution::exact() const {
  settle();
  return dropped_bits_ == 0;
}

double Distribution::within() const {
  return exact() ? 0 : std::ldexp(1, dropped_bits_ - kMantissaBits - 1);
}

std::vector<Distribution::Number> Distribution::sorted() const {
  settle();
  std::vector<Number> numbers;
  numbers.reserve(entries_.size() + 2);
  if (below_ > 0) numbers.push_back({-kInfinity, below_});
  for (const auto& [key, times] : entries_) {
    numbers.push_back({dropped_bits_ == 0
                           ? value_of(key)
                           : std::clamp(middle_of(key, dropped_bits_), least_, greatest_),
                       times});
  }
  if (above_ > 0) numbers.push_back({kInfinity, above_});
  return numbers;
}

std::vector<double> Distribution::quantiles(const std::vector<double>& qs) const {
  const std::vector<Number> numbers = sorted();
  std::vector<double> result;
  size_t i = 0;
  uint64_t before = 0;  // how many numbers precede numbers[i]
  // Returns the number at `rank` in sorted order. `rank` must not decrease from call to call.
  const auto at = [&](uint64_t rank) {
    if (rank == 0) return min();
    if (rank == count_ - 1) return max();
    while (rank >= before + numbers[i].times) before += numbers[i++].times;
    return numbers[i].value;
  };
  for (const double q : qs) {
    const double place = q * static_cast<double>(count_ - 1);
    const auto rank = std::min(static_cast<uint64_t>(place), count_ - 1);
    const double part = place - static_cast<double>(rank);
    const double low = at(rank);
    if (part == 0 || rank + 1 == count_) {
      result.push_back(low);
      continue;
    }
    const size_t low_i = i;
    const uint64_t low_before = before;
    const double high = at(rank + 1);
    i = low_i;
    before = low_before;
    if (low == high || std::isinf(low) || std::isinf(high)) {
      result.push_back(part <= 0.5 ? low : high);
    } else {
      result.push_back(low + part * (high - low));
    }
  }
  return result;
}

std::vector<uint64_t> Distribution::histogram(size_t bins) const {
  std::vector<uint64_t> counts(bins, 0);
  // Subtracts halves, because the difference of two doubles may overflow to infinity.
  const double range = greatest_ / 2 - least_ / 2;
  const double width = range / static_cast<double>(bins);
  for (const auto& [value, times] : sorted()) {
    if (std::isinf(value)) continue;
    const double bin = width > 0 ? (value / 2 - least_ / 2) / width : 0;
    counts[std::min(static_cast<size_t>(bin), bins - 1)] += times;
  }
  return counts;
}

}  // namespace recordpipe
