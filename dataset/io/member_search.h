// Where inflate() reads on after damage: at the next gzip member or zstd frame, found by how these
// begin.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "dataset/io/compression.h"

namespace recordpipe {

// So many bytes tell a member.
constexpr size_t kMagicSize = 4;

// What is damaged may be taken for content for a while, up into the member that follows. Almost
// always it is found out within a few kilobytes.
constexpr uint64_t kLookBack = uint64_t{64} << 10;

inline bool begins_member(Compression format, std::span<const std::byte> at) {
  constexpr std::byte kZstd[] = {std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f},
                                 std::byte{0xfd}};
  if (format == Compression::zstd) return std::memcmp(at.data(), kZstd, kMagicSize) == 0;
  // Deflate is gzip's only method, and three of its flags are reserved.
  return format == Compression::gzip && at[0] == std::byte{0x1f} && at[1] == std::byte{0x8b} &&
         at[2] == std::byte{0x08} && (at[3] & std::byte{0xe0}) == std::byte{0};
}

// How many bytes stand before the first member, or before the last bytes, which are too few to
// tell.
inline size_t find_member(Compression format, std::span<const std::byte> bytes) {
  size_t at = 0;
  while (bytes.size() - at >= kMagicSize && !begins_member(format, bytes.subspan(at))) ++at;
  return at;
}

struct InflatedMember {
  uint64_t begin = 0;         // in the file
  uint64_t made = 0;          // bytes of content
  bool was_searched = false;  // it may be none, but bytes that look like the start of one
};

// How far to go back after damage. Going back has bytes read and inflated again, at each of many
// places if someone means it to: only as many are, in all, as were sound, and 16 MiB.
class Backtracking {
 public:
  // `member` came to its end.
  void sound(const InflatedMember& member) { allowed_ += member.made; }

  // Where to look for the next one: `member` was found damaged at `offset`.
  uint64_t search_from(const InflatedMember& member, uint64_t offset) {
    if (member.begin < furthest_) repeated_ += member.made + (offset - member.begin);
    furthest_ = std::max(furthest_, offset);
    const uint64_t back = repeated_ <= allowed_ ? std::min(offset, kLookBack) : 0;
    return std::max(member.begin + 1, offset - back);
  }

 private:
  uint64_t allowed_ = uint64_t{16} << 20;
  uint64_t repeated_ = 0;
  uint64_t furthest_ = 0;
};

}  // namespace recordpipe
