// Serialises Examples in protobuf's wire format.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "recordpipe/base/internal/endian.h"
#include "recordpipe/example/internal/wire_reader.h"

namespace recordpipe {

inline void append_varint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

constexpr size_t varint_size(uint64_t value) {
  return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}

// Appends the tag and length of a field of `size` bytes; the caller appends the bytes.
inline void append_length_header(uint32_t field, size_t size, std::string& out) {
  append_varint(wire_tag(field, WireType::length_delimited), out);
  append_varint(size, out);
}

// The size of a field with `size` bytes of content, including its tag (one byte) and length.
constexpr size_t field_size(size_t size) { return 1 + varint_size(size) + size; }

// The size and the serialisation of one entry of a map from names to messages.
constexpr size_t entry_size(std::string_view name, std::string_view value) {
  return field_size(name.size()) + field_size(value.size());
}
inline void append_entry(std::string_view name, std::string_view value, std::string& out) {
  append_length_header(kEntryKey, name.size(), out);
  out += name;
  append_length_header(kEntryValue, value.size(), out);
  out += value;
}

// Returns the header for `size` bytes of packed values, in a string with capacity for the values.
inline std::string packed_feature_header(uint32_t list, size_t size) {
  const size_t list_size = size == 0 ? 0 : field_size(size);
  std::string feature;
  feature.reserve(field_size(list_size));
  append_length_header(list, list_size, feature);
  if (size > 0) append_length_header(kListValue, size, feature);
  return feature;
}

// value_at(i) must return the int64 at index i < count; it is called twice per index.
template <typename ValueAt>
std::string int64s_feature_of(size_t count, const ValueAt& value_at) {
  size_t size = 0;
  for (size_t i = 0; i < count; ++i) size += varint_size(static_cast<uint64_t>(value_at(i)));
  std::string feature = packed_feature_header(kFeatureInt64List, size);
  for (size_t i = 0; i < count; ++i) append_varint(static_cast<uint64_t>(value_at(i)), feature);
  return feature;
}

// value_at(i) must return the float at index i < count.
template <typename ValueAt>
std::string floats_feature_of(size_t count, const ValueAt& value_at) {
  const size_t size = sizeof(float) * count;
  std::string feature = packed_feature_header(kFeatureFloatList, size);
  size_t at = feature.size();
  feature.resize(at + size);
  for (size_t i = 0; i < count; ++i, at += sizeof(float)) {
    store_little_endian(std::bit_cast<uint32_t>(value_at(i)),
                        reinterpret_cast<std::byte*>(feature.data() + at));
  }
  return feature;
}

}  // namespace recordpipe
