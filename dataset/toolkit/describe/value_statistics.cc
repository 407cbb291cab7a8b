#include "recordpipe/toolkit/value_statistics.h"

#include <cmath>
#include <type_traits>

#include "dataset/toolkit/radix_sort.h"
#include "recordpipe/example/feature_values.h"

namespace recordpipe {
namespace {

// Lists are processed in batches of this many values, whatever their length.
constexpr uint64_t kBatch = 65'536;

bool is_finite(int64_t) { return true; }
bool is_finite(float value) { return std::isfinite(value); }

template <typename Number>
Moments moments_of(std::span<const Number> values) {
  uint64_t count = 0;
  double sum = 0;
  for (const Number value : values) {
    if (!is_finite(value)) continue;
    ++count;
    sum += static_cast<double>(value);
  }
  if (count == 0) return {};
  const double mean = sum / static_cast<double>(count);
  double squares = 0;
  for (const Number value : values) {
    if (!is_finite(value)) continue;
    const double difference = static_cast<double>(value) - mean;
    squares += difference * difference;
  }
  return {count, mean, squares};
}

template <typename Value>
std::vector<ValueRun<Value>> runs_of(std::vector<Value>& values) {
  if constexpr (std::is_arithmetic_v<Value>) {
    radix_sort(values);
  } else {
    std::ranges::sort(values);
  }
  std::vector<ValueRun<Value>> runs;
  for (Value& value : values) {
    if (!runs.empty() && runs.back().value == value) {
      ++runs.back().times;
    } else {
      runs.push_back({std::move(value), 1});
    }
  }
  values.clear();
  return runs;
}

template <typename Number>
std::vector<ValueRun<Number>> merged(const std::vector<ValueRun<Number>>& a,
                                     const std::vector<ValueRun<Number>>& b) {
  std::vector<ValueRun<Number>> runs;
  runs.reserve(a.size() + b.size());
  std::ranges::merge(a, b, std::back_inserter(runs), {}, &ValueRun<Number>::value,
                     &ValueRun<Number>::value);
  size_t kept = 0;
  for (const ValueRun<Number>& run : runs) {
    if (kept > 0 && runs[kept - 1].value == run.value) {
      runs[kept - 1].times += run.times;
    } else {
      runs[kept++] = run;
    }
  }
  runs.resize(kept);
  return runs;
}

}  // namespace

void Moments::add(double value) {
  ++count_;
  const double difference = value - mean_;
  mean_ += difference / static_cast<double>(count_);
  squares_ += difference * (value - mean_);
}

void Moments::merge(const Moments& other) {
  if (other.count_ == 0) return;
  const auto mine = static_cast<double>(count_);
  const auto theirs = static_cast<double>(other.count_);
  const double difference = other.mean_ - mean_;
  mean_ += difference * (theirs / (mine + theirs));
  squares_ += other.squares_ + difference * difference * (mine * theirs / (mine + theirs));
  count_ += other.count_;
}

double Moments::standard_deviation() const {
  return count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_));
}

template <typename Number>
void NumberPart<Number>::settle() {
  if (waiting_.empty()) return;
  count += waiting_.size();
  if constexpr (std::is_floating_point_v<Number>) {
    nans += std::erase_if(waiting_, [](Number value) { return std::isnan(value); });
    for (Number& value : waiting_) value += Number();  // turns -0.0 into 0.0
  }
  moments.merge(moments_of(std::span<const Number>(waiting_)));
  std::vector<ValueRun<Number>> more = runs_of(waiting_);
  runs = runs.empty() ? std::move(more) : merged(runs, more);
  runs.shrink_to_fit();
  waiting_.shrink_to_fit();
}

template class NumberPart<int64_t>;
template class NumberPart<float>;

