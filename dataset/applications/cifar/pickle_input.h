// Reads numbers and strings from a pickle, with offsets; checks every length before use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "recordpipe/error.h"
#include "recordpipe/file.h"

namespace recordpipe {

class PickleInput {
 public:
  // `source` has `size` bytes.
  PickleInput(ByteSource& source, uint64_t size) : source_(source), size_(size) {}

  uint8_t read_u8();
  // A little-endian number of `bytes` bytes, at most 8.
  uint64_t read_little_endian(size_t bytes);
  std::string read_string(uint64_t length);
  // The bytes up to the next newline (excluded); at most `limit` bytes.
  std::string read_line(size_t limit);
  // Fills `out`; a large `out` is read directly from the source.
  void read_into(std::span<std::byte> out);

  // Throws Error{corrupted} if fewer than `length` bytes are left.
  void expect_left(uint64_t length, const char* what) const;
  bool at_end();

  // The offset of the next byte. begin_opcode() makes it the offset of the current opcode.
  uint64_t offset() const { return offset_; }
  void begin_opcode() { opcode_offset_ = offset_; }

  // Throw an Error at the current opcode.
  [[noreturn]] void fail(ErrorKind kind, std::string reason, std::string hint = {}) const;
  [[noreturn]] void fail_corrupted(std::string reason) const;
  [[noreturn]] void fail_limit(std::string reason) const;

 private:
  bool refill();

  ByteSource& source_;
  uint64_t size_;
  uint64_t offset_ = 0;
  uint64_t opcode_offset_ = 0;
  std::array<std::byte, 16384> buffer_;
  size_t next_ = 0;
  size_t filled_ = 0;
};

}  // namespace recordpipe
