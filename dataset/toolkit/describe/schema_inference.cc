#include "recordpipe/toolkit/schema_inference.h"

#include <algorithm>
#include <span>
#include <utility>

#include "dataset/toolkit/names.h"
#include "recordpipe/example/feature_values.h"
#include "recordpipe/toolkit/json_text.h"

namespace recordpipe {
namespace {

// Returns the only index with a non-zero count; std::nullopt if several indexes have one,
// `fallback` if none has.
template <typename Kind>
std::optional<Kind> only_kind(std::span<const uint64_t> counts, Kind fallback) {
  std::optional<Kind> found;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    if (found) return std::nullopt;
    found = static_cast<Kind>(i);
  }
  return found ? found : fallback;
}

constexpr NameLimits kSchemaLimits = {.max_names = InferredSchema::kMaxNames,
                                      .max_bytes = InferredSchema::kMaxNameBytes};

}  // namespace

uint64_t InferredFeature::with_list() const {
  return count(FeatureKind::bytes) + count(FeatureKind::floats) + count(FeatureKind::int64s);
}

std::optional<FeatureKind> InferredFeature::kind() const {
  std::array<uint64_t, 4> lists = by_kind;
  lists[static_cast<size_t>(FeatureKind::none)] = 0;
  return only_kind<FeatureKind>(lists, FeatureKind::none);
}

void InferredFeature::add(const FeatureView& feature) {
  ++by_kind[static_cast<size_t>(feature.kind())];
  if (feature.kind() == FeatureKind::none) return;
  min_values = std::min<uint64_t>(min_values, feature.size());
  max_values = std::max<uint64_t>(max_values, feature.size());
  if (!is_text) return;
  for_each_value<FeatureKind::bytes>(feature, [&](std::span<const std::byte> value) {
    is_text = is_text && recordpipe::is_text(value);
  });
}

void InferredFeature::merge(const InferredFeature& other) {
  for (size_t i = 0; i < by_kind.size(); ++i) by_kind[i] += other.by_kind[i];
  min_values = std::min(min_values, other.min_values);
  max_values = std::max(max_values, other.max_values);
  is_text = is_text && other.is_text;
}

void InferredFeatureList::add(const FeatureListView& list) {
  ++records;
  min_steps = std::min<uint64_t>(min_steps, list.size());
  max_steps = std::max<uint64_t>(max_steps, list.size());
  list.for_each_step([&](const FeatureView& feature) { step.add(feature); });
}

void InferredFeatureList::merge(const InferredFeatureList& other) {
  records += other.records;
  min_steps = std::min(min_steps, other.min_steps);
  max_steps = std::max(max_steps, other.max_steps);
  step.merge(other.step);
}

void UndecidedRecords::add(const MessageView& message) {
  if (message.kind() != MessageKind::unknown) return;
  std::string why = message.undecided();
  if (why.empty()) return;
  if (count++ == 0) first = std::move(why);
}

void UndecidedRecords::merge(const UndecidedRecords& later) {
  if (count == 0) first = later.first;
  count += later.count;
}

std::optional<MessageKind> InferredSchema::kind() const {
  auto with_bytes = by_kind;
  uint64_t& examples = with_bytes[static_cast<size_t>(MessageKind::example)];
  examples -= empty_records;
  return only_kind<MessageKind>(with_bytes,
                                records > 0 ? MessageKind::example : MessageKind::unknown);
}

std::optional<uint64_t> InferredSchema::fixed_values(const InferredFeature& feature) const {
  const bool fixed =
      feature.fixed() && feature.max_values > 0 && feature.with_list() == with_features();
  return fixed ? std::optional(feature.max_values) : std::nullopt;
}

std::optional<uint64_t> InferredSchema::fixed_values(const InferredFeatureList& list) const {
  const InferredFeature& step = list.step;
  const bool fixed = step.fixed() && step.max_values > 0 && step.count(FeatureKind::none) == 0;
  return fixed ? std::optional(step.max_values) : std::nullopt;
}

void InferredSchema::add(const MessageView& message, size_t size) {
  ++records;
  ++by_kind[static_cast<size_t>(message.kind())];
  undecided.add(message);
  if (size == 0) ++empty_records;
  auto feature_hint = features.begin();
  for (const auto& [name, feature] : message.features()) {
    if (InferredFeature* known =
            find_or_keep(features, feature_hint, name, kSchemaLimits, name_bytes)) {
      known->add(feature);
    } else {
      ++left_out;
    }
  }
  auto list_hint = feature_lists.begin();
  for (const FeatureListView& list : message.feature_lists()) {
    if (InferredFeatureList* known =
            find_or_keep(feature_lists, list_hint, list.name(), kSchemaLimits, name_bytes)) {
      known->add(list);
    } else {
      ++left_out;
    }
  }
}

void InferredSchema::merge(const InferredSchema& other) {
  records += other.records;
  for (size_t i = 0; i < by_kind.size(); ++i) by_kind[i] += other.by_kind[i];
  undecided.merge(other.undecided);
  empty_records += other.empty_records;
  left_out += other.left_out;
  skipped.merge(other.skipped);
  auto feature_hint = features.begin();
  for (const auto& [name, feature] : other.features) {
    if (InferredFeature* known =
            find_or_keep(features, feature_hint, name, kSchemaLimits, name_bytes)) {
      known->merge(feature);
    } else {
      left_out += feature.with_list() + feature.count(FeatureKind::none);
    }
  }
  auto list_hint = feature_lists.begin();
  for (const auto& [name, list] : other.feature_lists) {
    if (InferredFeatureList* known =
            find_or_keep(feature_lists, list_hint, name, kSchemaLimits, name_bytes)) {
      known->merge(list);
    } else {
      left_out += list.records;
    }
  }
}

}  // namespace recordpipe
