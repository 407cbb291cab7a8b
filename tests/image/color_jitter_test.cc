// Colour jitter: the implementations beside each other, the changes beside their definitions.
#include "recordpipe/image/color_jitter.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

std::vector<uint8_t> random_values(size_t count, uint64_t index) {
  Random random(derive_key(31, 0), 0, index);
  std::vector<uint8_t> values(count);
  for (uint8_t& value : values) value = static_cast<uint8_t>(random.below(256));
  return values;
}

// Every third red, with extremes: [3, count].
std::vector<uint8_t> many_colors() {
  std::vector<uint8_t> red, green, blue;
  for (int r = 0; r <= 255; r += 3) {
    for (const int g : {0, 1, 2, 17, 100, 127, 128, 200, 254, 255}) {
      for (const int b : {0, 1, 64, 99, 100, 101, 180, 255}) {
        red.push_back(static_cast<uint8_t>(r));
        green.push_back(static_cast<uint8_t>(g));
        blue.push_back(static_cast<uint8_t>(b));
      }
    }
  }
  red.insert(red.end(), green.begin(), green.end());
  red.insert(red.end(), blue.begin(), blue.end());
  return red;
}

TEST(ColorJitter, ImplementationsComputeTheSameBytes) {
  const auto ranges = ColorJitterRanges::around(0.8f, 0.8f, 0.8f, 0.5f);
  for (uint64_t i = 0; i < 200; ++i) {
    const size_t channels = i % 5 == 0 ? 1 : 3;
    const std::vector<uint8_t> image =
        i % 7 == 0 && channels == 3 ? many_colors() : random_values(channels * (1 + i * 3), i);
    Random random(derive_key(5, 0), 0, i);
    const ColorJitter jitter = ColorJitter::draw(random, ranges);
    std::vector<uint8_t> expected = image, got = image;
    color_jitter_implementations().front().apply(expected, channels, jitter);
    color_jitter_implementations().back().apply(got, channels, jitter);
    ASSERT_EQ(got, expected) << i;
    color_jitter(std::span(got = image), channels, jitter);
    ASSERT_EQ(got, expected) << i;
  }
}

TEST(ColorJitter, NoChangeChangesNothing) {
  const std::vector<uint8_t> image = many_colors();
  Random random(1, 2, 3);
  std::vector<uint8_t> got = image;
  color_jitter(got, 3, ColorJitter::draw(random, {}));
  EXPECT_EQ(got, image);
}

TEST(ColorJitter, SingleChanges) {
  const std::vector<uint8_t> image = {10, 100, 200, 255, 40, 0};  // [3, 2]
  const auto changed = [&](const ColorJitter& jitter) {
    std::vector<uint8_t> got = image;
    color_jitter(got, 3, jitter);
    return got;
  };
  EXPECT_EQ(changed({.brightness = 0.5f}), (std::vector<uint8_t>{5, 50, 100, 127, 20, 0}));
  EXPECT_EQ(changed({.brightness = 3}), (std::vector<uint8_t>{30, 255, 255, 255, 120, 0}));
  // The grey values are 124 (10, 200, 40) and 179 (100, 255, 0): their mean is 151.5, and blends
  // are rounded down.
  EXPECT_EQ(changed({.contrast = 0}), (std::vector<uint8_t>(6, 151)));
  EXPECT_EQ(changed({.contrast = 2}), (std::vector<uint8_t>{0, 48, 248, 255, 0, 0}));
  EXPECT_EQ(changed({.saturation = 0}), (std::vector<uint8_t>{124, 179, 124, 179, 124, 179}));
  // A third of a turn exchanges the channels.
  const std::vector<uint8_t> turned = changed({.hue = 1 / 3.0f});
  const std::vector<uint8_t> expected = {40, 0, 10, 100, 200, 255};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(turned[i], expected[i], 1) << i;
}

TEST(ColorJitter, TheOrderMatters) {
  std::vector<uint8_t> bright_first = {100, 200, 10}, contrast_first = bright_first;
  using enum ColorChange;
  color_jitter(bright_first, 1, {{brightness, contrast, saturation, hue}, 2, 0.5f, 1, 0});
  color_jitter(contrast_first, 1, {{contrast, hue, saturation, brightness}, 2, 0.5f, 1, 0});
  EXPECT_NE(bright_first, contrast_first);
}

TEST(ColorJitter, DrawsEveryOrderAndTheWholeRange) {
  const ColorJitterRanges ranges = ColorJitterRanges::around(0.4f, 2, 0.5f, 0.1f);
  EXPECT_EQ(ranges.min_contrast, 0);
  EXPECT_EQ(ranges.max_contrast, 3);
  std::map<std::array<ColorChange, 4>, int> orders;
  float low = 9, high = -9;
  for (uint64_t i = 0; i < 2400; ++i) {
    Random random(derive_key(8, 0), 0, i);
    const ColorJitter jitter = ColorJitter::draw(random, ranges);
    ++orders[jitter.order];
    low = std::min(low, jitter.hue);
    high = std::max(high, jitter.hue);
    EXPECT_GE(jitter.brightness, 0.6f);
    EXPECT_LE(jitter.brightness, 1.4f);
  }
  EXPECT_EQ(orders.size(), 24);
  for (const auto& [order, count] : orders) EXPECT_GT(count, 50);  // of 100 on average
  EXPECT_LT(low, -0.099f);
  EXPECT_GT(high, 0.099f);
}

TEST(ColorJitter, WrongRangesAndChannels) {
  for (const ColorJitterRanges& ranges :
       {ColorJitterRanges{.min_brightness = -0.1f}, ColorJitterRanges{.max_contrast = 0.5f},
        ColorJitterRanges::around(0, 0, 0, 0.6f),
        ColorJitterRanges{.max_saturation = std::numeric_limits<float>::infinity()},
        ColorJitterRanges{.min_hue = std::numeric_limits<float>::quiet_NaN()}}) {
    EXPECT_EQ(error_of([&] { check(ranges); }).kind(), ErrorKind::invalid_argument);
  }
  std::vector<uint8_t> image(8);
  EXPECT_EQ(error_of([&] { color_jitter(image, 4, {}); }).kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(error_of([&] { color_jitter(image, 3, {}); }).kind(), ErrorKind::invalid_argument);
}

}  // namespace
}  // namespace recordpipe
