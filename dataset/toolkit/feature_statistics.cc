#include "recordpipe/toolkit/feature_statistics.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "dataset/toolkit/kept_names.h"

namespace recordpipe {
namespace {

// Of FeatureStatistics, in numbers that distributions count (16 bytes each) and in bytes of
// frequent values.
constexpr size_t kMostNumbers = size_t{1} << 20;
constexpr size_t kFewestNumbers = Distribution::kMostBuckets / 64;
constexpr size_t kMostFrequentBytes = size_t{6} << 20;
constexpr size_t kFewestFrequent = 16;
// A string of 32 bytes lies outside its entry.
constexpr size_t kNumberEntry = sizeof(FrequentValues<int64_t>::Entry);
constexpr size_t kStringEntry = sizeof(FrequentValues<std::string>::Entry) + 48;

template <typename Values>
constexpr NameLimits kLimits = {.most_names = StatisticsOf<Values>::kMostNames,
                                .most_bytes = StatisticsOf<Values>::kMostNameBytes};

// Calls added() after each feature and feature list.
template <typename Values, typename Added>
void add_message(StatisticsOf<Values>& all, const MessageView& message,
                 std::span<const std::string> only, Added added) {
  ++all.records;
  if (message.kind() == MessageKind::example || message.kind() == MessageKind::sequence_example) {
    ++all.with_features;
  }
  if (message.kind() == MessageKind::sequence_example) ++all.sequences;
  const auto add_to = [&](auto& map, auto& hint, std::string_view name, auto add) {
    if (!only.empty() && !std::ranges::binary_search(only, name, std::less<>())) return;
    if (Values* known = find_or_keep(map, hint, name, kLimits<Values>, all.name_bytes)) {
      add(*known);
      added();
    } else {
      ++all.left_out;
    }
  };
  auto feature_hint = all.features.begin();
  for (const auto& [name, feature] : message.features()) {
    add_to(all.features, feature_hint, name,
           [&feature = feature](Values& values) { values.add(feature); });
  }
  auto list_hint = all.feature_lists.begin();
  for (const FeatureListView& list : message.feature_lists()) {
    add_to(all.feature_lists, list_hint, list.name(), [&](Values& values) {
      list.for_each_step([&](const FeatureView& step) { values.add(step); });
    });
  }
}

}  // namespace

void StatisticsPart::add(const MessageView& message, std::span<const std::string> only) {
  add_message(*this, message, only, [] {});
}

void StatisticsPart::settle() {
  for (auto* const map : {&features, &feature_lists}) {
    for (auto& [name, values] : *map) {
      values.int64s.settle();
      values.floats.settle();
      values.bytes.settle();
    }
  }
}

void FeatureStatistics::add(const MessageView& message, std::span<const std::string> only) {
  add_message(*this, message, only, [&] { make_room(); });
}

void FeatureStatistics::merge(const StatisticsPart& part) {
  records += part.records;
  with_features += part.with_features;
  sequences += part.sequences;
  left_out += part.left_out;
  const auto merge_maps = [&](auto& mine, const auto& theirs) {
    auto hint = mine.begin();
    for (const auto& [name, values] : theirs) {
      if (ValueStatistics* known =
              find_or_keep(mine, hint, name, kLimits<ValueStatistics>, name_bytes)) {
        known->merge(values);
      } else {
        left_out += values.shape.with_list() + values.shape.count(FeatureKind::none);
      }
    }
  };
  merge_maps(features, part.features);
  merge_maps(feature_lists, part.feature_lists);
  make_room();
}

// What it does depends on the records and on where parts were cut, never on time.
void FeatureStatistics::make_room() {
  const auto for_each_feature = [&](auto visit) {
    for (auto* const map : {&features, &feature_lists}) {
      for (auto& [name, values] : *map) visit(values);
    }
  };
  // New ones don't know.
  const auto limit = [&] {
    for_each_feature([&](ValueStatistics& values) { values.limit(most_numbers_, most_frequent_); });
  };
  limit();
  const auto numbers = [&] {
    size_t sum = 0;
    for_each_feature([&](const ValueStatistics& values) {
      sum += values.int64s.distribution.size() + values.floats.distribution.size() +
             values.bytes.lengths.size();
    });
    return sum;
  };
  while (numbers() > kMostNumbers && most_numbers_ > kFewestNumbers) {
    most_numbers_ /= 2;
    limit();
  }
  const auto frequent_bytes = [&] {
    size_t sum = 0;
    for_each_feature([&](const ValueStatistics& values) {
      sum +=
          (values.int64s.frequent.distinct() + values.floats.frequent.distinct()) * kNumberEntry +
          values.bytes.frequent.distinct() * kStringEntry;
    });
    return sum;
  };
  while (frequent_bytes() > kMostFrequentBytes && most_frequent_ > kFewestFrequent) {
    most_frequent_ /= 2;
    limit();
  }
}

}  // namespace recordpipe
