// CRC-32C with ARMv8's CRC32C instructions: three adjacent blocks at once, combined by PMULL
// (crc32c_shift.h). The instructions are optional in ARMv8.0 and detected at run time.
#include <algorithm>
#include <cstring>

#include <arm_acle.h>
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "dataset/checksum/crc32c_implementations.h"
#include "dataset/checksum/crc32c_shift.h"

// Per function, not for the whole file: the inline functions that this file shares with others must
// run on every processor.
#define RECORDPIPE_TARGET __attribute__((target("arch=armv8-a+crc+crypto")))

namespace recordpipe {
namespace {

RECORDPIPE_TARGET inline uint64_t load_word(const uint8_t* from) {
  uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

RECORDPIPE_TARGET inline uint64_t shifted(uint32_t crc, size_t words) {
  return static_cast<uint64_t>(vmull_p64(crc, kCrc32cShift[words]));
}

}  // namespace

bool crc32c_armv8_supported() {
  constexpr unsigned long kNeeded = HWCAP_CRC32 | HWCAP_PMULL;
  return (getauxval(AT_HWCAP) & kNeeded) == kNeeded;
}

RECORDPIPE_TARGET uint32_t crc32c_extend_armv8(uint32_t crc, std::span<const std::byte> data) {
  // Below this size, the three-way split does not pay off.
  constexpr size_t kMinBlockWords = 8;
  const auto* next = reinterpret_cast<const uint8_t*>(data.data());
  size_t left = data.size();
  uint32_t crc0 = ~crc;
  while (left >= 3 * 8 * kMinBlockWords) {
    const size_t words = std::min(left / 24, kCrc32cMaxBlockWords);
    const size_t block = 8 * words;
    uint32_t crc1 = 0;
    uint32_t crc2 = 0;
    for (const uint8_t* end = next + block; next != end; next += 8) {
      crc0 = __crc32cd(crc0, load_word(next));
      crc1 = __crc32cd(crc1, load_word(next + block));
      crc2 = __crc32cd(crc2, load_word(next + 2 * block));
    }
    crc0 = crc2 ^ __crc32cd(0, shifted(crc0, 2 * words) ^ shifted(crc1, words));
    next += 2 * block;
    left -= 3 * block;
  }
  for (; left >= 8; left -= 8, next += 8) crc0 = __crc32cd(crc0, load_word(next));
  for (; left > 0; --left, ++next) crc0 = __crc32cb(crc0, *next);
  return ~crc0;
}

}  // namespace recordpipe
