// Compares the direct crop with separate steps: pad, crop, flip, transpose, convert.
#include "recordpipe/image/pad_crop_flip.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

std::vector<uint8_t> random_image(const ImageFormat& format, uint64_t index) {
  Random random(derive_key(1, 0), 0, index);
  std::vector<uint8_t> image(format.values_per_image());
  for (uint8_t& value : image) value = static_cast<uint8_t>(random.below(256));
  return image;
}

// Returns the cropped values in the order of `format`'s layout.
std::vector<int> plain(const std::vector<uint8_t>& image, const PadCropFlip& crop, int pad,
                       const ImageFormat& format) {
  const int height = static_cast<int>(format.height);
  const int width = static_cast<int>(format.width);
  const int channels = static_cast<int>(format.channels);
  const int padded_width = width + 2 * pad;
  const int padded_height = height + 2 * pad;
  std::vector<int> padded(static_cast<size_t>(channels * padded_height * padded_width));
  for (int c = 0; c < channels; ++c) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        padded[static_cast<size_t>((c * padded_height + y + pad) * padded_width + x + pad)] =
            image[static_cast<size_t>((c * height + y) * width + x)];
      }
    }
  }
  std::vector<int> out(format.values_per_image());
  for (int c = 0; c < channels; ++c) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const int column = crop.flip ? width - 1 - x : x;
        const int value = padded[static_cast<size_t>(
            (c * padded_height + y + pad + crop.top) * padded_width + column + pad + crop.left)];
        const int to = format.layout == Layout::nchw ? (c * height + y) * width + x
                                                     : (y * width + x) * channels + c;
        out[static_cast<size_t>(to)] = value;
      }
    }
  }
  return out;
}

std::vector<int> direct(const std::vector<uint8_t>& image, const PadCropFlip& crop,
                        const ImageFormat& format) {
  ImageBatch batch;
  batch.reset(format, 2);
  std::memset(batch.image_at(0), 0x5a, 2 * format.bytes_per_image());
  pad_crop_flip(image, crop, format, batch.image_at(0));
  const size_t n = format.values_per_image();
  std::vector<int> out;
  const auto push = [&](float value) { out.push_back(static_cast<int>(value)); };
  switch (format.dtype) {
    case DType::uint8:
      for (const uint8_t value : batch.uint8s().first(n)) out.push_back(value);
      break;
    case DType::uint16:
      for (const uint16_t value : batch.uint16s().first(n)) out.push_back(value);
      break;
    case DType::float32:
      for (const float value : batch.floats().first(n)) push(value);
      break;
    case DType::float16:
      for (const Float16 value : batch.float16s().first(n)) push(to_float(value));
      break;
    case DType::bfloat16:
      for (const BFloat16 value : batch.bfloat16s().first(n)) push(to_float(value));
      break;
  }
  for (const std::byte untouched : batch.bytes().subspan(format.bytes_per_image())) {
    EXPECT_EQ(untouched, std::byte{0x5a});
  }
  return out;
}

TEST(PadCropFlip, EqualsThePlainWayAtEveryPlace) {
  for (const DType dtype : {DType::uint8, DType::float32, DType::float16, DType::bfloat16}) {
    for (const Layout layout : {Layout::nhwc, Layout::nchw}) {
      const ImageFormat format{.dtype = dtype, .layout = layout};
      const auto image = random_image(format, 0);
      for (int top = -4; top <= 4; ++top) {
        for (int left = -4; left <= 4; ++left) {
          for (const bool flip : {false, true}) {
            const PadCropFlip crop{top, left, flip};
            ASSERT_EQ(direct(image, crop, format), plain(image, crop, 4, format))
                << top << " " << left << " " << flip;
          }
        }
      }
    }
  }
}

