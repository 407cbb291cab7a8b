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

// The CRC of one block and then another, of whose CRCs `first` and `second` are: in O(log size)
// steps, without looking at them. So blocks are checked side by side, and the CRC of any block
// follows from those of what ends where it begins and where it ends:
//     crc(block) = crc32c_concat(crc(before), crc(before and block), size of block)
// because the rule is its own inverse (it shifts `first` and adds `second`, and adding is xor).
uint32_t crc32c_concat(uint32_t first, uint32_t second, uint64_t second_size);

// ror32(crc, 15) + 0xa282ead8.
constexpr uint32_t mask_crc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

// One way to compute it, for tests and benchmarks.
struct Crc32cImplementation {
  const char* name;  // "portable", "sse42", "armv8"
  uint32_t (*extend)(uint32_t crc, std::span<const std::byte> data);
};

// Those that run on this processor, the plain one first and the one in use last.
const std::vector<Crc32cImplementation>& crc32c_implementations();

}  // namespace recordpipe
