// PickleInput: buffered reads from a ByteSource.
#include "dataset/applications/cifar/pickle_input.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace recordpipe {

bool PickleInput::refill() {
  filled_ = read_fully(source_, buffer_);
  next_ = 0;
  return filled_ != 0;
}

bool PickleInput::at_end() { return next_ == filled_ && !refill(); }

void PickleInput::read_into(std::span<std::byte> out) {
  const size_t buffered = std::min(out.size(), filled_ - next_);
  std::memcpy(out.data(), buffer_.data() + next_, buffered);
  next_ += buffered;
  size_t done = buffered;
  if (out.size() - done >= buffer_.size()) {
    done += read_fully(source_, out.subspan(done));
  } else if (done < out.size() && refill()) {
    const size_t rest = std::min(out.size() - done, filled_);
    std::memcpy(out.data() + done, buffer_.data(), rest);
    next_ = rest;
    done += rest;
  }
  offset_ += done;
  if (done < out.size()) {
    throw Error({.kind = ErrorKind::truncated,
                 .path = source_.path(),
                 .offset = offset_,
                 .reason = "the pickle ends before its STOP",
                 .hint = "the archive is truncated or damaged: download it again"});
  }
}

uint8_t PickleInput::read_u8() {
  std::byte value;
  read_into({&value, 1});
  return static_cast<uint8_t>(value);
}

uint64_t PickleInput::read_little_endian(size_t bytes) {
  std::array<std::byte, 8> encoded{};
  read_into(std::span(encoded).first(bytes));
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= std::to_integer<uint64_t>(encoded[i]) << (8 * i);
  return value;
}

std::string PickleInput::read_string(uint64_t length) {
  expect_left(length, "string");
  std::string text(length, '\0');
  read_into(std::as_writable_bytes(std::span(text)));
  return text;
}

std::string PickleInput::read_line(size_t limit) {
  std::string line;
  while (line.size() <= limit) {
    const char c = static_cast<char>(read_u8());
    if (c == '\n') return line;
    line += c;
  }
  fail_corrupted("a name of more than " + std::to_string(limit) + " bytes");
}

void PickleInput::expect_left(uint64_t length, const char* what) const {
  const uint64_t left = size_ - std::min(offset_, size_);
  if (length > left) {
    fail_corrupted(std::string("a ") + what + " of " + std::to_string(length) +
                   " bytes where the file has " + std::to_string(left) + " left");
  }
}

void PickleInput::fail(ErrorKind kind, std::string reason, std::string hint) const {
  throw Error({.kind = kind,
               .path = source_.path(),
               .offset = opcode_offset_,
               .reason = std::move(reason),
               .hint = std::move(hint)});
}

void PickleInput::fail_corrupted(std::string reason) const {
  fail(ErrorKind::corrupted, std::move(reason),
       "this is not a CIFAR batch in the published format");
}

void PickleInput::fail_limit(std::string reason) const {
  fail(ErrorKind::limit_exceeded, std::move(reason), "no CIFAR batch needs that much");
}

}  // namespace recordpipe
