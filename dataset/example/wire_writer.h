// Serialisation of protobuf's wire format, for Examples.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "recordpipe/internal/example/wire_format.h"

namespace recordpipe {

inline void append_varint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

constexpr size_t varint_size(uint64_t value) {
  return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}

// Appends tag and length of a field of `size` bytes; the caller appends the bytes.
inline void append_length_header(uint32_t field, size_t size, std::string& out) {
  append_varint(wire_tag(field, WireType::length_delimited), out);
  append_varint(size, out);
}

// The size of such a field, including its tag (one byte) and length.
constexpr size_t field_size(size_t size) { return 1 + varint_size(size) + size; }

// The size of an entry of a map from names to messages, and its serialisation.
constexpr size_t entry_size(std::string_view name, std::string_view value) {
  return field_size(name.size()) + field_size(value.size());
}
inline void append_entry(std::string_view name, std::string_view value, std::string& out) {
  append_length_header(kEntryKey, name.size(), out);
  out += name;
  append_length_header(kEntryValue, value.size(), out);
  out += value;
}

}  // namespace recordpipe
