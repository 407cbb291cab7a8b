// Defines the 16-bit floating-point types of batches: IEEE 754 binary16 and bfloat16.
//
// Both types are storage formats: compute in float and convert once. Conversions round to nearest,
// ties to even. Infinities stay infinities; NaNs become quiet and keep the upper bits of their
// payload, as with the F16C instructions.
#pragma once

#include <bit>
#include <cstdint>

namespace recordpipe {

// 1 sign bit, 5 exponent bits, 10 mantissa bits: up to 65504; integers up to 2048 are exact.
struct Float16 {
  uint16_t bits = 0;
  bool operator==(const Float16&) const = default;
};

// The upper half of a float: 8 exponent bits, 7 mantissa bits; integers up to 256 are exact.
struct BFloat16 {
  uint16_t bits = 0;
  bool operator==(const BFloat16&) const = default;
};

// Magnitudes of 65520 and above give infinity, magnitudes of 2^-25 and below give zero; the sign is
// kept.
constexpr Float16 to_float16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  uint32_t half = 0;
  if (magnitude > 0x7F800000) {  // NaN
    half = 0x7E00 | ((magnitude >> 13) & 0x1FF);
  } else if (magnitude >= 0x47800000) {  // 65536 and above
    half = 0x7C00;
  } else if (magnitude >= 0x38800000) {  // 2^-14 and above: normal
    half = (magnitude - 0x38000000 + 0xFFF + ((magnitude >> 13) & 1)) >> 13;
  } else {  // adding 0.5 puts the multiple of 2^-24, rounded by the hardware, into the low bits
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    half = std::bit_cast<uint32_t>(rounded) - 0x3F000000;
  }
  return {static_cast<uint16_t>(sign | half)};
}

constexpr float to_float(Float16 value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000) << 16;
  const uint32_t magnitude = value.bits & 0x7FFF;
  uint32_t bits = 0;
  if (magnitude >= 0x7C00) {  // infinity or NaN
    bits = 0x7F800000 | (magnitude & 0x3FF) << 13;
  } else if (magnitude >= 0x400) {
    bits = (magnitude << 13) + 0x38000000;
  } else {  // a multiple of 2^-24
    bits = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
  }
  return std::bit_cast<float>(sign | bits);
}

constexpr BFloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const bool nan = (bits & 0x7FFFFFFF) > 0x7F800000;
  const uint32_t upper = nan ? (bits >> 16) | 0x40 : (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  return {static_cast<uint16_t>(upper)};
}

constexpr float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

}  // namespace recordpipe
