#include "recordpipe/toolkit/feature_statistics.h"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "dataset/toolkit/names.h"
#include "recordpipe/base/parameter.h"
#include "recordpipe/toolkit/json_text.h"

namespace recordpipe {
namespace {

// Limits of FeatureStatistics: on the entries of all distributions (16 bytes each), and on the
// bytes of all frequent values.
constexpr size_t kMaxNumbers = size_t{1} << 20;
constexpr size_t kFewestNumbers = Distribution::kMaxBuckets / 64;
constexpr size_t kMaxFrequentBytes = size_t{6} << 20;
constexpr size_t kFewestFrequent = 16;
// A string of 32 bytes has an allocation of its own, besides its entry.
constexpr size_t kNumberEntry = sizeof(FrequentValues<int64_t>::Entry);
constexpr size_t kStringEntry = sizeof(FrequentValues<std::string>::Entry) + 48;

template <typename Values>
constexpr NameLimits kStatisticsLimits = {.max_names = StatisticsOf<Values>::kMaxNames,
                                          .max_bytes = StatisticsOf<Values>::kMaxNameBytes};

// Adds `message` to `all`. Calls added() after each feature and each feature list.
template <typename Values, typename Added>
void add_message(StatisticsOf<Values>& all, const MessageView& message, size_t size,
                 std::span<const std::string> only, Added added) {
  ++all.records;
  all.record_sizes.add(size);
  all.undecided.add(message);
  if (message.has_features()) ++all.with_features;
  if (message.kind() == MessageKind::sequence_example) ++all.sequences;
  if (message.kind() == MessageKind::example_list) ++all.example_lists;
  const auto add_to = [&](auto& map, auto& hint, std::string_view name, auto add) {
    if (!only.empty() && !std::ranges::binary_search(only, name, std::less<>())) return;
    if (Values* known = find_or_keep(map, hint, name, kStatisticsLimits<Values>, all.name_bytes)) {
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

void StatisticsPart::add(const MessageView& message, size_t size,
                         std::span<const std::string> only) {
  add_message(*this, message, size, only, [] {});
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

void FeatureStatistics::add(const MessageView& message, size_t size,
                            std::span<const std::string> only) {
  add_message(*this, message, size, only, [&] { make_room(); });
}

void FeatureStatistics::merge(const StatisticsPart& part) { merge_part(part); }

void FeatureStatistics::merge(const FeatureStatistics& other) {
  max_numbers_ = std::min(max_numbers_, other.max_numbers_);
  most_frequent_ = std::min(most_frequent_, other.most_frequent_);
  skipped.merge(other.skipped);
  merge_part(other);
}

template <typename Part>
void FeatureStatistics::merge_part(const Part& part) {
  records += part.records;
  record_sizes.merge(part.record_sizes);
  with_features += part.with_features;
  sequences += part.sequences;
  example_lists += part.example_lists;
  undecided.merge(part.undecided);
  left_out += part.left_out;
  const auto merge_maps = [&](auto& mine, const auto& theirs) {
    auto hint = mine.begin();
    for (const auto& [name, values] : theirs) {
      if (ValueStatistics* known =
              find_or_keep(mine, hint, name, kStatisticsLimits<ValueStatistics>, name_bytes)) {
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

// The result depends on the records and on the division into parts, never on timing.
void FeatureStatistics::make_room() {
  const auto for_each_feature = [&](auto visit) {
    for (auto* const map : {&features, &feature_lists}) {
      for (auto& [name, values] : *map) visit(values);
    }
  };
  // Features that were added since the last call must be limited, too.
  const auto limit = [&] {
    for_each_feature([&](ValueStatistics& values) { values.limit(max_numbers_, most_frequent_); });
  };
  limit();
  const auto numbers = [&] {
    size_t sum = 0;
    for_each_feature([&](const ValueStatistics& values) {
      sum += values.int64s.distribution.size() + values.floats.distribution.size() +
             values.bytes.lengths.distribution.size();
    });
    return sum;
  };
  while (numbers() > kMaxNumbers && max_numbers_ > kFewestNumbers) {
    max_numbers_ /= 2;
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
  while (frequent_bytes() > kMaxFrequentBytes && most_frequent_ > kFewestFrequent) {
    most_frequent_ /= 2;
    limit();
  }
}

namespace {

// Appends a number, or {"min", "max"} if the number varies, or null if there is no list.
void append_range(uint64_t min, uint64_t max, JsonText& json) {
  if (min > max) return json.raw("null");
  if (min == max) return json.number(min);
  json.raw("{\"min\":");
  json.number(min);
  json.raw(",\"max\":");
  json.number(max);
  json.raw("}");
}

void add_distribution(const Distribution& distribution, JsonText& json, JsonObject& object) {
  const auto quantiles = distribution.quantiles(kQuantilesShown);
  object.key("quantiles");
  {
    JsonObject by_place(json);
    for (size_t i = 0; i < quantiles.size(); ++i) {
      by_place.key(shortest_text(kQuantilesShown[i])).number(quantiles[i]);
    }
  }
  object.flag("quantiles_are_exact", distribution.exact());
  if (!distribution.exact()) object.key("quantiles_are_within").number(distribution.within());
  object.key("histogram");
  if (distribution.finite() == 0) return json.raw("null");
  JsonObject histogram(json);
  histogram.key("min").number(distribution.finite_min());
  histogram.key("max").number(distribution.finite_max());
  histogram.key("counts");
  json.list(distribution.histogram(kHistogramBins), [&](uint64_t count) { json.number(count); });
}

void append_value(int64_t value, JsonText& json) { json.number(value); }
void append_value(float value, JsonText& json) { json.number(value); }
void append_value(const std::string& value, JsonText& json) {
  json.bytes(std::as_bytes(std::span(value)));
}

template <typename Value>
void add_frequent(const FrequentValues<Value>& frequent, JsonText& json, JsonObject& object) {
  object.key("distinct").number(uint64_t{frequent.distinct()});
  object.flag("distinct_is_exact", frequent.exact());
  object.key("most_frequent");
  json.list(frequent.top(kFrequentShown), [&](const auto& entry) {
    JsonObject one(json);
    append_value(entry.value, one.key("value"));
    one.key("count").number(entry.times);
  });
}

template <typename Number>
void append_numbers(const NumberStatistics<Number>& numbers, JsonText& json) {
  JsonObject object(json);
  object.key("count").number(numbers.count);
  if (std::is_same_v<Number, float>) object.key("nan").number(numbers.nans);
  if (numbers.count == numbers.nans) return;
  object.key("min").number(numbers.min);
  object.key("max").number(numbers.max);
  for (const bool is_mean : {true, false}) {
    JsonText& value = object.key(is_mean ? "mean" : "sd");
    if (numbers.moments.count() == 0) {
      value.raw("null");
    } else {
      value.number(is_mean ? numbers.moments.mean() : numbers.moments.standard_deviation());
    }
  }
  add_distribution(numbers.distribution, json, object);
  add_frequent(numbers.frequent, json, object);
}

void append_sizes(const SizeStatistics& sizes, JsonText& json) {
  JsonObject object(json);
  object.key("min").number(static_cast<uint64_t>(sizes.distribution.min()));
  object.key("max").number(static_cast<uint64_t>(sizes.distribution.max()));
  object.key("mean").number(sizes.moments.mean());
  object.key("sd").number(sizes.moments.standard_deviation());
  add_distribution(sizes.distribution, json, object);
}

void append_bytes(const BytesStatistics& bytes, JsonText& json) {
  JsonObject object(json);
  object.key("count").number(bytes.count);
  object.key("total_bytes").number(bytes.lengths.total);
  append_sizes(bytes.lengths, object.key("lengths"));
  object.key("long_values").number(bytes.long_values);
  add_frequent(bytes.frequent, json, object);
}

void append_feature(const ValueStatistics& values, uint64_t records, bool steps, JsonText& json) {
  JsonObject object(json);
  object.key("kind").string(json_kind(values.shape.kind()));
  object.key(steps ? "steps" : "records").number(values.shape.with_list());
  if (!steps) {
    object.key("share").number(static_cast<double>(values.shape.with_list()) /
                               static_cast<double>(records));
  }
  append_range(values.shape.min_values, values.shape.max_values, object.key("values"));
  if (values.int64s.count > 0) append_numbers(values.int64s, object.key("int64"));
  if (values.floats.count > 0) append_numbers(values.floats, object.key("float"));
  if (values.bytes.count > 0) append_bytes(values.bytes, object.key("bytes"));
}

void append_undecided(const UndecidedRecords& undecided, JsonText& json) {
  JsonObject object(json);
  object.key("records").number(undecided.count);
  object.key("first").string(undecided.first);
}

}  // namespace

std::string statistics_as_json(const FeatureStatistics& statistics) {
  JsonText json;
  {
    JsonObject object(json);
    object.key("records").number(statistics.records);
    if (statistics.records > 0) append_sizes(statistics.record_sizes, object.key("record_sizes"));
    object.key("with_features").number(statistics.with_features);
    const auto add = [&](const char* name, const auto& map, bool steps) {
      object.key(name);
      JsonObject features(json);
      for (const auto& [feature, values] : map) {
        append_feature(values, statistics.with_features, steps, features.key(feature));
      }
    };
    add("features", statistics.features, /*steps=*/false);
    if (!statistics.feature_lists.empty()) {
      add("feature_lists", statistics.feature_lists, /*steps=*/true);
    }
    if (statistics.left_out > 0) object.key("left_out").number(statistics.left_out);
    if (statistics.undecided.count > 0)
      append_undecided(statistics.undecided, object.key("undecided"));
    if (statistics.skipped.regions > 0) {
      object.key("regions_skipped").number(statistics.skipped.regions);
      object.key("bytes_skipped").number(statistics.skipped.bytes);
    }
    if (statistics.skipped.compressed_bytes > 0) {
      object.key("compressed_bytes_skipped").number(statistics.skipped.compressed_bytes);
    }
  }
  json.raw("\n");
  return json.take();
}

}  // namespace recordpipe
