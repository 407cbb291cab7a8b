#include "tools/tfrecord/view/overview.h"

#include <cmath>
#include <string_view>

#include "recordpipe/feature_values.h"
#include "recordpipe/toolkit/json_text.h"

namespace recordpipe {
namespace {

// The entry of `name`, a copy of `made` if there are fewer than `most`; null otherwise.
template <typename Map>
typename Map::mapped_type* entry(Map& map, std::string_view name, size_t most,
                                 const typename Map::mapped_type& made = {}) {
  const auto found = map.find(name);
  if (found != map.end()) return &found->second;
  if (map.size() >= most) return nullptr;
  return &map.emplace(std::string(name), made).first->second;
}

}  // namespace

void ValueCounts::add(const FeatureView& feature) {
  if (too_many) return;
  for_each_value<FeatureKind::int64s>(feature, [&](int64_t value) {
    if (!too_many) ++integers[value];
    if (integers.size() > kMost) give_up();
  });
  for_each_value<FeatureKind::bytes>(feature, [&](std::span<const std::byte> value) {
    if (too_many) return;
    if (value.size() > kLongestText || !is_text(value)) return give_up();
    ++texts[{reinterpret_cast<const char*>(value.data()), value.size()}];
    if (texts.size() > kMost) give_up();
  });
}

void ValueCounts::give_up() {
  too_many = true;
  texts.clear();
  integers.clear();
}

void Overview::add(const MessageView& record, size_t size) {
  schema.add(record, size);
  for (const auto& [name, feature] : record.features()) {
    // (One whose name was too long to be kept isn't here either.)
    if (feature.size() == 0 || !schema.features.contains(name)) continue;
    if (feature.kind() != FeatureKind::floats) {
      if (ValueCounts* counts = entry(values, name, kMostFeatures)) counts->add(feature);
    }
    if (feature.kind() != FeatureKind::bytes) {
      Distribution* const distribution =
          entry(numbers, name, kMostDistributions, Distribution(4096, 4608));
      if (distribution == nullptr) continue;
      for_each_value<FeatureKind::int64s>(
          feature, [&](int64_t value) { distribution->add(static_cast<double>(value)); });
      for_each_value<FeatureKind::floats>(feature, [&](float value) {
        if (!std::isnan(value)) distribution->add(value);
      });
    }
  }
}

}  // namespace recordpipe
