#include "recordpipe/example/example_view.h"

#include "recordpipe/example/feature_values.h"
#include "recordpipe/example/internal/feature_reader.h"

namespace recordpipe {
namespace {

template <FeatureKind kind, typename Value>
std::vector<Value> all_values(const FeatureView& feature) {
  std::vector<Value> values;
  if (feature.kind() != kind) return values;
  values.reserve(feature.size());
  for_each_value<kind>(feature, [&](Value value) { values.push_back(value); });
  return values;
}

}  // namespace

FeatureView::FeatureView(std::span<const std::byte> encoded, const FeatureSize& size, bool in_entry)
    : encoded_(encoded),
      in_entry_(in_entry),
      replaced_(size.replaced),
      kind_(size.kind),
      size_(size.values),
      last_(size.last),
      last_int64_(size.last_int64) {}

std::optional<std::span<const std::byte>> FeatureView::single_bytes() const {
  return kind_ == FeatureKind::bytes && size_ == 1 ? std::optional(last_) : std::nullopt;
}

std::optional<int64_t> FeatureView::single_int64() const {
  return kind_ == FeatureKind::int64s && size_ == 1 ? std::optional(last_int64_) : std::nullopt;
}

std::optional<float> FeatureView::single_float() const {
  if (kind_ != FeatureKind::floats || size_ != 1) return std::nullopt;
  return load_float(last_.data());
}

std::vector<std::span<const std::byte>> FeatureView::bytes_values() const {
  return all_values<FeatureKind::bytes, std::span<const std::byte>>(*this);
}

std::vector<int64_t> FeatureView::int64_values() const {
  return all_values<FeatureKind::int64s, int64_t>(*this);
}

std::vector<float> FeatureView::float_values() const {
  return all_values<FeatureKind::floats, float>(*this);
}

std::optional<FeatureView> find_feature(std::span<const std::byte> example, std::string_view name) {
  std::optional<FeatureView> found;
  for_each_feature(example, [&](std::string_view key, FeatureView feature) {
    if (key == name) found = feature;
  });
  return found;
}

void for_each_feature(
    std::span<const std::byte> example,
    const std::function<void(std::string_view name, FeatureView feature)>& visit) {
  read_messages(read_example(example), kExampleFeatures, [&](WireReader features) {
    read_features(features, [&](std::string_view key, std::span<const std::byte> entry,
                                const FeatureSize& size) { visit(key, FeatureView(entry, size)); });
  });
}

}  // namespace recordpipe
