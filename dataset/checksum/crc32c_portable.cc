// CRC-32C in portable C++: eight bytes per step, eight tables ("slicing by 8", Kounavis and Berry,
// "A systematic approach to building high performance software-based CRC generators", 2005).
#include <array>

#include "dataset/checksum/crc32c_implementations.h"

namespace recordpipe {
namespace {

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

}  // namespace

uint32_t crc32c_extend_portable(uint32_t crc, std::span<const std::byte> data) {
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

}  // namespace recordpipe
