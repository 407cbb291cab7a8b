// CRC-32C with the processor's CRC instructions: SSE4.2's, or ARMv8's, which are optional in
// ARMv8.0. Their latency is about three times their throughput, so three adjacent blocks are
// computed at once and combined by a carry-less multiplication (PCLMULQDQ, PMULL).
#include "dataset/checksum/crc32c_hardware.h"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#include <wmmintrin.h>
#define RECORDPIPE_TARGET __attribute__((target("sse4.2,crc32,pclmul")))
#else
#include <arm_acle.h>
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#define RECORDPIPE_TARGET __attribute__((target("arch=armv8-a+crc+crypto")))
#endif
// The target is set per function, not for the whole file: the inline functions that this file
// shares with others must run on every processor.

namespace recordpipe {
namespace {

// The longest block, in words of eight bytes. Three blocks are 6 KiB: a record of a few kilobytes
// takes one round.
constexpr size_t kMaxBlockWords = 256;
// Below this size, the three-way split does not pay off.
constexpr size_t kMinBlockWords = 8;

// In a reflected CRC register, bit 31 is x^0 and bit 0 is x^31. The carry-less product of two
// registers a and b, fed as eight bytes to the CRC instruction (which multiplies by x^32 and
// reduces), gives a·b·x^33 modulo the polynomial. Therefore kShift[n] = x^(64n - 33), n > 0, moves
// a CRC past n words of eight bytes; two blocks are the longest shift. (Gopal et al., "Fast CRC
// computation for iSCSI polynomial using CRC32 instruction", Intel 2011.)
constexpr auto kShift = [] {
  std::array<uint32_t, 2 * kMaxBlockWords + 1> shift{};
  uint32_t power = 0x80000000;  // x^0
  for (size_t exponent = 1; exponent <= 64 * (shift.size() - 1) - 33; ++exponent) {
    power = (power >> 1) ^ (power % 2 != 0 ? kCrc32cPolynomial : 0);
    if (exponent % 64 == 31) shift[exponent / 64 + 1] = power;
  }
  return shift;
}();

#if defined(__x86_64__)
RECORDPIPE_TARGET inline uint64_t add_word(uint64_t crc, uint64_t word) {
  return _mm_crc32_u64(crc, word);
}
RECORDPIPE_TARGET inline uint64_t add_byte(uint64_t crc, uint8_t byte) {
  return _mm_crc32_u8(static_cast<uint32_t>(crc), byte);
}
RECORDPIPE_TARGET inline uint64_t carryless_product(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(
      _mm_cvtsi128_si64(_mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(a)),
                                             _mm_cvtsi64_si128(static_cast<long long>(b)), 0)));
}
#else
RECORDPIPE_TARGET inline uint64_t add_word(uint64_t crc, uint64_t word) {
  return __crc32cd(static_cast<uint32_t>(crc), word);
}
RECORDPIPE_TARGET inline uint64_t add_byte(uint64_t crc, uint8_t byte) {
  return __crc32cb(static_cast<uint32_t>(crc), byte);
}
RECORDPIPE_TARGET inline uint64_t carryless_product(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(vmull_p64(a, b));
}
#endif

RECORDPIPE_TARGET inline uint64_t load_word(const uint8_t* from) {
  uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

}  // namespace

bool crc32c_hardware_supported() {
#if defined(__x86_64__)
  // Not __builtin_cpu_supports(): Zig's runtime library always answers no.
  constexpr unsigned kNeeded = bit_SSE4_2 | bit_PCLMUL;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & kNeeded) == kNeeded;
#else
  constexpr unsigned long kNeeded = HWCAP_CRC32 | HWCAP_PMULL;
  return (getauxval(AT_HWCAP) & kNeeded) == kNeeded;
#endif
}

// Aligned: where the linker put the loop would decide a fifth of the speed.
[[gnu::aligned(64)]] RECORDPIPE_TARGET uint32_t
crc32c_extend_hardware(uint32_t crc, std::span<const std::byte> data) {
  const auto* next = reinterpret_cast<const uint8_t*>(data.data());
  size_t left = data.size();
  uint64_t crc0 = ~crc;
  while (left >= 3 * 8 * kMinBlockWords) {
    const size_t words = std::min(left / 24, kMaxBlockWords);
    const size_t block = 8 * words;
    uint64_t crc1 = 0;
    uint64_t crc2 = 0;
    for (const uint8_t* end = next + block; next != end; next += 8) {
      crc0 = add_word(crc0, load_word(next));
      crc1 = add_word(crc1, load_word(next + block));
      crc2 = add_word(crc2, load_word(next + 2 * block));
    }
    crc0 = crc2 ^ add_word(0, carryless_product(crc0, kShift[2 * words]) ^
                                  carryless_product(crc1, kShift[words]));
    next += 2 * block;
    left -= 3 * block;
  }
  for (; left >= 8; left -= 8, next += 8) crc0 = add_word(crc0, load_word(next));
  for (; left > 0; --left, ++next) crc0 = add_byte(crc0, *next);
  return ~static_cast<uint32_t>(crc0);
}

}  // namespace recordpipe
