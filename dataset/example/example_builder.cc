#include "recordpipe/example/example_builder.h"

#include <utility>

#include "dataset/example/feature_name.h"
#include "dataset/example/wire_writer.h"
#include "recordpipe/example/internal/wire_reader.h"

namespace recordpipe {

ExampleBuilder& ExampleBuilder::set_bytes(std::string_view name, std::span<const std::byte> value) {
  return set_bytes_list(name, std::span(&value, 1));
}

ExampleBuilder& ExampleBuilder::set_bytes_list(std::string_view name,
                                               std::span<const std::span<const std::byte>> values) {
  return set(name, bytes_feature(values));
}

ExampleBuilder& ExampleBuilder::set_int64(std::string_view name, int64_t value) {
  return set_int64s(name, std::span(&value, 1));
}

ExampleBuilder& ExampleBuilder::set_int64s(std::string_view name, std::span<const int64_t> values) {
  return set(name, int64s_feature(values));
}

ExampleBuilder& ExampleBuilder::set_float(std::string_view name, float value) {
  return set_floats(name, std::span(&value, 1));
}

ExampleBuilder& ExampleBuilder::set_floats(std::string_view name, std::span<const float> values) {
  return set(name, floats_feature(values));
}

void ExampleBuilder::clear() { features_.clear(); }

void ExampleBuilder::append_to(std::string& out) const {
  append_feature_map(kExampleFeatures, features_, out);
}

std::string ExampleBuilder::serialize() const {
  std::string out;
  append_to(out);
  return out;
}

ExampleBuilder& ExampleBuilder::set(std::string_view name, std::string feature) {
  features_.insert_or_assign(std::string(name), std::move(feature));
  return *this;
}

std::string bytes_feature(std::span<const std::span<const std::byte>> values) {
  size_t list_size = 0;
  for (const auto& value : values) list_size += field_size(value.size());
  std::string feature;
  feature.reserve(field_size(list_size));
  append_length_header(kFeatureBytesList, list_size, feature);
  for (const auto& value : values) {
    append_length_header(kListValue, value.size(), feature);
    feature.append(reinterpret_cast<const char*>(value.data()), value.size());
  }
  return feature;
}

std::string int64s_feature(std::span<const int64_t> values) {
  return int64s_feature_of(values.size(), [&](size_t i) { return values[i]; });
}

std::string floats_feature(std::span<const float> values) {
  return floats_feature_of(values.size(), [&](size_t i) { return values[i]; });
}

namespace {

// `features`: a range of pairs, sorted by name.
template <class Features>
void append_sorted(uint32_t field, const Features& features, std::string& out) {
  if (features.empty()) return;
  size_t size = 0;
  for (const auto& [name, feature] : features) size += field_size(entry_size(name, feature));
  out.reserve(out.size() + field_size(size));
  append_length_header(field, size, out);
  for (const auto& [name, feature] : features) {
    append_length_header(kFeaturesEntry, entry_size(name, feature), out);
    append_entry(name, feature, out);
  }
}

}  // namespace

void append_feature_map(uint32_t field, const SerializedFeatures& features, std::string& out) {
  for (const auto& [name, feature] : features) require_feature_name(name);
  append_sorted(field, features, out);
}

void append_example(std::span<const NamedSerializedFeature> sorted, std::string& out) {
  append_sorted(kExampleFeatures, sorted, out);
}

}  // namespace recordpipe
