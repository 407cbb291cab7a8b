#include "dataset/example/example_builder.h"

#include <bit>
#include <utility>

#include "dataset/base/endian.h"
#include "dataset/example/wire_format.h"

namespace recordpipe {
namespace {

void append_varint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

size_t varint_size(uint64_t value) {
  return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}

// A field that holds `size` bytes, which the caller appends next.
void append_length_header(uint32_t field, size_t size, std::string& out) {
  append_varint(wire_tag(field, WireType::length_delimited), out);
  append_varint(size, out);
}

size_t field_size(size_t size) { return 1 + varint_size(size) + size; }

std::string_view as_text(std::span<const std::byte> data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

size_t entry_size(std::string_view name, std::string_view feature) {
  return field_size(name.size()) + field_size(feature.size());
}

// A Feature that holds a list of packed numbers.
std::string packed_feature(uint32_t list, std::string_view packed) {
  std::string feature;
  append_length_header(list, packed.empty() ? 0 : field_size(packed.size()), feature);
  if (!packed.empty()) {
    append_length_header(kListValue, packed.size(), feature);
    feature += packed;
  }
  return feature;
}

}  // namespace

ExampleBuilder& ExampleBuilder::set_bytes(std::string_view name, std::span<const std::byte> value) {
  return set_bytes_list(name, std::span(&value, 1));
}

ExampleBuilder& ExampleBuilder::set_bytes_list(std::string_view name,
                                               std::span<const std::span<const std::byte>> values) {
  size_t list_size = 0;
  for (const auto& value : values) list_size += field_size(value.size());
  std::string feature;
  feature.reserve(field_size(list_size));
  append_length_header(kFeatureBytesList, list_size, feature);
  for (const auto& value : values) {
    append_length_header(kListValue, value.size(), feature);
    feature += as_text(value);
  }
  return set(name, std::move(feature));
}

ExampleBuilder& ExampleBuilder::set_int64(std::string_view name, int64_t value) {
  return set_int64s(name, std::span(&value, 1));
}

ExampleBuilder& ExampleBuilder::set_int64s(std::string_view name, std::span<const int64_t> values) {
  std::string packed;
  for (const int64_t value : values) append_varint(static_cast<uint64_t>(value), packed);
  return set(name, packed_feature(kFeatureInt64List, packed));
}

ExampleBuilder& ExampleBuilder::set_float(std::string_view name, float value) {
  return set_floats(name, std::span(&value, 1));
}

ExampleBuilder& ExampleBuilder::set_floats(std::string_view name, std::span<const float> values) {
  std::string packed(4 * values.size(), '\0');
  auto* to = reinterpret_cast<std::byte*>(packed.data());
  for (const float value : values) {
    store_little_endian(std::bit_cast<uint32_t>(value), to);
    to += 4;
  }
  return set(name, packed_feature(kFeatureFloatList, packed));
}

void ExampleBuilder::clear() { features_.clear(); }

void ExampleBuilder::append_to(std::string& out) const {
  if (features_.empty()) return;
  size_t features_size = 0;
  for (const auto& [name, feature] : features_) {
    features_size += field_size(entry_size(name, feature));
  }
  out.reserve(out.size() + field_size(features_size));
  append_length_header(kExampleFeatures, features_size, out);
  for (const auto& [name, feature] : features_) {
    append_length_header(kFeaturesEntry, entry_size(name, feature), out);
    append_length_header(kEntryKey, name.size(), out);
    out += name;
    append_length_header(kEntryValue, feature.size(), out);
    out += feature;
  }
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

}  // namespace recordpipe
