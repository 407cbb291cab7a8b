// Combination of the CRCs of adjacent blocks by carry-less multiplication, for the implementations
// that compute three blocks at a time.
//
// In a reflected CRC register, bit 31 is x^0 and bit 0 is x^31. The carry-less product of two
// registers a and b, fed as eight bytes to the CRC instruction (which multiplies by x^32 and
// reduces), gives a·b·x^33 modulo the polynomial. Therefore kCrc32cShift[n] = x^(64n - 33) moves a
// CRC past n words of eight bytes. (Gopal et al., "Fast CRC computation for iSCSI polynomial using
// CRC32 instruction", Intel 2011.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dataset/checksum/crc32c_implementations.h"

namespace recordpipe {

// The longest block, in words of eight bytes. Three blocks are 6 KiB: a record of a few kilobytes
// takes one round.
inline constexpr size_t kCrc32cMaxBlockWords = 256;

// Entry n > 0 shifts by n words; two blocks are the longest shift.
inline constexpr auto kCrc32cShift = [] {
  std::array<uint32_t, 2 * kCrc32cMaxBlockWords + 1> shift{};
  uint32_t power = 0x80000000;  // x^0
  for (size_t exponent = 1; exponent <= 64 * (shift.size() - 1) - 33; ++exponent) {
    power = (power >> 1) ^ (power % 2 != 0 ? kCrc32cPolynomial : 0);
    if (exponent % 64 == 31) shift[exponent / 64 + 1] = power;
  }
  return shift;
}();

}  // namespace recordpipe
