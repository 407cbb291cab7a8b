// Compares the tutorial's distortions with values computed from their definitions.
#include "recordpipe/image/crop_flip_color.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "tests/image/golden_values.h"

namespace recordpipe {
namespace {

constexpr ImageSize kCifar = {32, 32};
constexpr ImageSize kCrop = {24, 24};

TEST(CropFlipColor, GoldenValues) {
  for (const GoldenImage& image : golden_images("recolored")) {
    const CropFlipColor distortion = {.top = static_cast<int>(image.window.top),
                                      .left = static_cast<int>(image.window.left),
                                      .flip = image.window.flip,
                                      .brightness = image.options["brightness"],
                                      .contrast = image.options["contrast"]};
    const bool standardize = image.options["standardize"];
    std::vector<float> out(image.expected.size());
    crop_flip_color(image.pixels, {image.window.image_height, image.window.image_width}, distortion,
                    image.format, reinterpret_cast<std::byte*>(out.data()),
                    standardize ? Standardize::yes : Standardize::no);
    const double spread = image.options["grey_level"];
    for (size_t i = 0; i < out.size(); ++i) {
      const double tolerance = 1e-6 + 2e-5 * spread + 1e-7 * std::abs(image.expected[i]);
      ASSERT_NEAR(out[i], image.expected[i], tolerance) << image.name << " value " << i;
    }
  }
}

TEST(CropFlipColor, StandardizesWhateverIsDrawn) {
  std::vector<uint8_t> image(3072);
  Random pixels(1, 0, 0);
  for (uint8_t& value : image) value = static_cast<uint8_t>(pixels.below(200));
  for (uint64_t i = 0; i < 50; ++i) {
    Random random(derive_key(7, 1), 0, i);
    const RecoloredCollator collator;
    ImageBatch batch;
    collator.reset(batch, 2);
    collator.set(batch, 1, {image, 4, CropFlipColor::draw(random, kCifar, kCrop)});
    EXPECT_EQ(batch.labels()[1], 4);
    const auto values = batch.floats().subspan(24 * 24 * 3);
    double sum = 0, squares = 0;
    for (const float value : values) {
      sum += value;
      squares += double{value} * value;
    }
    const auto n = static_cast<double>(values.size());
    ASSERT_NEAR(sum / n, 0, 1e-5);
    ASSERT_NEAR(squares / n, 1, 1e-5);
  }
}

TEST(CropFlipColor, DrawsWithinTheRangesAndTheImage) {
  bool flipped = false, unflipped = false;
  CropFlipColor least, most;
  least.top = least.left = 100;
  least.contrast = 100;
  for (uint64_t i = 0; i < 5000; ++i) {
    Random random(derive_key(3, 0), 0, i);
    const CropFlipColor drawn = CropFlipColor::draw(random, kCifar, kCrop);
    (drawn.flip ? flipped : unflipped) = true;
    const auto widen = [](auto& low, auto& high, auto value) {
      low = std::min(low, value);
      high = std::max(high, value);
    };
    widen(least.top, most.top, drawn.top);
    widen(least.left, most.left, drawn.left);
    widen(least.brightness, most.brightness, drawn.brightness);
    widen(least.contrast, most.contrast, drawn.contrast);
  }
  EXPECT_TRUE(flipped && unflipped);
  EXPECT_EQ(least.top, 0);
  EXPECT_EQ(most.top, 8);
  EXPECT_EQ(least.left, 0);
  EXPECT_EQ(most.left, 8);
  EXPECT_GE(least.brightness, -63);
  EXPECT_LT(least.brightness, -62);
  EXPECT_LT(most.brightness, 63);
  EXPECT_GT(most.brightness, 62);
  EXPECT_GE(least.contrast, 0.2f);
  EXPECT_LT(least.contrast, 0.21f);
  EXPECT_LT(most.contrast, 1.8f);
  EXPECT_GT(most.contrast, 1.79f);
}

TEST(CropFlipColor, TakesTheMiddleForEvaluation) {
  const auto place = [](size_t image, size_t crop) {
    const auto central = CropFlipColor::central({image, 32}, {crop, 24});
    EXPECT_EQ(central.left, 4);
    return central.top;
  };
  EXPECT_EQ(place(32, 24), 4);
  EXPECT_EQ(place(33, 24), 4);
  EXPECT_EQ(place(20, 24), -2);
  EXPECT_EQ(place(19, 24), -2);
  EXPECT_EQ(place(24, 24), 0);
}

TEST(CropFlipColor, RefusesWhatMakesNoSense) {
  Random random(1, 0, 0);
  EXPECT_THROW(CropFlipColor::draw(random, kCrop, kCifar), Error);
  EXPECT_THROW(CropFlipColor::draw(random, kCifar, kCrop, {.max_brightness = -1}), Error);
  EXPECT_THROW(CropFlipColor::draw(random, kCifar, kCrop, {.min_contrast = 0}), Error);
  EXPECT_THROW(CropFlipColor::draw(random, kCifar, kCrop, {.min_contrast = 2}), Error);

  const std::vector<uint8_t> image(3072);
  std::vector<std::byte> out(4 * 3072);
  const auto write = [&](const CropFlipColor& distortion, const ImageFormat& format) {
    crop_flip_color(image, kCifar, distortion, format, out.data());
  };
  const ImageFormat format = {.height = 24, .width = 24};
  EXPECT_NO_THROW(write({}, format));
  EXPECT_THROW(write({.contrast = 0}, format), Error);
  EXPECT_THROW(write({}, {.height = 24, .width = 24, .channels = 1}), Error);
  EXPECT_THROW(write({}, {.height = 24, .width = 24, .dtype = DType::uint8}), Error);
}

}  // namespace
}  // namespace recordpipe
