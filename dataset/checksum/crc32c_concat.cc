// Combines the CRCs of adjacent blocks. A CRC is moved past n bytes by multiplying it by x^(8n)
// modulo the polynomial, by binary exponentiation over the bits of n (as in zlib's crc32_combine).
#include <array>

#include "dataset/checksum/crc32c_implementations.h"
#include "recordpipe/crc32c.h"

namespace recordpipe {
namespace {

// In both factors, bit 31 is x^0 and bit 0 is x^31, as in crc32c_shift.h.
constexpr uint32_t product(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (uint32_t bit = 0x80000000; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) sum ^= b;
    b = (b >> 1) ^ (b % 2 != 0 ? kCrc32cPolynomial : 0);
  }
  return sum;
}

// Entry i moves a CRC past 2^i bytes: x^(8 * 2^i).
constexpr auto kShiftByPowers = [] {
  std::array<uint32_t, 64> shifts{};
  uint32_t power = 0x00800000;  // x^8
  for (uint32_t& shift : shifts) {
    shift = power;
    power = product(power, power);
  }
  return shifts;
}();

}  // namespace

uint32_t crc32c_concat(uint32_t first, uint32_t second, uint64_t second_size) {
  for (size_t i = 0; second_size != 0; ++i, second_size >>= 1) {
    if (second_size % 2 != 0) first = product(kShiftByPowers[i], first);
  }
  return first ^ second;
}

}  // namespace recordpipe
