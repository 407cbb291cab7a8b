// Defines a cursor over a serialised protobuf message.
//
// Accepts and rejects the same bytes as the parser of protobuf 3.21: tags of at most five bytes,
// varints of at most ten bytes (bits above 32 or 64 are dropped), lengths below 2 GiB, at most 100
// levels of nested groups and messages. Throws Error{corrupted} with the offset in the outermost
// message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "recordpipe/base/internal/endian.h"

namespace recordpipe {

enum class WireType : uint32_t {
  varint = 0,
  fixed64 = 1,
  length_delimited = 2,
  start_group = 3,
  end_group = 4,
  fixed32 = 5,
};

constexpr uint32_t wire_tag(uint32_t field, WireType type) {
  return field << 3 | static_cast<uint32_t>(type);
}

constexpr uint32_t length_delimited_tag(uint32_t field) {
  return wire_tag(field, WireType::length_delimited);
}

constexpr WireType wire_type(uint32_t tag) { return static_cast<WireType>(tag & 7); }

// Field numbers of feature.proto and example.proto.
inline constexpr uint32_t kExampleFeatures = 1;
inline constexpr uint32_t kSequenceContext = 1;
inline constexpr uint32_t kSequenceFeatureLists = 2;
inline constexpr uint32_t kListExamples = 1;  // of an ExampleListWithContext
inline constexpr uint32_t kListContext = 2;
inline constexpr uint32_t kFeaturesEntry = 1;
inline constexpr uint32_t kFeatureListsEntry = 1;
inline constexpr uint32_t kEntryKey = 1;
inline constexpr uint32_t kEntryValue = 2;
inline constexpr uint32_t kFeatureListFeature = 1;
inline constexpr uint32_t kFeatureBytesList = 1;
inline constexpr uint32_t kFeatureFloatList = 2;
inline constexpr uint32_t kFeatureInt64List = 3;
inline constexpr uint32_t kListValue = 1;

// The beginning of a WireReader's reasons.
inline constexpr std::string_view kNotAnExample = "not a tf.train.Example: ";

class WireReader {
 public:
  // `depth`: the levels of nested groups and messages that are allowed.
  explicit WireReader(std::span<const std::byte> message, int depth = kMaxDepth)
      : WireReader(message.data(), message, depth) {}

  bool done() const { return next_ == end_; }
  // Returns the tag (field number and wire type) of the next field. Throws at an end-group tag.
  uint32_t read_tag() {
    const uint32_t tag = read_any_tag();
    if (wire_type(tag) == WireType::end_group) fail("an end-group tag without a start");
    return tag;
  }
  uint64_t read_varint() {
    if (next_ != end_ && *next_ < std::byte{0x80}) return std::to_integer<uint64_t>(*next_++);
    return read_long_varint();
  }
  uint32_t read_fixed32() {
    const std::byte* from = next_;
    advance(sizeof(uint32_t));
    return load_little_endian<uint32_t>(from);
  }
  uint64_t read_fixed64() {
    const std::byte* from = next_;
    advance(sizeof(uint64_t));
    return load_little_endian<uint64_t>(from);
  }
  std::span<const std::byte> read_bytes() {
    const size_t length = read_length();
    const std::byte* from = next_;
    advance(length);
    return {from, next_};
  }
  // Returns a cursor over the message in a length-delimited field.
  WireReader read_message() {
    if (depth_ == 0) fail("messages nested too deeply");
    return WireReader(start_, read_bytes(), depth_ - 1);
  }
  // Returns a cursor over the packed numbers in a length-delimited field.
  WireReader read_packed() { return WireReader(start_, read_bytes(), depth_); }
  // The unread bytes.
  std::span<const std::byte> rest() const { return {next_, end_}; }
  // Skips to the last `count` bytes. The skipped bytes must be whole fields.
  void skip_to_last(size_t count) { next_ = end_ - count; }
  // Skips the value of the field with the tag that was read last.
  void skip(uint32_t tag);

  [[noreturn]] void fail(const char* reason) const;

 private:
  static constexpr int kMaxDepth = 100;

  WireReader(const std::byte* start, std::span<const std::byte> message, int depth)
      : start_(start), next_(message.data()), end_(next_ + message.size()), depth_(depth) {}

  // Inline fast paths for the common cases; long and invalid encodings are handled out of line.
  uint32_t read_any_tag() {
    const bool is_short = next_ != end_ && *next_ < std::byte{0x80} && *next_ > std::byte{7};
    return is_short ? std::to_integer<uint32_t>(*next_++) : read_long_tag();
  }
  size_t read_length() {
    if (end_ - next_ >= 2) {
      const auto first = std::to_integer<size_t>(next_[0]);
      const auto second = std::to_integer<size_t>(next_[1]);
      if (first < 0x80) {
        next_ += 1;
        return first;
      }
      if (second < 0x80) {
        next_ += 2;
        return (first & 0x7f) | second << 7;
      }
    }
    return read_long_length();
  }
  void advance(size_t count) {
    if (count > static_cast<size_t>(end_ - next_)) fail("a field longer than its message");
    next_ += count;
  }
  uint32_t read_long_tag();
  uint64_t read_long_varint();
  size_t read_long_length();
  void skip_group(uint32_t start_tag);

  const std::byte* start_;  // of the outermost message
  const std::byte* next_;
  const std::byte* end_;
  int depth_;  // remaining levels of nested messages and groups
};

}  // namespace recordpipe
