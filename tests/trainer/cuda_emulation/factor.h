// Rounds a factor as tensor cores do.
#pragma once

#include <bit>
#include <cstdint>

#include "trainer/backend/cuda/kernels/element.h"

namespace recordpipe::cuda {

// With `tf32`, rounds to TF32's 10 bits of mantissa, ties away from zero.
template <class T>
float factor(T value, bool tf32) {
  const float wide = widen(value);
  if (!tf32) return wide;
  return std::bit_cast<float>((std::bit_cast<uint32_t>(wide) + 0x1000) & 0xFFFFE000);
}

}  // namespace recordpipe::cuda
