// Reads the parts of a file in memory one after another, with numbers of little-endian bytes.
// Beyond the end it throws Error{truncated}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "recordpipe/base/error.h"

namespace recordpipe {

class LittleEndianReader {
 public:
  // `format`: begins each message.
  LittleEndianReader(std::span<const std::byte> file, const char* format)
      : file_(file), format_(format) {}

  size_t at() const { return at_; }

  std::span<const std::byte> bytes(size_t size) {
    if (size > file_.size() - at_) {
      throw Error({.kind = ErrorKind::truncated,
                   .offset = file_.size(),
                   .reason = std::string(format_) + ": the file ends too early"});
    }
    at_ += size;
    return file_.subspan(at_ - size, size);
  }
  void skip(size_t size) { bytes(size); }
  // Of at most 4 bytes.
  uint32_t number(size_t size) {
    uint32_t value = 0;
    int shift = 0;
    for (const std::byte byte : bytes(size)) {
      value |= std::to_integer<uint32_t>(byte) << shift;
      shift += 8;
    }
    return value;
  }

  [[noreturn]] void fail(const std::string& reason, ErrorKind kind = ErrorKind::corrupted) const {
    throw Error({.kind = kind, .offset = at_, .reason = std::string(format_) + ": " + reason});
  }

 private:
  std::span<const std::byte> file_;
  const char* format_;
  size_t at_ = 0;
};

}  // namespace recordpipe