// As numpy.pad(mode="reflect"): 3 2 | 1 2 3 4 | 3 2
TEST(PadCropFlip, ReflectsTheImageAtItsEdges) {
  const ImageFormat format{.height = 2, .width = 4, .channels = 1, .dtype = DType::uint8};
  const std::vector<uint8_t> image = {1, 2, 3, 4, 5, 6, 7, 8};
  using Values = std::vector<int>;
  EXPECT_EQ(direct(image, {.top = 0, .left = -2, .reflect = true}, format),
            (Values{3, 2, 1, 2, 7, 6, 5, 6}));
  EXPECT_EQ(direct(image, {.top = 1, .left = 3, .reflect = true}, format),
            (Values{8, 7, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(direct(image, {.top = -1, .left = 1, .flip = true, .reflect = true}, format),
            (Values{7, 8, 7, 6, 3, 4, 3, 2}));
  EXPECT_THROW(direct(image, {.top = 2, .reflect = true}, format), Error);
  // Colours, both layouts: inside the image both paddings are the same.
  for (const Layout layout : {Layout::nhwc, Layout::nchw}) {
    const ImageFormat colours{.height = 5, .width = 6, .layout = layout};
    const auto random = random_image(colours, 3);
    EXPECT_EQ(direct(random, {.flip = true, .reflect = true}, colours),
              direct(random, {.flip = true}, colours));
  }
}

TEST(PadCropFlip, CutsAGreySquareOutOfTheCrop) {
  for (const Layout layout : {Layout::nhwc, Layout::nchw})
    for (const bool reflect : {false, true}) {
      const ImageFormat format{.height = 6, .width = 7, .dtype = DType::uint8, .layout = layout};
      auto image = random_image(format, 4);
      std::ranges::replace(image, 128, 127);
      std::map<std::pair<size_t, size_t>, int> places;
      for (uint64_t i = 0; i < 1200; ++i) {
        Random random(derive_key(3, 0), 0, i), same(derive_key(3, 0), 0, i);
        const PadCropFlipOptions options = {.pad = 2, .reflect = reflect, .cutout = 3};
        const PadCropFlip crop = PadCropFlip::draw(random, options);
        const auto cut = direct(image, crop, format);
        const auto whole =
            direct(image, PadCropFlip::draw(same, {.pad = 2, .reflect = reflect}), format);
        std::set<size_t> rows, columns;
        size_t changed = 0;
        for (size_t y = 0; y < 6; ++y)
          for (size_t x = 0; x < 7; ++x)
            for (size_t c = 0; c < 3; ++c) {
              const size_t at = layout == Layout::nchw ? (c * 6 + y) * 7 + x : (y * 7 + x) * 3 + c;
              if (cut[at] == whole[at]) continue;
              EXPECT_EQ(cut[at], 128);
              rows.insert(y), columns.insert(x), ++changed;
            }
        ASSERT_TRUE(rows.size() == 3 && columns.size() == 3 && changed == 27);
        ++places[{*rows.begin(), *columns.begin()}];
      }
      EXPECT_EQ(places.size(), 4u * 5u);
      for (const auto& [place, count] : places) EXPECT_GT(count, 30);  // 60 on average
    }
  const ImageFormat format{.height = 6, .width = 7, .dtype = DType::uint8};
  EXPECT_EQ(direct(random_image(format, 1), {.cutout = 6}, format).front(), 128);
  for (const int size : {-1, 7})
    EXPECT_THROW(direct(random_image(format, 1), {.cutout = size}, format), Error);
}

TEST(PadCropFlip, TakesOtherShapesAndCropsThatLieOutside) {
  for (const auto& [height, width, channels] :
       {std::tuple(1, 1, 1), std::tuple(5, 3, 1), std::tuple(2, 7, 4)}) {
    const ImageFormat format{static_cast<size_t>(height), static_cast<size_t>(width),
                             static_cast<size_t>(channels), DType::uint8, Layout::nhwc};
    const auto image = random_image(format, 1);
    for (int top = -8; top <= 8; ++top) {
      for (int left = -8; left <= 8; ++left) {
        const PadCropFlip crop{top, left, true};
        ASSERT_EQ(direct(image, crop, format), plain(image, crop, 8, format));
      }
    }
  }
}

TEST(PadCropFlip, KnowingTheNextImageChangesNothing) {
  for (const Layout layout : {Layout::nhwc, Layout::nchw}) {
    const ImageFormat format{.layout = layout};
    const auto image = random_image(format, 1);
    const auto next = random_image(format, 2);
    const PadCropFlip crop{.top = -3, .left = 2, .flip = true};
    std::vector<float> alone(format.values_per_image());
    std::vector<float> followed(format.values_per_image());
    pad_crop_flip(image, crop, format, reinterpret_cast<std::byte*>(alone.data()));
    pad_crop_flip(image, crop, format, reinterpret_cast<std::byte*>(followed.data()), {},
                  next.data());
    EXPECT_EQ(alone, followed);
  }
}

TEST(PadCropFlip, DrawsEveryCropAboutEquallyOften) {
  std::map<std::tuple<int, int, bool>, int> count;
  for (uint64_t i = 0; i < 16200; ++i) {
    Random random(derive_key(3, 0), 0, i);
    const PadCropFlip crop = PadCropFlip::draw(random, 4);
    ++count[{crop.top, crop.left, crop.flip}];
  }
  ASSERT_EQ(count.size(), 162u);
  double chi_square = 0;
  for (const auto& [crop, n] : count) chi_square += (n - 100.0) * (n - 100.0) / 100.0;
  EXPECT_LT(chi_square, 221.0);  // 161 degrees of freedom, p = 0.001
}

TEST(PadCropFlip, RefusesAnImageOfAnotherSize) {
  const ImageFormat format;
  ImageBatch batch;
  batch.reset(format, 1);
  const std::vector<uint8_t> image(3071);
  EXPECT_THROW(pad_crop_flip(image, {}, format, batch.image_at(0)), Error);
}

TEST(ImageBatch, GivesItsValuesInItsOwnTypeOnly) {
  ImageBatch batch;
  batch.reset({.dtype = DType::uint8}, 3);
  EXPECT_EQ(batch.size(), 3u);
  EXPECT_EQ(batch.uint8s().size(), 3 * 3072u);
  EXPECT_THROW(batch.floats(), Error);
  EXPECT_THROW(batch.float16s(), Error);
  batch.reset({.dtype = DType::bfloat16}, 3);
  EXPECT_EQ(batch.bfloat16s().size(), 3 * 3072u);
  EXPECT_THROW(batch.float16s(), Error);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(batch.bytes().data()) % 64, 0u);
}

}  // namespace
}  // namespace recordpipe
