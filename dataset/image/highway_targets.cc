// What Highway's library provides and its dispatch needs, without that library: which of Highway's
// instruction sets this processor has, by the features that Highway's targets.cc requires of each.
// Weak symbols: a program may also use the library.
#include <cstdint>

#include <hwy/targets.h>

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace hwy {

#if HWY_ARCH_X86
namespace {

struct Registers {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zero if the processor doesn't know the leaf.
Registers cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Registers found;
  const int known =
      __get_cpuid_count(leaf, subleaf, &found.eax, &found.ebx, &found.ecx, &found.edx);
  return known != 0 ? found : Registers();
}

// Which registers the system saves when it changes threads: XCR0.
uint32_t saved_registers() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

constexpr bool has_all(uint32_t value, uint32_t bits) { return (value & bits) == bits; }

// Bits of cpuid(1).ecx.
constexpr uint32_t kPclmul = 1u << 1, kSsse3 = 1u << 9, kFma = 1u << 12, kSse41 = 1u << 19,
                   kSse42 = 1u << 20, kAes = 1u << 25, kOsxsave = 1u << 27, kAvx = 1u << 28,
                   kF16c = 1u << 29;
// Of cpuid(0x80000001).ecx.
constexpr uint32_t kLzcnt = 1u << 5;
// Of cpuid(7).ebx: BMI1, AVX2 and BMI2; AVX-512 F, DQ, CD, BW and VL.
constexpr uint32_t kAvx2 = 1u << 3 | 1u << 5 | 1u << 8;
constexpr uint32_t kAvx3 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
// Of cpuid(7).ecx: VBMI, VBMI2, GFNI, VAES, VPCLMULQDQ, VNNI, BITALG and VPOPCNTDQ.
constexpr uint32_t kAvx3Dl =
    1u << 1 | 1u << 6 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 11 | 1u << 12 | 1u << 14;
[[maybe_unused]] constexpr uint32_t kFp16 = 1u << 23;  // of cpuid(7).edx
constexpr uint32_t kBf16 = 1u << 5;                    // of cpuid(7, 1).eax
// Of XCR0.
constexpr uint32_t kYmm = 1u << 1 | 1u << 2;
constexpr uint32_t kZmm = kYmm | 1u << 5 | 1u << 6 | 1u << 7;

int64_t x86_targets() {
  const Registers first = cpuid(1), seventh = cpuid(7);
  int64_t targets = 0;
  if (!has_all(first.ecx, kSsse3)) return targets;
  targets |= HWY_SSSE3;
  if (!has_all(first.ecx, kSse41 | kSse42 | kAes | kPclmul)) return targets;
  targets |= HWY_SSE4;
  if (!has_all(first.ecx, kOsxsave | kAvx | kFma | kF16c) || !has_all(seventh.ebx, kAvx2) ||
      !has_all(cpuid(0x80000001).ecx, kLzcnt)) {
    return targets;
  }
  const uint32_t saved = saved_registers();
  if (!has_all(saved, kYmm)) return targets;
  targets |= HWY_AVX2;
  if (!has_all(saved, kZmm) || !has_all(seventh.ebx, kAvx3)) return targets;
  targets |= HWY_AVX3;
  if (!has_all(seventh.ecx, kAvx3Dl)) return targets;
  targets |= HWY_AVX3_DL;
  if (!has_all(cpuid(7, 1).eax, kBf16)) return targets;
#ifdef HWY_AVX3_ZEN4
  targets |= HWY_AVX3_ZEN4;
#endif
#ifdef HWY_AVX3_SPR
  if (has_all(seventh.edx, kFp16)) targets |= HWY_AVX3_SPR;
#endif
  return targets;
}

}  // namespace
#endif

[[gnu::weak]] int64_t SupportedTargets() {
#if HWY_ARCH_X86
  return HWY_SCALAR | HWY_EMU128 | x86_targets();
#else
  return HWY_SCALAR | HWY_EMU128 | HWY_STATIC_TARGET;  // compiled without asking
#endif
}

[[gnu::weak]] ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
