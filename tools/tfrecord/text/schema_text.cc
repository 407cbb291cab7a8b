#include "tools/tfrecord/text/schema_text.h"

#include <utility>

#include <fmt/format.h>

#include "dataset/toolkit/selection/nearest_names.h"
#include "recordpipe/error.h"
#include "recordpipe/toolkit/json_text.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

std::string range_text(uint64_t min, uint64_t max, std::string_view one, std::string_view many) {
  if (min == max) return fmt::format("{} {}", grouped(min), min == 1 ? one : many);
  return fmt::format("{} to {} {}", grouped(min), grouped(max), many);
}

nlohmann::ordered_json range_json(uint64_t min, uint64_t max) {
  if (min > max) return nullptr;  // none was counted
  if (min == max) return min;
  return {{"min", min}, {"max", max}};
}

// Adds a name that isn't there yet: operator[] would look at all others first.
void add_new(nlohmann::ordered_json& object, const std::string& name,
             nlohmann::ordered_json value) {
  object.get_ref<nlohmann::ordered_json::object_t&>().emplace_back(name, std::move(value));
}

// Of records that may have features.
uint64_t records_with_features(const InferredSchema& schema) {
  return schema.count(MessageKind::example) + schema.count(MessageKind::sequence_example);
}

double share(uint64_t part, uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string_view kind_text(const InferredSchema& schema) {
  const auto kind = schema.kind();
  return kind ? to_string(*kind) : "mixed";
}

std::string values_text(const InferredFeature& feature) {
  if (feature.with_list() == 0) return "";
  return range_text(feature.min_values, feature.max_values, "value", "values");
}

std::string features_text(const InferredSchema& schema, std::string_view indent) {
  const uint64_t records = records_with_features(schema);
  TextTable table({Align::left, Align::left, Align::right, Align::right, Align::left});
  for (const auto& [name, feature] : schema.features) {
    table.add({name_text(name), std::string(json_kind(feature.kind())), values_text(feature),
               share_text(feature.with_list(), records)});
  }
  for (const auto& [name, list] : schema.feature_lists) {
    table.add({name_text(name), std::string(json_kind(list.step.kind())), values_text(list.step),
               share_text(list.records, records),
               "in each of " + range_text(list.min_steps, list.max_steps, "step", "steps")});
  }
  return table.text(indent);
}

nlohmann::ordered_json features_json(const InferredSchema& schema) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, feature] : schema.features) {
    add_new(json, name,
            {{"kind", json_kind(feature.kind())},
             {"values", range_json(feature.min_values, feature.max_values)},
             {"share", share(feature.with_list(), records_with_features(schema))}});
  }
  return json;
}

nlohmann::ordered_json feature_lists_json(const InferredSchema& schema) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, list] : schema.feature_lists) {
    add_new(json, name,
            {{"kind", json_kind(list.step.kind())},
             {"values", range_json(list.step.min_values, list.step.max_values)},
             {"share", share(list.records, records_with_features(schema))},
             {"steps", range_json(list.min_steps, list.max_steps)}});
  }
  return json;
}

}  // namespace recordpipe
