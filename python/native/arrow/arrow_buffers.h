// Reads values out of the buffers of Arrow arrays.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "python/native/arrow/arrow_abi.h"

namespace recordpipe::python {

inline bool bit(const void* bits, int64_t i) {
  return (static_cast<const uint8_t*>(bits)[i / 8] >> i % 8 & 1) != 0;
}

// `place` counts the array's offset.
inline bool is_null(const ArrowArray& array, int64_t place) {
  return array.n_buffers > 0 && array.buffers[0] && array.null_count != 0 &&
         !bit(array.buffers[0], place);
}

// A value of a buffer, which need not be aligned.
template <class T>
T load(const void* buffer, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(buffer) + i * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

inline float from_half(uint16_t half) {
  const bool negative = half >> 15 != 0;
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  float value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                              : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  if (exponent == 31) {
    value = fraction == 0 ? std::numeric_limits<float>::infinity()
                          : std::numeric_limits<float>::quiet_NaN();
  }
  return negative ? -value : value;
}

}  // namespace recordpipe::python
