// Counts and decodes the varints of a packed list, eight bytes at a time.
//
// The lists begin at least 8 bytes after the start of their record, as headers come before them, so
// that the last bytes can be loaded as part of a word. Accepts the lists that WireReader accepts:
// varints of at most ten bytes; bits above 64 are dropped.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "recordpipe/base/internal/endian.h"

namespace recordpipe {

inline constexpr size_t kMaxVarintBytes = 10;
inline constexpr uint64_t kContinuationBits = 0x8080808080808080;

// Returns the value of a varint whose bytes are those of `word`, in which all bytes after the
// varint are 0.
constexpr uint64_t join_varint(uint64_t word) {
  word &= ~kContinuationBits;
  word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
  word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
  return (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
}

// Returns the number of varints in `packed`; nullopt if one has more than ten bytes or doesn't end.
inline std::optional<size_t> count_varints(std::span<const std::byte> packed) {
  const std::byte* next = packed.data();
  const std::byte* const end = next + packed.size();
  if (packed.empty()) return 0;
  if (packed.size() <= 8) {
    if (end[-1] >= std::byte{0x80}) return std::nullopt;
    const uint64_t word = load_little_endian<uint64_t>(end - 8) >> (64 - 8 * packed.size());
    return packed.size() - static_cast<size_t>(std::popcount(word & kContinuationBits));
  }
  size_t count = 0;
  size_t open = 0;  // bytes of a varint that has not ended
  for (; end - next >= 8; next += 8) {
    const uint64_t last_bytes = ~load_little_endian<uint64_t>(next) & kContinuationBits;
    if (last_bytes == 0) {
      open += 8;
      if (open >= kMaxVarintBytes) return std::nullopt;
      continue;
    }
    if (open + static_cast<size_t>(std::countr_zero(last_bytes)) / 8 >= kMaxVarintBytes) {
      return std::nullopt;
    }
    count += static_cast<size_t>(std::popcount(last_bytes));
    open = static_cast<size_t>(std::countl_zero(last_bytes)) / 8;
  }
  for (; next != end; ++next) {
    const bool is_last = *next < std::byte{0x80};
    if (!is_last && ++open >= kMaxVarintBytes) return std::nullopt;
    if (is_last) open = 0;
    count += is_last;
  }
  return open == 0 ? std::optional(count) : std::nullopt;
}

// Decodes a varint of at most eight bytes that is the whole of `packed` (not empty). Returns false
// if the bytes are anything else.
inline bool decode_single_varint(std::span<const std::byte> packed, int64_t& value) {
  const size_t size = packed.size();
  const auto first = std::to_integer<uint64_t>(packed[0]);
  if (size == 1) {
    value = static_cast<int64_t>(first);
    return first < 0x80;
  }
  if (size > 8) return false;
  const uint64_t word = load_little_endian<uint64_t>(packed.data() + size - 8) >> (64 - 8 * size);
  value = static_cast<int64_t>(join_varint(word));
  return (word & kContinuationBits) == (kContinuationBits & ((uint64_t{1} << (8 * size - 8)) - 1));
}

// Decodes the varints of `packed`, which count_varints() has accepted, to `out`. Returns the end of
// the values.
inline int64_t* decode_varints(std::span<const std::byte> packed, int64_t* out) {
  const std::byte* next = packed.data();
  const std::byte* const end = next + packed.size();
  while (next != end) {
    if (*next < std::byte{0x80}) {
      *out++ = std::to_integer<int64_t>(*next++);
      continue;
    }
    // The bytes after the list, if they are loaded at all, are shifted out: zeros are loaded
    // instead.
    const auto left = static_cast<size_t>(end - next);
    const uint64_t word = left >= 8 ? load_little_endian<uint64_t>(next)
                                    : load_little_endian<uint64_t>(end - 8) >> (64 - 8 * left);
    const uint64_t last_bytes = ~word & kContinuationBits;
    if (last_bytes != 0) [[likely]] {
      const uint64_t up_to_last = last_bytes ^ (last_bytes - 1);
      *out++ = static_cast<int64_t>(join_varint(word & up_to_last));
      next += std::countr_zero(last_bytes) / 8 + 1;
      continue;
    }
    uint64_t value = join_varint(word);
    next += 8;
    for (unsigned shift = 56;; shift += 7) {
      const auto byte = std::to_integer<uint64_t>(*next++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    *out++ = static_cast<int64_t>(value);
  }
  return out;
}

}  // namespace recordpipe
