// Reads features in the encoding that nearly all writers use, fast.
//
// The encoding: a map entry is a key and a Feature; the Feature is one list; the list is one field,
// with the packed numbers or the only bytes value. Each occurs once, in this order, and ends at the
// end of its parent. The general parser (feature_reader.h) reads all other encodings, reports all
// errors, and is what these functions are tested against.
//
// No local variable has its address taken, so all state stays in registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "recordpipe/base/internal/endian.h"
#include "recordpipe/example/internal/feature_size.h"
#include "recordpipe/example/internal/packed_varints.h"
#include "recordpipe/example/internal/wire_reader.h"

namespace recordpipe {

// A cursor over a message. Its functions return nullopt if the expected field is not next.
class GlanceReader {
 public:
  explicit GlanceReader(std::span<const std::byte> message)
      : next_(message.data()), end_(next_ + message.size()) {}

  std::span<const std::byte> rest() const { return {next_, end_}; }
  bool done() const { return next_ == end_; }
  void skip(size_t count) { next_ += count; }

  // Reads the content of a length-delimited field.
  std::optional<std::span<const std::byte>> read_bytes(uint32_t field) {
    if (next_ == end_ || std::to_integer<uint32_t>(*next_) != length_delimited_tag(field)) {
      return std::nullopt;
    }
    ++next_;
    const auto length = read_length();
    if (!length || *length > rest().size()) return std::nullopt;
    next_ += *length;
    return std::span(next_ - *length, next_);
  }

  // The same for a field that must end at the end of the message.
  std::optional<std::span<const std::byte>> read_last(uint32_t field) {
    const auto bytes = read_bytes(field);
    return bytes && next_ == end_ ? bytes : std::nullopt;
  }

 private:
  // Reads a length of at most four bytes.
  std::optional<uint64_t> read_length() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 28 && next_ != end_; shift += 7) {
      const auto byte = std::to_integer<uint64_t>(*next_++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  const std::byte* next_;
  const std::byte* end_;
};

struct PlainFeature {
  FeatureKind kind = FeatureKind::none;
  // The packed numbers, which are not validated, or the bytes value.
  std::span<const std::byte> values;
};

struct PlainEntry {
  std::string_view key;  // not validated
  PlainFeature feature;
  std::span<const std::byte> entry;  // the content of the map entry
};

// Whether `from` begins with the headers of a list and of its field, for `size` bytes with the
// values (4 to 127). Reads 4 bytes; the first has the list's field number.
inline bool read_short_headers(const std::byte* from, size_t size, FeatureKind& kind) {
  constexpr uint32_t kValueTag = length_delimited_tag(kListValue);
  const auto headers = load_little_endian<uint32_t>(from);
  const auto expected = static_cast<uint32_t>((size - 2) << 8 | kValueTag << 16 | (size - 4) << 24);
  const uint32_t tag = headers & 0xff;
  static_assert(static_cast<uint32_t>(FeatureKind::bytes) == kFeatureBytesList &&
                static_cast<uint32_t>(FeatureKind::floats) == kFeatureFloatList &&
                static_cast<uint32_t>(FeatureKind::int64s) == kFeatureInt64List);
  kind = static_cast<FeatureKind>(tag >> 3);
  return (headers & 0xffffff00) == expected && (tag == length_delimited_tag(kFeatureBytesList) ||
                                                tag == length_delimited_tag(kFeatureFloatList) ||
                                                tag == length_delimited_tag(kFeatureInt64List));
}

// Reads the whole Feature.
inline std::optional<PlainFeature> read_plain_feature(std::span<const std::byte> feature) {
  if (feature.size() < 128) {
    if (feature.size() < 4) return std::nullopt;
    FeatureKind kind;
    if (!read_short_headers(feature.data(), feature.size(), kind)) return std::nullopt;
    return PlainFeature{kind, feature.subspan(4)};
  }
  for (uint32_t field = kFeatureBytesList; field <= kFeatureInt64List; ++field) {
    const auto list = GlanceReader(feature).read_last(field);
    if (!list) continue;
    const auto values = GlanceReader(*list).read_last(kListValue);
    if (!values) return std::nullopt;
    return PlainFeature{static_cast<FeatureKind>(field), *values};
  }
  return std::nullopt;
}

// The same as read_plain_entry(), for an entry of less than 128 bytes.
inline bool read_short_entry(GlanceReader& features, PlainEntry& out) {
  const std::span<const std::byte> rest = features.rest();
  const std::byte* const from = rest.data();
  const auto byte = [](const std::byte* at) { return std::to_integer<size_t>(*at); };
  if (rest.size() < 4 || byte(from) != length_delimited_tag(kFeaturesEntry) ||
      byte(from + 2) != length_delimited_tag(kEntryKey)) {
    return false;
  }
  const size_t size = byte(from + 1);
  const size_t key_size = byte(from + 3);
  // The headers of key, Feature, list and values take two bytes each.
  if (size >= 128 || size > rest.size() - 2 || key_size + 8 > size) return false;
  const std::byte* const value = from + 4 + key_size;
  const size_t value_size = size - key_size - 4;
  FeatureKind kind;
  if (byte(value) != length_delimited_tag(kEntryValue) || byte(value + 1) != value_size ||
      !read_short_headers(value + 2, value_size, kind)) {
    return false;
  }
  features.skip(2 + size);
  out.key = {reinterpret_cast<const char*>(from + 4), key_size};
  out.feature = {kind, {value + 6, value_size - 4}};
  out.entry = {from + 2, size};
  return true;
}

// Reads the next entry of a Features message; if it has another encoding, `features` does not
// advance.
inline bool read_plain_entry(GlanceReader& features, PlainEntry& out) {
  if (read_short_entry(features, out)) return true;
  GlanceReader reader = features;
  const auto entry = reader.read_bytes(kFeaturesEntry);
  if (!entry) return false;
  GlanceReader fields(*entry);
  const auto key = fields.read_bytes(kEntryKey);
  if (!key) return false;
  const auto value = fields.read_last(kEntryValue);
  if (!value) return false;
  const auto feature = read_plain_feature(*value);
  if (!feature) return false;
  features = reader;
  out = {{reinterpret_cast<const char*>(key->data()), key->size()}, *feature, *entry};
  return true;
}

// Returns the number of values, or nullopt if they are not valid.
inline std::optional<size_t> count_values(const PlainFeature& feature) {
  const size_t size = feature.values.size();
  if (feature.kind == FeatureKind::bytes) return 1;
  if (feature.kind == FeatureKind::int64s) return count_varints(feature.values);
  return size % sizeof(float) == 0 ? std::optional(size / sizeof(float)) : std::nullopt;
}

}  // namespace recordpipe