template <typename Number>
void NumberStatistics<Number>::merge(const NumberPart<Number>& part) {
  if (!part.runs.empty()) {
    const bool first = count == nans;
    min = first ? part.runs.front().value : std::min(min, part.runs.front().value);
    max = first ? part.runs.back().value : std::max(max, part.runs.back().value);
  }
  count += part.count;
  nans += part.nans;
  moments.merge(part.moments);
  const std::span<const ValueRun<Number>> runs(part.runs);
  distribution.add(runs);
  frequent.add(runs);
}

template <typename Number>
void NumberStatistics<Number>::merge(const NumberStatistics& other) {
  if (other.count > other.nans) {
    const bool first = count == nans;
    min = first ? other.min : std::min(min, other.min);
    max = first ? other.max : std::max(max, other.max);
  }
  count += other.count;
  nans += other.nans;
  moments.merge(other.moments);
  distribution.merge(other.distribution);
  frequent.merge(other.frequent);
}

template struct NumberStatistics<int64_t>;
template struct NumberStatistics<float>;

void SizeStatistics::add(size_t size) {
  total += size;
  moments.add(static_cast<double>(size));
  distribution.add(static_cast<double>(size));
}

void SizeStatistics::merge(const SizeStatistics& other) {
  total += other.total;
  moments.merge(other.moments);
  distribution.merge(other.distribution);
}

void BytesStatistics::add(std::span<const std::byte> value) {
  ++count;
  lengths.add(value.size());
  if (value.size() > kShort) {
    ++long_values;
  } else {
    waiting_.emplace_back(reinterpret_cast<const char*>(value.data()), value.size());
    if (waiting_.size() >= kMaxWaiting) settle();
  }
}

void BytesStatistics::settle() {
  if (!waiting_.empty()) frequent.add(runs_of(waiting_));
}

void BytesStatistics::merge(const BytesStatistics& other) {
  count += other.count;
  long_values += other.long_values;
  lengths.merge(other.lengths);
  frequent.merge(other.frequent);
}

void ValuesPart::add(const FeatureView& feature) {
  shape.add(feature);
  for_each_value<FeatureKind::int64s>(feature, [&](int64_t value) { int64s.add(value); });
  for_each_value<FeatureKind::floats>(feature, [&](float value) { floats.add(value); });
  for_each_value<FeatureKind::bytes>(feature,
                                     [&](std::span<const std::byte> value) { bytes.add(value); });
}

void ValueStatistics::add(const FeatureView& feature) {
  shape.add(feature);
  const auto add_numbers =
      [&]<FeatureKind kind, typename Number>(NumberStatistics<Number>& statistics) {
        NumberPart<Number> part;
        uint64_t waiting = 0;
        const auto merge_part = [&] {
          part.settle();
          statistics.merge(part);
          part = {};
          waiting = 0;
        };
        for_each_value<kind>(feature, [&](Number value) {
          part.add(value);
          if (++waiting == kBatch) merge_part();
        });
        merge_part();
      };
  add_numbers.template operator()<FeatureKind::int64s>(int64s);
  add_numbers.template operator()<FeatureKind::floats>(floats);
  for_each_value<FeatureKind::bytes>(feature,
                                     [&](std::span<const std::byte> value) { bytes.add(value); });
  bytes.settle();
}

void ValueStatistics::merge(const ValuesPart& part) {
  shape.merge(part.shape);
  int64s.merge(part.int64s);
  floats.merge(part.floats);
  bytes.merge(part.bytes);
}

void ValueStatistics::merge(const ValueStatistics& other) {
  shape.merge(other.shape);
  int64s.merge(other.int64s);
  floats.merge(other.floats);
  bytes.merge(other.bytes);
}

void ValueStatistics::limit(size_t max_numbers, size_t most_frequent) {
  int64s.distribution.limit(max_numbers);
  floats.distribution.limit(max_numbers);
  bytes.lengths.distribution.limit(max_numbers);
  int64s.frequent.limit(most_frequent);
  floats.frequent.limit(most_frequent);
  bytes.frequent.limit(most_frequent);
}

}  // namespace recordpipe
