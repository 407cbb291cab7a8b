#include "recordpipe/toolkit/statistics_json.h"

#include <span>
#include <string_view>
#include <type_traits>

#include "recordpipe/parameter.h"
#include "recordpipe/toolkit/json_text.h"

namespace recordpipe {
namespace {

template <typename Values, typename Append>
void append_array(const Values& values, JsonText& json, Append append) {
  json.raw("[");
  bool first = true;
  for (const auto& value : values) {
    if (!first) json.raw(", ");
    first = false;
    append(value);
  }
  json.raw("]");
}

// A number, or {"min", "max"} where it varies; null where there is no list.
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
  append_array(distribution.histogram(kHistogramBins), json,
               [&](uint64_t count) { json.number(count); });
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
  append_array(frequent.top(kFrequentShown), json, [&](const auto& entry) {
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

void append_bytes(const BytesStatistics& bytes, JsonText& json) {
  JsonObject object(json);
  object.key("count").number(bytes.count);
  object.key("total_bytes").number(bytes.total_bytes);
  object.key("lengths");
  {
    JsonObject lengths(json);
    lengths.key("min").number(static_cast<uint64_t>(bytes.lengths.min()));
    lengths.key("max").number(static_cast<uint64_t>(bytes.lengths.max()));
    lengths.key("mean").number(bytes.moments.mean());
    lengths.key("sd").number(bytes.moments.standard_deviation());
    add_distribution(bytes.lengths, json, lengths);
  }
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

}  // namespace

std::string statistics_as_json(const FeatureStatistics& statistics) {
  JsonText json;
  {
    JsonObject object(json);
    object.key("records").number(statistics.records);
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
  }
  json.raw("\n");
  return json.take();
}

}  // namespace recordpipe
