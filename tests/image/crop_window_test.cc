// Compares the crop in each of this processor's instruction sets with plain loops, byte for byte.
#include "recordpipe/image/crop_window.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include "recordpipe/base/philox.h"

namespace recordpipe {
namespace {

constexpr std::byte kUntouched{0x5A};

constexpr DType kDTypes[] = {DType::uint8, DType::float32, DType::float16, DType::bfloat16};
constexpr Layout kLayouts[] = {Layout::nhwc, Layout::nchw};

const ChannelMap kMultiplyAdd = {.multiply = {1 / 255.0f, 0.7f, -3.3f, 1e-6f},
                                 .add = {0, -1.7f, 100.1f, 0.3f}};
const ChannelMap kDivide = {.multiply = {1, 1 / 255.0f, 1, 0.3f},
                            .add = {-125.3f, -0.48f, -113.9f, 7},
                            .divide = {63, 0.24f, 66.7f, 1e5f}};

// An image in a heap block of its exact size, so that AddressSanitizer detects accesses beyond it.
struct Image {
  std::unique_ptr<uint8_t[]> bytes;
  size_t height, width;

  Image(size_t h, size_t w, size_t channels, uint64_t index)
      : bytes(new uint8_t[h * w * channels]), height(h), width(w) {
    Random random(derive_key(1, 0), 0, index);
    for (size_t i = 0; i < h * w * channels; ++i) bytes[i] = static_cast<uint8_t>(random());
  }
  CropWindow at(int64_t top, int64_t left, bool flip) const {
    return {bytes.get(), height, width, top, left, flip};
  }
};

std::vector<std::byte> written_by(const CropImplementation& implementation,
                                  const CropWindow& window, const ImageFormat& format,
                                  const ChannelMap& map) {
  const size_t size = format.bytes_per_image();
  std::vector<std::byte> out(size + 64, kUntouched);
  implementation.write(window, format, map, out.data());
  for (size_t i = size; i < out.size(); ++i) EXPECT_EQ(out[i], kUntouched) << i - size;
  out.resize(size);
  return out;
}

// The parameter is one of Highway's targets.
class CropWindowOn : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { choose(GetParam()); }
  void TearDown() override { choose(0); }

  static void expect_equal(const CropWindow& window, const ImageFormat& format,
                           const ChannelMap& map = {}) {
    const auto& implementations = crop_implementations();
    ASSERT_EQ(written_by(implementations.back(), window, format, map),
              written_by(implementations.front(), window, format, map))
        << "top " << window.top << " left " << window.left << " flip " << window.flip;
  }

 private:
  static void choose(int64_t target) {
    hwy::GetChosenTarget().Update(target == 0 ? hwy::SupportedTargets() : target);
  }
};

TEST_P(CropWindowOn, CifarAtEveryPlace) {
  const Image image(32, 32, 3, 0);
  for (const DType dtype : kDTypes) {
    for (const Layout layout : kLayouts) {
      for (int64_t top = -4; top <= 4; ++top) {
        for (int64_t left = -4; left <= 4; ++left) {
          for (const bool flip : {false, true}) {
            expect_equal(image.at(top, left, flip), {.dtype = dtype, .layout = layout});
          }
        }
      }
    }
  }
}

TEST_P(CropWindowOn, MapsTheValues) {
  const Image image(32, 32, 3, 1);
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    for (const Layout layout : kLayouts) {
      for (const ChannelMap& map : {kMultiplyAdd, kDivide}) {
        for (const bool flip : {false, true}) {
          expect_equal(image.at(-3, 2, flip), {.dtype = dtype, .layout = layout}, map);
        }
      }
    }
  }
}

TEST_P(CropWindowOn, ASmallerWindow) {
  const Image image(32, 32, 3, 2);
  for (const DType dtype : kDTypes) {
    for (int64_t place = 0; place <= 8; ++place) {
      for (const bool flip : {false, true}) {
        const ImageFormat format{.height = 24, .width = 24, .dtype = dtype};
        expect_equal(image.at(place, 8 - place, flip), format,
                     dtype == DType::uint8 ? ChannelMap{} : kDivide);
      }
    }
  }
}

TEST_P(CropWindowOn, OddShapesAndWindowsThatLieOutside) {
  uint64_t index = 3;
  for (const size_t channels : {1, 2, 3, 4, 5}) {
    for (const size_t width : {1, 7, 31, 33, 100}) {
      const Image image(3, width, channels, index++);
      for (const size_t window_width : {size_t{1}, width, width + 5}) {
        for (const int64_t left : {-200, -40, -6, -1, 0, 1, 5, 30, 200}) {
          for (const int64_t top : {-3, -1, 0, 2, 5}) {
            for (const Layout layout : kLayouts) {
              const ImageFormat format{4, window_width, channels, DType::float32, layout};
              expect_equal(image.at(top, left, left % 2 == 0), format,
                           channels <= ChannelMap::kMaxChannels ? kDivide : ChannelMap{});
            }
          }
        }
      }
    }
  }
}

TEST_P(CropWindowOn, LargeImages) {
  const Image image(50, 3000, 3, 100);
  for (const size_t width : {224, 2500, 3000}) {
    const ImageFormat format{.height = 45, .width = width, .dtype = DType::float16};
    expect_equal(image.at(2, 7, true), format, kMultiplyAdd);
    expect_equal(image.at(-10, -11, false), format);
  }
}

TEST_P(CropWindowOn, FarAway) {
  const Image image(32, 32, 3, 101);
  for (const int64_t far : {int64_t{-1} << 30, int64_t{1} << 30}) {
    expect_equal(image.at(far, 0, true), {});
    expect_equal(image.at(0, far, false), {});
    expect_equal(image.at(far, far, true), {.layout = Layout::nchw});
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CropWindowOn,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& instance) {
                           return std::string(hwy::TargetName(instance.param));
                         });

}  // namespace
}  // namespace recordpipe
