// Compares the resize in each of this processor's instruction sets with plain loops, byte for byte,
// and the plain loops with a direct evaluation of the filters.
#include "recordpipe/image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include "recordpipe/base/philox.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

constexpr Interpolation kInterpolations[] = {Interpolation::nearest, Interpolation::bilinear,
                                             Interpolation::bicubic};

std::vector<Resampling> all_resamplings() {
  std::vector<Resampling> all;
  for (const Interpolation interpolation : kInterpolations) {
    for (const bool antialias : {false, true}) all.push_back({interpolation, antialias});
  }
  return all;
}

// Pixels in a heap block of their exact size, so that AddressSanitizer detects accesses beyond it.
struct Pixels {
  ImageSize size;
  size_t channels;
  std::unique_ptr<uint8_t[]> bytes;

  Pixels(ImageSize s, size_t n, uint64_t index)
      : size(s), channels(n), bytes(new uint8_t[s.height * s.width * n]) {
    Random random(derive_key(3, 0), 0, index);
    for (size_t i = 0; i < count(); ++i) bytes[i] = static_cast<uint8_t>(random());
  }
  size_t count() const { return size.height * size.width * channels; }
  int at(size_t y, size_t x, size_t c) const { return bytes[(y * size.width + x) * channels + c]; }
  std::vector<uint8_t> part(const ImagePart& part) const {
    std::vector<uint8_t> out;
    for (size_t y = part.top; y < part.top + part.height; ++y) {
      const uint8_t* const row = bytes.get() + (y * size.width + part.left) * channels;
      out.insert(out.end(), row, row + part.width * channels);
    }
    return out;
  }
};

std::vector<uint8_t> resized_by(const ResizeImplementation& implementation, const Pixels& image,
                                const Resized& resized, Layout layout = Layout::nhwc) {
  Resizer resizer(implementation);
  const std::vector<uint8_t> source = image.part(resized.source());
  const auto out = resizer.resize(source, image.channels, resized, layout);
  return {out.begin(), out.end()};
}

template <class Value>
std::vector<float> floats_by(const ResizeImplementation& implementation, const Pixels& image,
                             const Resized& resized, Layout layout = Layout::nhwc) {
  Resizer resizer(implementation);
  const std::vector<uint8_t> source = image.part(resized.source());
  std::unique_ptr<Value[]> values(new Value[source.size()]);
  for (size_t i = 0; i < source.size(); ++i) {
    values[i] = static_cast<Value>(source[i] * (sizeof(Value) == 2 ? 257 : 1));
  }
  const auto out = resizer.resize_to_floats(std::span<const Value>(values.get(), source.size()),
                                            image.channels, resized, layout);
  return {out.begin(), out.end()};
}

// The parameter is one of Highway's targets.
class ResizeOn : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { choose(GetParam()); }
  void TearDown() override { choose(0); }

  static void expect_equal(const Pixels& image, const Resized& resized) {
    for (const Layout layout : {Layout::nhwc, Layout::nchw}) {
      const auto all = resize_implementations();
      ASSERT_EQ(resized_by(all.back(), image, resized, layout),
                resized_by(all.front(), image, resized, layout))
          << image.size.height << "x" << image.size.width << "x" << image.channels << " to "
          << resized.to.height << "x" << resized.to.width << " "
          << to_string(resized.resampling.interpolation) << " " << resized.resampling.antialias;
      ASSERT_EQ(floats_by<uint8_t>(all.back(), image, resized, layout),
                floats_by<uint8_t>(all.front(), image, resized, layout));
      ASSERT_EQ(floats_by<uint16_t>(all.back(), image, resized, layout),
                floats_by<uint16_t>(all.front(), image, resized, layout));
    }
  }

 private:
  static void choose(int64_t target) {
    hwy::GetChosenTarget().Update(target == 0 ? hwy::SupportedTargets() : target);
  }
};

TEST_P(ResizeOn, AllSizesAndChannels) {
  Random random(derive_key(4, 0), 0, 0);
  const auto side = [&] { return size_t{1} + random.below(40); };
  for (uint64_t i = 0; i < 60; ++i) {
    const Pixels image({side(), side()}, 1 + i % 4, i);
    for (const Resampling& resampling : all_resamplings()) {
      Resized resized = Resized::whole(image.size, {side(), side()}, resampling);
      resized.flip = random.below(2) == 1;
      expect_equal(image, resized);
      resized.window = {resized.to.height / 3, resized.to.width / 4,
                        resized.to.height - resized.to.height / 3, (resized.to.width + 1) / 2};
      expect_equal(image, resized);
    }
  }
}

TEST_P(ResizeOn, Photographs) {
  const Pixels image({375, 500}, 3, 100);
  for (const Resampling& resampling : all_resamplings()) {
    expect_equal(image, Resized::whole(image.size, {224, 224}, resampling));
    expect_equal(image, Resized::whole(image.size, {600, 10}, resampling));
  }
}

