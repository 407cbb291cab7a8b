// CRC-32C (Castagnoli), as TFRecord files use it: masked, so that the CRC of data that holds CRCs
// stays useful.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace recordpipe {

// The CRC of `crc`'s data followed by `data`. crc32c_extend(0, data) is the CRC of `data`.
// Uses the fastest implementation this processor has.
uint32_t crc32c_extend(uint32_t crc, std::span<const std::byte> data);

inline uint32_t crc32c(std::span<const std::byte> data) { return crc32c_extend(0, data); }

// ror32(crc, 15) + 0xa282ead8, and back.
constexpr uint32_t mask_crc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
constexpr uint32_t unmask_crc(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

// One way to compute it, for tests and benchmarks.
struct Crc32cImplementation {
  const char* name;  // "portable", "sse42", "armv8"
  uint32_t (*extend)(uint32_t crc, std::span<const std::byte> data);
};

// Those that run on this processor, the plain one first and the one in use last.
const std::vector<Crc32cImplementation>& crc32c_implementations();

}  // namespace recordpipe
