// CRC-32C: the portable implementation, the selection of an implementation for this processor (at
// the first use in the process), and the combination of CRCs.
#include "recordpipe/checksum/crc32c.h"

#include <array>

#include "dataset/checksum/crc32c_hardware.h"

namespace recordpipe {
namespace {

// Eight bytes per step, eight tables ("slicing by 8", Kounavis and Berry, "A systematic approach to
// building high performance software-based CRC generators", 2005).
// kTables[k][b]: the contribution of byte b followed by k more bytes.
constexpr auto kTables = [] {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc % 2 != 0 ? kCrc32cPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t crc = tables[k - 1][byte];
      tables[k][byte] = (crc >> 8) ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}();

uint32_t extend_portable(uint32_t crc, std::span<const std::byte> data) {
  const auto* next = reinterpret_cast<const uint8_t*>(data.data());
  size_t left = data.size();
  crc = ~crc;
  for (; left >= 8; left -= 8, next += 8) {
    crc = kTables[7][next[0] ^ (crc & 0xff)] ^ kTables[6][next[1] ^ ((crc >> 8) & 0xff)] ^
          kTables[5][next[2] ^ ((crc >> 16) & 0xff)] ^ kTables[4][next[3] ^ (crc >> 24)] ^
          kTables[3][next[4]] ^ kTables[2][next[5]] ^ kTables[1][next[6]] ^ kTables[0][next[7]];
  }
  for (; left > 0; --left, ++next) crc = (crc >> 8) ^ kTables[0][(*next ^ crc) & 0xff];
  return ~crc;
}

// In both factors, bit 31 is x^0 and bit 0 is x^31.
constexpr uint32_t product(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (; a != 0; a <<= 1) {
    sum ^= b & (0 - (a >> 31));  // without branches, which nobody could predict
    b = (b >> 1) ^ (kCrc32cPolynomial & (0 - (b & 1)));
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

uint32_t crc32c_extend(uint32_t crc, std::span<const std::byte> data) {
  static const auto extend = crc32c_implementations().back().extend;
  return extend(crc, data);
}

const std::vector<Crc32cImplementation>& crc32c_implementations() {
  static const std::vector<Crc32cImplementation> implementations = [] {
    std::vector<Crc32cImplementation> available = {{"portable", extend_portable}};
#if defined(__x86_64__)
    if (crc32c_hardware_supported()) available.push_back({"sse42", crc32c_extend_hardware});
#elif defined(__aarch64__)
    if (crc32c_hardware_supported()) available.push_back({"armv8", crc32c_extend_hardware});
#endif
    return available;
  }();
  return implementations;
}

// A CRC is moved past n bytes by multiplying it by x^(8n) modulo the polynomial, by binary
// exponentiation over the bits of n (as in zlib's crc32_combine).
uint32_t crc32c_concat(uint32_t first, uint32_t second, uint64_t second_size) {
  for (size_t i = 0; second_size != 0; ++i, second_size >>= 1) {
    if (second_size % 2 != 0) first = product(kShiftByPowers[i], first);
  }
  return first ^ second;
}

}  // namespace recordpipe
