#include "recordpipe/image/resized_crop.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/philox.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

Random numbers_of(uint64_t element) { return {derive_key(11, 0), 0, element}; }

TEST(ResizedCrop, DrawnCropsKeepTheRanges) {
  const ImageSize image{375, 500};
  double areas = 0;
  int flips = 0;
  double least = 1, most = 0;
  constexpr int kCrops = 4000;
  for (int i = 0; i < kCrops; ++i) {
    Random random = numbers_of(static_cast<uint64_t>(i));
    const ResizedCrop drawn = ResizedCrop::draw(random, image, {224, 224}, {.flip = true});
    const ImagePart& crop = drawn.crop;
    ASSERT_TRUE(crop.is_inside(image));
    EXPECT_EQ(drawn.resized.from, crop.size());
    EXPECT_EQ(drawn.resized.window, (ImagePart{0, 0, 224, 224}));
    const double area = static_cast<double>(crop.height * crop.width) / (375.0 * 500);
    const double ratio = static_cast<double>(crop.width) / static_cast<double>(crop.height);
    ASSERT_GT(area, 0.078);
    ASSERT_GT(ratio, 0.74);
    ASSERT_LT(ratio, 1.35);
    areas += area / kCrops;
    least = std::min(least, area);
    most = std::max(most, area);
    flips += drawn.resized.flip ? 1 : 0;
  }
  // Large crops fit less often, so the mean is below that of the range, 0.54. torchvision: 0.43.
  EXPECT_NEAR(areas, 0.43, 0.02);
  EXPECT_LT(least, 0.1);
  EXPECT_GT(most, 0.95);
  EXPECT_NEAR(flips, kCrops / 2, 150);
}

TEST(ResizedCrop, DrawnCropsAreThoseOfTheElement) {
  for (uint64_t element : {0, 1, 77}) {
    Random a = numbers_of(element);
    Random b = numbers_of(element);
    EXPECT_EQ(ResizedCrop::draw(a, {100, 90}, {32, 32}).crop,
              ResizedCrop::draw(b, {100, 90}, {32, 32}).crop);
    Random other = numbers_of(element + 1);
    Random c = numbers_of(element);
    EXPECT_NE(ResizedCrop::draw(c, {100, 90}, {32, 32}).crop,
              ResizedCrop::draw(other, {100, 90}, {32, 32}).crop);
  }
}

TEST(ResizedCrop, AnImageOfAnExtremeRatioIsCroppedInTheCentre) {
  for (uint64_t i = 0; i < 20; ++i) {
    Random random = numbers_of(i);
    EXPECT_EQ(ResizedCrop::draw(random, {10, 1000}, {8, 8}, {.min_scale = 0.9}).crop,
              (ImagePart{0, 493, 10, 13}));
    EXPECT_EQ(ResizedCrop::draw(random, {1000, 30}, {8, 8}, {.min_scale = 0.9}).crop,
              (ImagePart{480, 0, 40, 30}));
    const ResizedCrop point = ResizedCrop::draw(random, {1, 1}, {8, 8});
    EXPECT_EQ(point.crop, (ImagePart{0, 0, 1, 1}));
    EXPECT_FALSE(point.resized.flip);
  }
}

TEST(ResizedCrop, RefusesOtherRanges) {
  for (const CropRanges& ranges :
       {CropRanges{.min_scale = 0}, CropRanges{.max_scale = 1.1},
        CropRanges{.min_scale = 0.5, .max_scale = 0.4}, CropRanges{.min_ratio = 0},
        CropRanges{.min_ratio = 2, .max_ratio = 1}, CropRanges{.max_ratio = INFINITY},
        CropRanges{.min_scale = NAN}}) {
    Random random = numbers_of(0);
    EXPECT_EQ(error_of([&] {
                ResizedCrop::draw(random, {9, 9}, {4, 4}, ranges);
              }).kind(),
              ErrorKind::invalid_argument);
  }
}

TEST(ResizedCrop, TheShortSide) {
  EXPECT_EQ(size_of_short_side({375, 500}, 256), (ImageSize{256, 341}));
  EXPECT_EQ(size_of_short_side({500, 375}, 256), (ImageSize{341, 256}));
  EXPECT_EQ(size_of_short_side({3, 3}, 100), (ImageSize{100, 100}));
  EXPECT_EQ(error_of([&] {
              size_of_short_side({1, 1 << 20}, 2);
            }).kind(),
            ErrorKind::limit_exceeded);
}

TEST(ResizedCrop, TheCentreNeedsOnlyItsPart) {
  const ImageSize image{375, 500};
  const ImageSize to = size_of_short_side(image, 256);
  const ResizedCrop central = ResizedCrop::central(image, to, {224, 224});
  // (341 - 224) / 2 = 58.5
  EXPECT_EQ(central.resized.window, (ImagePart{16, 58, 224, 224}));
  EXPECT_EQ(ResizedCrop::central(image, {256, 343}, {224, 224}).resized.window.left, 60u);
  const ImagePart source = central.source();
  EXPECT_TRUE(source.is_inside(image));
  EXPECT_LT(source.width, 340u);
  EXPECT_GT(source.left, 80u);
  EXPECT_EQ(error_of([&] {
              ResizedCrop::central(image, {256, 200}, {224, 224});
            }).kind(),
            ErrorKind::unsupported);
}

TEST(ResizedCrop, TheSourceIsInTheCrop) {
  for (uint64_t i = 0; i < 50; ++i) {
    Random random = numbers_of(i);
    ResizedCrop drawn = ResizedCrop::draw(random, {80, 120}, {16, 16});
    EXPECT_EQ(drawn.source(), drawn.crop);
    drawn.resized.window = {4, 4, 3, 3};
    const ImagePart source = drawn.source();
    EXPECT_GE(source.top, drawn.crop.top);
    EXPECT_LE(source.top + source.height, drawn.crop.top + drawn.crop.height);
    EXPECT_LT(source.height, drawn.crop.height);
  }
}

}  // namespace
}  // namespace recordpipe
