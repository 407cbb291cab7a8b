#include "recordpipe/internal/example/feature_writer.h"

#include "dataset/example/packed_feature.h"
#include "dataset/example/wire_writer.h"

namespace recordpipe {

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

void append_feature_map(uint32_t field, const SerializedFeatures& features, std::string& out) {
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

}  // namespace recordpipe
