// Converts text and hex to bytes for tests, and provides sources and sinks in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recordpipe/io/file.h"

namespace recordpipe {

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline std::string as_text(std::span<const std::byte> data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

// "0a ff" → "\x0a\xff"; spaces are ignored.
inline std::string from_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
  std::string bytes;
  int high = -1;
  for (const char c : hex) {
    if (c == ' ') continue;
    if (high < 0) {
      high = digit(c);
    } else {
      bytes += static_cast<char>(high << 4 | digit(c));
      high = -1;
    }
  }
  return bytes;
}

inline std::string to_hex(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) {
    for (const int shift : {4, 0}) {
      hex += "0123456789abcdef"[(static_cast<unsigned char>(c) >> shift) & 15];
    }
  }
  return hex;
}

// A source that returns `content`, then ends.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string content, std::string path = "memory")
      : content_(std::move(content)), path_(std::move(path)) {}

  size_t read(std::span<std::byte> out) override {
    const auto rest = as_bytes(content_).subspan(used_);
    const size_t count = std::min(out.size(), rest.size());
    if (count > 0) std::memcpy(out.data(), rest.data(), count);
    used_ += count;
    return count;
  }
  const std::string& path() const override { return path_; }

 private:
  std::string content_;
  std::string path_;
  size_t used_ = 0;
};

// Like MemorySource, but returns one byte at a time, like a slow pipe.
class TrickleSource final : public ByteSource {
 public:
  explicit TrickleSource(std::string content, std::string path = "memory")
      : content_(std::move(content), std::move(path)) {}

  size_t read(std::span<std::byte> out) override {
    return content_.read(out.first(std::min<size_t>(out.size(), 1)));
  }
  const std::string& path() const override { return content_.path(); }

 private:
  MemorySource content_;
};

class MemorySink final : public ByteSink {
 public:
  void write(std::span<const std::byte> data) override { content += as_text(data); }
  void close() override {}
  const std::string& path() const override { return path_; }

  std::string content;

 private:
  std::string path_ = "memory";
};

}  // namespace recordpipe
