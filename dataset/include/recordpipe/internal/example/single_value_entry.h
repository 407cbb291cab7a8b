// Implements a fast path for the map entry of a feature with a single value, in the encoding that
// nearly all writers use.
//
// The encoding: key, Feature, list, value; each occurs once, in this order, and ends at the end of
// its parent. The result equals the result of the general parser (feature_reader.h), which handles
// all other encodings and all errors. No local variable has its address taken, so all state stays
// in registers: the fast path takes a fifth of the general parser's time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "recordpipe/example_view.h"
#include "recordpipe/internal/example/wire_reader.h"
#include "recordpipe/internal/utf8.h"

namespace recordpipe {

// Kind and size of a Feature, determined in one pass over its bytes.
struct FeatureSize {
  FeatureKind kind = FeatureKind::none;
  size_t values = 0;
  size_t bytes = 0;  // total size of bytes values
  // Whether the feature had earlier lists of another kind, whose values are replaced.
  bool replaced = false;
  // The last value, so that a single value needs no second pass.
  std::span<const std::byte> last = {};  // a bytes value, or the four bytes of a float
  int64_t last_int64 = 0;

  // Adds a piece of the Feature and validates every byte of it (feature_reader.h).
  void add(WireReader piece);
};

// A cursor over a message. Its functions return nullopt if the expected field is not next.
class GlanceReader {
 public:
  explicit GlanceReader(std::span<const std::byte> message)
      : next_(message.data()), end_(next_ + message.size()) {}

  std::span<const std::byte> rest() const { return {next_, end_}; }

  // Reads a varint of at most nine bytes (63 bits).
  std::optional<uint64_t> read_varint(unsigned max_bytes = 9) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 7 * max_bytes && next_ != end_; shift += 7) {
      const auto byte = std::to_integer<uint64_t>(*next_++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  // Reads the content of a length-delimited field.
  std::optional<std::span<const std::byte>> read_bytes(uint32_t field) {
    if (next_ == end_ || std::to_integer<uint32_t>(*next_) != length_delimited_tag(field)) {
      return std::nullopt;
    }
    ++next_;
    const auto length = read_varint(4);
    if (!length || *length > rest().size()) return std::nullopt;
    next_ += *length;
    return std::span(next_ - *length, next_);
  }

  // The same for a field that must end at the end of the message.
  std::optional<GlanceReader> read_last(uint32_t field) {
    const auto bytes = read_bytes(field);
    return bytes && next_ == end_ ? std::optional(GlanceReader(*bytes)) : std::nullopt;
  }

 private:
  const std::byte* next_;
  const std::byte* end_;
};

// Reads the single value of a list; floats and int64s must be packed.
inline std::optional<FeatureSize> read_single_value(FeatureKind kind, GlanceReader list) {
  auto value = list.read_last(kListValue);
  if (!value) return std::nullopt;
  const std::span<const std::byte> bytes = value->rest();
  FeatureSize size = {.kind = kind, .values = 1};
  switch (kind) {
    case FeatureKind::bytes:
      size.bytes = bytes.size();
      size.last = bytes;
      return size;
    case FeatureKind::floats:
      size.last = bytes;
      return bytes.size() == sizeof(float) ? std::optional(size) : std::nullopt;
    default: {
      const auto number = value->read_varint();
      if (!number || !value->rest().empty()) return std::nullopt;
      size.last_int64 = static_cast<int64_t>(*number);
      return size;
    }
  }
}

struct SingleValueEntry {
  std::string_view key;
  std::span<const std::byte> entry;
  FeatureSize size;
};

// Reads the next entry of a Features message, if it has the expected encoding; otherwise `features`
// does not advance.
inline std::optional<SingleValueEntry> read_single_value_entry(GlanceReader& features) {
  GlanceReader reader = features;
  const auto entry = reader.read_bytes(kFeaturesEntry);
  if (!entry) return std::nullopt;
  GlanceReader fields(*entry);
  const auto key = fields.read_bytes(kEntryKey);
  if (!key) return std::nullopt;
  const std::string_view name(reinterpret_cast<const char*>(key->data()), key->size());
  const auto feature = fields.read_last(kEntryValue);
  if (!feature || !is_utf8(name)) return std::nullopt;

  constexpr std::pair<uint32_t, FeatureKind> kLists[] = {{kFeatureBytesList, FeatureKind::bytes},
                                                         {kFeatureFloatList, FeatureKind::floats},
                                                         {kFeatureInt64List, FeatureKind::int64s}};
  for (const auto& [field, kind] : kLists) {
    // A copy, because a failed attempt must not advance the reader.
    const auto list = GlanceReader(*feature).read_last(field);
    if (!list) continue;
    const auto size = read_single_value(kind, *list);
    if (!size) return std::nullopt;
    features = reader;
    return SingleValueEntry{name, *entry, *size};
  }
  return std::nullopt;
}

}  // namespace recordpipe
