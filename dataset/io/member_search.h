// Where inflate() reads on after damage: at the next gzip member or zstd frame, found by how these
// begin.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include "recordpipe/compression.h"

namespace recordpipe {

// So many bytes tell a member; and so many of one aren't by chance in a content.
constexpr size_t kMagicSize = 4;
constexpr size_t kStartSize = 16;

// How far the search may go back: more than zstd's largest block. What is damaged may be taken for
// content for a while, up into the member that follows.
constexpr uint64_t kLookBack = uint64_t{256} << 10;

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

  // How far damage was found.
  uint64_t furthest() const { return furthest_; }

 private:
  uint64_t allowed_ = uint64_t{16} << 20;
  uint64_t repeated_ = 0;
  uint64_t furthest_ = 0;
};

// The last content that came. A block that is stored, not compressed, may have swallowed the start
// of the next member: its content is among this then, and so are the records in it, which must not
// come a second time.
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

  // Whether `start`, some bytes of a file, came as they are.
  bool holds(std::span<const std::byte> start) const {
    return std::ranges::search(bytes_, start).begin() != bytes_.end();
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace recordpipe
