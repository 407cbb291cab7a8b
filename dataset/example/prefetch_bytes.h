// Prefetches the bytes of records: those of a batch lie in any order, so the processor can't guess
// which one comes next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace recordpipe {

// The number of records between the one that is read and the one that is prefetched.
inline constexpr size_t kPrefetchAhead = 2;

// Requests the first bytes. The processor notices by itself that more of them are read in order.
inline void prefetch_bytes(std::span<const std::byte> bytes) {
  constexpr size_t kLine = 64;
  constexpr size_t kMax = size_t{4} << 10;
  const size_t size = std::min(bytes.size(), kMax);
  for (size_t at = 0; at < size; at += kLine) __builtin_prefetch(bytes.data() + at);
}

}  // namespace recordpipe
