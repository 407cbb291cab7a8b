// A cursor over a protobuf message on the wire.
//
// Accepts and refuses exactly what protobuf 3.21's own parser does: tags of at most five bytes,
// varints of at most ten (what doesn't fit in 32 or 64 bits is dropped), lengths below 2 GiB,
// groups nested at most 100 deep together with the messages around them. Throws Error{corrupted}
// with the offset in the outermost message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace recordpipe {

class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> message)
      : WireReader(message.data(), message, kMaxDepth) {}

  bool done() const { return next_ == end_; }
  // The next field's number and wire type; never an end of a group.
  uint32_t read_tag();
  uint64_t read_varint() {
    if (next_ != end_ && *next_ < std::byte{0x80}) return std::to_integer<uint64_t>(*next_++);
    return read_long_varint();
  }
  uint32_t read_fixed32();
  std::span<const std::byte> read_bytes();
  // A length-delimited field that holds a message, as a cursor over it.
  WireReader read_message();
  // A length-delimited field that holds packed numbers.
  WireReader read_packed() { return WireReader(start_, read_bytes(), depth_); }
  // What hasn't been read yet.
  std::span<const std::byte> rest() const { return {next_, end_}; }
  // Skips the value of a field whose tag was just read.
  void skip(uint32_t tag);

  [[noreturn]] void fail(const char* reason) const;

 private:
  static constexpr int kMaxDepth = 100;

  WireReader(const std::byte* start, std::span<const std::byte> message, int depth)
      : start_(start), next_(message.data()), end_(next_ + message.size()), depth_(depth) {}

  uint64_t read_long_varint();
  uint32_t read_any_tag();
  void advance(size_t count);
  void skip_group(uint32_t start_tag);

  const std::byte* start_;  // of the outermost message
  const std::byte* next_;
  const std::byte* end_;
  int depth_;  // how many more messages and groups may be nested
};

}  // namespace recordpipe
