// Recognises the formats of files, and of their parts, by their first bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace recordpipe {

inline bool starts_with(std::span<const std::byte> bytes, std::span<const uint8_t> start) {
  return bytes.size() >= start.size() &&
         std::equal(start.begin(), start.end(), bytes.begin(),
                    [](uint8_t a, std::byte b) { return a == std::to_integer<uint8_t>(b); });
}

}  // namespace recordpipe
