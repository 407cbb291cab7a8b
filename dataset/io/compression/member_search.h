// Recovers inflate() after damage: searches for the start of the next gzip member or zstd frame.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include "recordpipe/io/compression.h"

namespace recordpipe {

// The first kMagicSize bytes of a member identify its start. Its first kStartSize bytes do not
// occur in content by chance.
constexpr size_t kMagicSize = 4;
constexpr size_t kStartSize = 16;

// The distance that the search may go back: more than zstd's largest block. A decoder may treat
// damaged bytes, and even the start of the next member, as content for a while.
constexpr uint64_t kLookBack = uint64_t{256} << 10;

inline bool begins_member(Compression format, std::span<const std::byte> at) {
  constexpr std::byte kZstd[] = {std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f},
                                 std::byte{0xfd}};
  if (format == Compression::zstd) return std::memcmp(at.data(), kZstd, kMagicSize) == 0;
  // gzip has a single method (deflate), and three flag bits are reserved.
  return format == Compression::gzip && at[0] == std::byte{0x1f} && at[1] == std::byte{0x8b} &&
         at[2] == std::byte{0x08} && (at[3] & std::byte{0xe0}) == std::byte{0};
}

// Returns the number of bytes before the first member. If there is none, returns the number of
// bytes before the last few, which are too few to decide.
inline size_t find_member(Compression format, std::span<const std::byte> bytes) {
  size_t at = 0;
  while (bytes.size() - at >= kMagicSize && !begins_member(format, bytes.subspan(at))) ++at;
  return at;
}

struct InflatedMember {
  uint64_t begin = 0;         // in the file
  uint64_t made = 0;          // bytes of content
  bool was_searched = false;  // found by the search; may be a chance match
};

// Determines the distance to go back after damage. Going back repeats reading and decompression,
// and a malicious file could cause this at many positions. The total number of repeated bytes is
// limited to the size of intact members plus 16 MiB, which keeps the time linear.
class Backtracking {
 public:
  // Records that `member` was intact.
  void sound(const InflatedMember& member) { allowed_ += member.made; }

  // Returns the offset from which to search, after damage in `member` at `offset`.
  uint64_t search_from(const InflatedMember& member, uint64_t offset) {
    if (member.begin < furthest_) repeated_ += member.made + (offset - member.begin);
    furthest_ = std::max(furthest_, offset);
    const uint64_t back = repeated_ <= allowed_ ? std::min(offset, kLookBack) : 0;
    return std::max(member.begin + 1, offset - back);
  }

  // The largest offset of damage so far.
  uint64_t furthest() const { return furthest_; }

 private:
  uint64_t allowed_ = uint64_t{16} << 20;
  uint64_t repeated_ = 0;
  uint64_t furthest_ = 0;
};

// Keeps the last bytes of content. A damaged stored (uncompressed) block may include the start of
// the next member as content. The records in that start were then already returned, and must not be
// returned twice.
class RecentContent {
 public:
  void add(std::span<const std::byte> content) {
    content = content.last(std::min<size_t>(content.size(), kLookBack));
    if (bytes_.size() + content.size() > 2 * kLookBack) {
      bytes_.erase(bytes_.begin(),
                   bytes_.end() - std::min<ptrdiff_t>(std::ssize(bytes_), kLookBack));
    }
    bytes_.insert(bytes_.end(), content.begin(), content.end());
  }

  // Whether the content includes the bytes `start` of the file.
  bool holds(std::span<const std::byte> start) const {
    return std::ranges::search(bytes_, start).begin() != bytes_.end();
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace recordpipe
