// Tests conversions to and from binary16 and bfloat16.
#include "recordpipe/image/half.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace recordpipe {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Returns the value of `half`, by the definition of binary16.
double meaning(Float16 half) {
  const int exponent = (half.bits >> 10) & 31;
  const int mantissa = half.bits & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (half.bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Float16, EveryFiniteValueGoesThereAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Float16 half{static_cast<uint16_t>(bits)};
    if ((bits & 0x7C00) == 0x7C00) continue;
    ASSERT_EQ(to_float(half), meaning(half)) << bits;
    ASSERT_EQ(to_float16(to_float(half)), half) << bits;
  }
}

// Rounds values close to the midpoint between each value and the next one.
TEST(Float16, RoundsToNearestTiesToEven) {
  for (uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const Float16 low{static_cast<uint16_t>(bits)};
    const Float16 high{static_cast<uint16_t>(bits + 1)};
    const auto middle = static_cast<float>((meaning(low) + meaning(high)) / 2);
    const Float16 even = bits % 2 == 0 ? low : high;
    for (const float sign : {1.0f, -1.0f}) {
      const auto with_sign = [&](Float16 half) { return to_float16(sign * to_float(half)); };
      ASSERT_EQ(to_float16(sign * middle), with_sign(even)) << bits;
      ASSERT_EQ(to_float16(sign * std::nextafter(middle, 0.0f)), with_sign(low)) << bits;
      ASSERT_EQ(to_float16(sign * std::nextafter(middle, kInfinity)), with_sign(high)) << bits;
    }
  }
}

TEST(Float16, BeyondItsRange) {
  EXPECT_EQ(to_float16(65519.996f).bits, 0x7BFF);
  EXPECT_EQ(to_float16(65520.0f).bits, 0x7C00);
  EXPECT_EQ(to_float16(-1e30f).bits, 0xFC00);
  EXPECT_EQ(to_float16(kInfinity).bits, 0x7C00);
  EXPECT_EQ(to_float16(-1e-30f).bits, 0x8000);
  EXPECT_EQ(to_float(Float16{0xFC00}), -kInfinity);
  EXPECT_TRUE(std::isnan(to_float(Float16{0x7E01})));
}

TEST(Float16, KeepsWhatItCanOfNans) {
  EXPECT_EQ(to_float16(std::bit_cast<float>(0x7F800001u)).bits, 0x7E00);
  EXPECT_EQ(to_float16(std::bit_cast<float>(0xFFC02000u)).bits, 0xFE01);
}

TEST(BFloat16, EveryFiniteValueGoesThereAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const BFloat16 value{static_cast<uint16_t>(bits)};
    if ((bits & 0x7F80) == 0x7F80) continue;
    ASSERT_EQ(to_bfloat16(to_float(value)), value) << bits;
  }
}

TEST(BFloat16, RoundsToNearestTiesToEven) {
  for (uint32_t bits = 0; bits < 0x7F7F; ++bits) {
    const uint32_t middle = bits << 16 | 0x8000;
    const auto at = [](uint32_t pattern) { return to_bfloat16(std::bit_cast<float>(pattern)); };
    ASSERT_EQ(at(middle).bits, bits + bits % 2);
    ASSERT_EQ(at(middle - 1).bits, bits);
    ASSERT_EQ(at(middle + 1).bits, bits + 1);
  }
}

TEST(BFloat16, BeyondItsRange) {
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7F80);
  EXPECT_EQ(to_bfloat16(-kInfinity).bits, 0xFF80);
  EXPECT_EQ(to_bfloat16(std::bit_cast<float>(0x7F800001u)).bits, 0x7FC0);
}

}  // namespace
}  // namespace recordpipe
