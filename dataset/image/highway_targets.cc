// What Highway's library provides and its dispatch needs, without that library
// (RECORDPIPE_STANDALONE): which of Highway's instruction sets this processor has. GCC's names of
// microarchitecture levels include the check whether the system saves the registers.
#include <cstdint>

#include <hwy/targets.h>

namespace hwy {

int64_t SupportedTargets() {
  int64_t targets = HWY_SCALAR | HWY_EMU128;
#if HWY_ARCH_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("ssse3")) targets |= HWY_SSSE3;
  if (__builtin_cpu_supports("x86-64-v2") && __builtin_cpu_supports("aes") &&
      __builtin_cpu_supports("pclmul")) {
    targets |= HWY_SSE4;
    if (__builtin_cpu_supports("x86-64-v3")) targets |= HWY_AVX2;
    if (__builtin_cpu_supports("x86-64-v4")) targets |= HWY_AVX3;
  }
#else
  targets |= HWY_STATIC_TARGET;  // compiled without asking
#endif
  return targets;
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
