// Computes CRC-32C (Castagnoli) and its masked form. TFRecord files store the masked form, because
// the plain CRC of data that contains its own CRC is degenerate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace recordpipe {

// Returns the CRC of A followed by `data`, where `crc` is the CRC of A; crc32c_extend(0, data) is
// the CRC of `data`. Uses the fastest implementation for this processor.
uint32_t crc32c_extend(uint32_t crc, std::span<const std::byte> data);

inline uint32_t crc32c(std::span<const std::byte> data) { return crc32c_extend(0, data); }

// Returns the CRC of two concatenated blocks from their CRCs, in O(log second_size) steps and
// without their data, so blocks can be checked in parallel. The function also gives the CRC of a
// block from the CRCs of two prefixes:
//     crc(block) = crc32c_concat(crc(before), crc(before and block), size of block)
// because it is its own inverse (it shifts `first` and adds `second`; addition is xor).
uint32_t crc32c_concat(uint32_t first, uint32_t second, uint64_t second_size);

// ror32(crc, 15) + 0xa282ead8.
constexpr uint32_t mask_crc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

// One implementation, for tests and benchmarks.
struct Crc32cImplementation {
  const char* name;  // "portable", "sse42", "armv8"
  uint32_t (*extend)(uint32_t crc, std::span<const std::byte> data);
};

// Returns the implementations that run on this processor: the portable one first, the one in use
// last.
const std::vector<Crc32cImplementation>& crc32c_implementations();

}  // namespace recordpipe
