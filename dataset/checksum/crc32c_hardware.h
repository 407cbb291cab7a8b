// CRC-32C with the processor's instructions, compiled only for x86-64 and ARMv8; must be called
// only if crc32c_hardware_supported() returns true.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace recordpipe {

// The Castagnoli polynomial, bits reversed.
inline constexpr uint32_t kCrc32cPolynomial = 0x82f63b78;

bool crc32c_hardware_supported();
uint32_t crc32c_extend_hardware(uint32_t crc, std::span<const std::byte> data);

}  // namespace recordpipe
