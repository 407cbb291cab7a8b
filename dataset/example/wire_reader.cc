#include "recordpipe/example/internal/wire_reader.h"

#include <string>

#include "recordpipe/base/error.h"

namespace recordpipe {

uint32_t WireReader::read_long_tag() {
  uint32_t tag = 0;
  for (int shift = 0; shift < 35 && next_ != end_; shift += 7) {
    const auto byte = std::to_integer<uint32_t>(*next_++);
    tag |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      if (tag >> 3 == 0) fail("field number 0");
      return tag;
    }
  }
  fail("a tag that doesn't end");
}

uint64_t WireReader::read_long_varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 70 && next_ != end_; shift += 7) {
    const auto byte = std::to_integer<uint64_t>(*next_++);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail("a varint that doesn't end");
}

size_t WireReader::read_long_length() {
  // protobuf reserves 16 bytes of the range of an int.
  constexpr uint64_t kMaxLength = (uint64_t{1} << 31) - 1 - 16;
  const std::byte* const start = next_;
  const uint64_t length = read_varint();
  if (next_ - start > 5 || length > kMaxLength) fail("a length of 2 GiB or more");
  return length;
}

void WireReader::skip(uint32_t tag) {
  switch (wire_type(tag)) {
    case WireType::varint:
      read_varint();
      return;
    case WireType::fixed64:
      advance(sizeof(uint64_t));
      return;
    case WireType::length_delimited:
      read_bytes();
      return;
    case WireType::start_group:
      skip_group(tag);
      return;
    case WireType::fixed32:
      advance(sizeof(uint32_t));
      return;
    case WireType::end_group:
      break;
  }
  fail("an unknown wire type");
}

void WireReader::skip_group(uint32_t start_tag) {
  if (depth_ == 0) fail("messages nested too deeply");
  --depth_;
  while (true) {
    const uint32_t tag = read_any_tag();
    if (wire_type(tag) == WireType::end_group) {
      if (tag >> 3 != start_tag >> 3) fail("an end-group tag of another group");
      break;
    }
    skip(tag);
  }
  ++depth_;
}

void WireReader::fail(const char* reason) const {
  throw Error({.kind = ErrorKind::corrupted,
               .offset = static_cast<uint64_t>(next_ - start_),
               .reason = std::string(kNotAnExample) + reason});
}

}  // namespace recordpipe
