// A source that reads from memory.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "recordpipe/io/file.h"

namespace recordpipe {

// The bytes must outlive it.
class SpanSource final : public ByteSource {
 public:
  explicit SpanSource(std::span<const std::byte> bytes, std::string path = {})
      : left_(bytes), path_(std::move(path)) {}

  size_t read(std::span<std::byte> out) override {
    const size_t count = std::min(out.size(), left_.size());
    std::copy_n(left_.data(), count, out.data());
    left_ = left_.subspan(count);
    return count;
  }
  const std::string& path() const override { return path_; }

 private:
  std::span<const std::byte> left_;
  const std::string path_;
};

}  // namespace recordpipe
