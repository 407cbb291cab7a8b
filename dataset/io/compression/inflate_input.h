// The input buffer of inflate(). It holds the compressed bytes that the engine has not consumed
// and, for backtracking, some bytes that the engine has consumed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "recordpipe/io/file.h"

namespace recordpipe {

class InflateInput {
 public:
  // Keeps the last `kept` consumed bytes.
  explicit InflateInput(size_t kept) : kept_(kept), buffer_(kept + kMaxRest + kReadSize) {}

  // The bytes that were read and not consumed.
  std::span<const std::byte> rest() const {
    return std::span(buffer_).subspan(begin_, end_ - begin_);
  }
  void take(size_t count) { begin_ += count; }
  // Offset of rest() in the file.
  uint64_t offset() const { return fetched_ - (end_ - begin_); }
  // Goes back to `offset`, or as far as the kept bytes allow.
  void go_back_to(uint64_t offset) { begin_ = end_ - std::min<uint64_t>(fetched_ - offset, end_); }

  // Appends more input to rest(), which must have fewer than kMaxRest bytes.
  void fill(ByteSource& source) {
    const size_t keep = std::min(end_, kept_ + (end_ - begin_));
    std::memmove(buffer_.data(), buffer_.data() + (end_ - keep), keep);
    begin_ = keep - (end_ - begin_);
    end_ = keep;
    const size_t count = source.read(std::span(buffer_).subspan(end_, kReadSize));
    end_ += count;
    fetched_ += count;
    ended_ = count == 0;
  }
  // Whether the last fill() reached the end of the source.
  bool ended() const { return ended_; }

 private:
  static constexpr size_t kReadSize = size_t{256} << 10;
  static constexpr size_t kMaxRest = 16;

  const size_t kept_;
  std::vector<std::byte> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t fetched_ = 0;  // bytes read so far
  bool ended_ = false;
};

}  // namespace recordpipe