TEST_P(ResizeOn, LinesAndPoints) {
  for (const ImageSize from : {ImageSize{1, 1}, ImageSize{1, 1000}, ImageSize{1000, 1}}) {
    for (const ImageSize to :
         {ImageSize{1, 1}, ImageSize{1, 300}, ImageSize{2000, 1}, ImageSize{7, 5}}) {
      for (const size_t channels : {1, 3}) {
        const Pixels image(from, channels, 101);
        for (const Resampling& resampling : all_resamplings()) {
          expect_equal(image, Resized::whole(from, to, resampling));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ResizeOn, testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& instance) {
                           return std::string(hwy::TargetName(instance.param));
                         });

double filter_at(Interpolation interpolation, double x) {
  x = std::abs(x);
  if (interpolation == Interpolation::bilinear) return std::max(0.0, 1 - x);
  if (x < 1) return 1.5 * x * x * x - 2.5 * x * x + 1;
  return x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0;
}

// The weight of each of `from` pixels in pixel `i` of `to`. `begin`, `size`: of the box.
std::vector<double> weights_at(const Resampling& resampling, size_t from, size_t to, size_t i,
                               double begin, double size) {
  const double scale = size / static_cast<double>(to);
  const double center = begin + (static_cast<double>(i) + 0.5) * scale;
  std::vector<double> weights(from);
  if (resampling.interpolation == Interpolation::nearest) {
    weights[static_cast<size_t>(center)] = 1;
    return weights;
  }
  const double stretch = resampling.antialias ? std::max(1.0, scale) : 1;
  double sum = 0;
  for (size_t x = 0; x < from; ++x) {
    const double at = (static_cast<double>(x) + 0.5 - center) / stretch;
    sum += weights[x] = filter_at(resampling.interpolation, at);
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

std::vector<double> weights_at(const Resampling& resampling, size_t from, size_t to, size_t i) {
  return weights_at(resampling, from, to, i, 0, static_cast<double>(from));
}

TEST(Resize, FloatsAndBoxesFollowTheFilters) {
  Random random(derive_key(6, 0), 0, 0);
  const auto side = [&] { return size_t{2} + random.below(20); };
  for (uint64_t i = 0; i < 40; ++i) {
    const Pixels image({side(), side()}, 3, i);
    const ImageSize to = {side(), side()};
    const ResizeBox box{.top = random.uniform(),
                        .left = random.uniform(),
                        .height = static_cast<double>(image.size.height) - 1.5,
                        .width = static_cast<double>(image.size.width) - 1.5};
    for (const Resampling& resampling : all_resamplings()) {
      Resized resized = Resized::whole(image.size, to, resampling);
      resized.box = box;
      const auto got = floats_by<uint8_t>(resize_implementations().front(), image, resized);
      const auto wide = floats_by<uint16_t>(resize_implementations().front(), image, resized);
      for (size_t y = 0; y < to.height; ++y) {
        const auto down =
            weights_at(resampling, image.size.height, to.height, y, box.top, box.height);
        for (size_t x = 0; x < to.width; ++x) {
          const auto across =
              weights_at(resampling, image.size.width, to.width, x, box.left, box.width);
          for (size_t c = 0; c < 3; ++c) {
            double value = 0;
            for (size_t v = 0; v < down.size(); ++v) {
              for (size_t u = 0; u < across.size(); ++u) {
                value += down[v] * across[u] * image.at(v, u, c);
              }
            }
            const size_t at = (y * to.width + x) * 3 + c;
            ASSERT_NEAR(got[at], value, 255 * 1e-6);
            ASSERT_NEAR(wide[at], value * 257, 65535 * 1e-6);
          }
        }
      }
    }
  }
}

TEST(Resize, WrongBoxesAreRefused) {
  for (const ResizeBox& box :
       {ResizeBox{0, 0, 0, 4}, ResizeBox{-0.5, 0, 4, 4}, ResizeBox{0, 2.5, 4, 4},
        ResizeBox{0, 0, std::nan(""), 4}, ResizeBox{0, 0, 4, INFINITY}}) {
    Resized resized = Resized::whole({6, 6}, {3, 3});
    resized.box = box;
    EXPECT_EQ(error_of([&] { resized.source(); }).kind(), ErrorKind::invalid_argument);
  }
}

TEST(Resize, FollowsItsFilters) {
  Random random(derive_key(5, 0), 0, 0);
  const auto side = [&] { return size_t{1} + random.below(20); };
  for (uint64_t i = 0; i < 40; ++i) {
    const Pixels image({side(), side()}, 3, i);
    const ImageSize to = {side(), side()};
    for (const Resampling& resampling : all_resamplings()) {
      const auto got = resized_by(resize_implementations().front(), image,
                                  Resized::whole(image.size, to, resampling));
      for (size_t y = 0; y < to.height; ++y) {
        const auto down = weights_at(resampling, image.size.height, to.height, y);
        for (size_t x = 0; x < to.width; ++x) {
          const auto across = weights_at(resampling, image.size.width, to.width, x);
          for (size_t c = 0; c < 3; ++c) {
            double value = 0;
            for (size_t v = 0; v < down.size(); ++v) {
              double row = 0;
              for (size_t u = 0; u < across.size(); ++u) {
                row += across[u] * image.at(v, u, c);
              }
              value += down[v] * std::clamp(row, 0.0, 255.0);
            }
            // Two roundings, of at most a half each; the cubic filter enlarges the first.
            ASSERT_NEAR(got[(y * to.width + x) * 3 + c], std::clamp(value, 0.0, 255.0), 1.2);
          }
        }
      }
    }
  }
}

TEST(Resize, TheSameSizeIsTheSameImage) {
  for (const size_t channels : {1, 2, 3, 4}) {
    const Pixels image({17, 23}, channels, channels);
    for (const Resampling& resampling : all_resamplings()) {
      const Resized resized = Resized::whole(image.size, image.size, resampling);
      EXPECT_EQ(resized_by(resize_implementations().back(), image, resized),
                image.part({0, 0, 17, 23}));
    }
  }
}

// A window is cut out of the whole image, and a flip mirrors it.
TEST(Resize, AWindowEqualsThePartOfTheWhole) {
  const Pixels image({61, 47}, 3, 7);
  for (const Resampling& resampling : all_resamplings()) {
    Resized resized = Resized::whole(image.size, {30, 41}, resampling);
    const auto whole = resized_by(resize_implementations().back(), image, resized);
    resized.window = {5, 11, 20, 13};
    const ImagePart source = resized.source();
    EXPECT_LT(source.height, image.size.height);
    EXPECT_LT(source.width, image.size.width);
    for (const bool flip : {false, true}) {
      resized.flip = flip;
      const auto window = resized_by(resize_implementations().back(), image, resized);
      for (size_t y = 0; y < 20; ++y) {
        for (size_t x = 0; x < 13; ++x) {
          for (size_t c = 0; c < 3; ++c) {
            ASSERT_EQ(window[(y * 13 + (flip ? 12 - x : x)) * 3 + c],
                      whole[((y + 5) * 41 + x + 11) * 3 + c]);
          }
        }
      }
    }
  }
}

TEST(Resize, PlanesHoldTheSameValues) {
  const Pixels image({19, 31}, 3, 8);
  const Resized resized = Resized::whole(image.size, {11, 13});
  const auto& implementation = resize_implementations().back();
  const auto pixels = resized_by(implementation, image, resized);
  const auto planes = resized_by(implementation, image, resized, Layout::nchw);
  for (size_t i = 0; i < pixels.size(); ++i) {
    ASSERT_EQ(planes[i % 3 * 11 * 13 + i / 3], pixels[i]);
  }
}

TEST(Resize, Refusals) {
  Resizer resizer;
  const std::vector<uint8_t> pixels(12);
  const auto kind = [&](const Resized& resized, size_t channels = 3) {
    return error_of([&] { resizer.resize(pixels, channels, resized); }).kind();
  };
  const Resized good = Resized::whole({2, 2}, {3, 3});
  EXPECT_EQ(resizer.resize(pixels, 3, good).size(), 27u);
  EXPECT_EQ(kind(good, 2), ErrorKind::invalid_argument);
  EXPECT_EQ(kind(good, 5), ErrorKind::invalid_argument);
  EXPECT_EQ(kind(Resized::whole({2, 2}, {0, 3})), ErrorKind::invalid_argument);
  EXPECT_EQ(kind(Resized::whole({0, 2}, {3, 3})), ErrorKind::invalid_argument);
  EXPECT_EQ(kind(Resized::whole({2, 2}, {3, kMaxResizedSide + 1})), ErrorKind::invalid_argument);
  Resized outside = good;
  outside.window = {1, 0, 3, 3};
  EXPECT_EQ(kind(outside), ErrorKind::invalid_argument);
  EXPECT_EQ(error_of([&] { (void)outside.source(); }).kind(), ErrorKind::invalid_argument);
  // The memory between the passes is limited.
  const std::vector<uint8_t> tall(kMaxResizedSide);
  const Resized wide = Resized::whole({kMaxResizedSide, 1}, {1, kMaxResizedSide});
  EXPECT_EQ(error_of([&] { resizer.resize(tall, 1, wide); }).kind(), ErrorKind::limit_exceeded);
}

}  // namespace
}  // namespace recordpipe
