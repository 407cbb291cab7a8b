// The implementations of CRC-32C. Each has its own file and is compiled only for its architecture;
// it must be called only if its supported() returns true.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace recordpipe {

// The Castagnoli polynomial, bits reversed.
inline constexpr uint32_t kCrc32cPolynomial = 0x82f63b78;

uint32_t crc32c_extend_portable(uint32_t crc, std::span<const std::byte> data);

#if defined(__x86_64__)
bool crc32c_sse42_supported();
uint32_t crc32c_extend_sse42(uint32_t crc, std::span<const std::byte> data);
#endif

#if defined(__aarch64__)
bool crc32c_armv8_supported();
uint32_t crc32c_extend_armv8(uint32_t crc, std::span<const std::byte> data);
#endif

}  // namespace recordpipe
