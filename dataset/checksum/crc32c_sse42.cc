// CRC-32C with SSE4.2's CRC32 instruction, which has a latency of three cycles and a throughput of
// one: three adjacent blocks are computed at once and combined by PCLMULQDQ (crc32c_shift.h).
#include <algorithm>
#include <cstring>

#include <nmmintrin.h>
#include <wmmintrin.h>

#include "dataset/checksum/crc32c_implementations.h"
#include "dataset/checksum/crc32c_shift.h"

// Per function, not for the whole file: the inline functions that this file shares with others must
// run on every processor.
#define RECORDPIPE_TARGET __attribute__((target("sse4.2,pclmul")))

namespace recordpipe {
namespace {

RECORDPIPE_TARGET inline uint64_t load_word(const uint8_t* from) {
  uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

RECORDPIPE_TARGET inline uint64_t shifted(uint64_t crc, size_t words) {
  const __m128i product =
      _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(crc)),
                           _mm_cvtsi64_si128(static_cast<long long>(kCrc32cShift[words])), 0);
  return static_cast<uint64_t>(_mm_cvtsi128_si64(product));
}

}  // namespace

bool crc32c_sse42_supported() {
  return __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("pclmul") != 0;
}

RECORDPIPE_TARGET uint32_t crc32c_extend_sse42(uint32_t crc, std::span<const std::byte> data) {
  // Below this size, the three-way split does not pay off.
  constexpr size_t kMinBlockWords = 8;
  const auto* next = reinterpret_cast<const uint8_t*>(data.data());
  size_t left = data.size();
  uint64_t crc0 = ~crc;
  while (left >= 3 * 8 * kMinBlockWords) {
    const size_t words = std::min(left / 24, kCrc32cMaxBlockWords);
    const size_t block = 8 * words;
    uint64_t crc1 = 0;
    uint64_t crc2 = 0;
    for (const uint8_t* end = next + block; next != end; next += 8) {
      crc0 = _mm_crc32_u64(crc0, load_word(next));
      crc1 = _mm_crc32_u64(crc1, load_word(next + block));
      crc2 = _mm_crc32_u64(crc2, load_word(next + 2 * block));
    }
    crc0 = crc2 ^ _mm_crc32_u64(0, shifted(crc0, 2 * words) ^ shifted(crc1, words));
    next += 2 * block;
    left -= 3 * block;
  }
  for (; left >= 8; left -= 8, next += 8) crc0 = _mm_crc32_u64(crc0, load_word(next));
  auto crc32 = static_cast<uint32_t>(crc0);
  for (; left > 0; --left, ++next) crc32 = _mm_crc32_u8(crc32, *next);
  return ~crc32;
}

}  // namespace recordpipe
