// Tests that encoded JPEG files have the pixels that were encoded, as nearly as the quality
// permits.
#include "recordpipe/image/encode_jpeg.h"

#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/image/decode_image.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

// Smooth colours, as in photographs.
std::vector<uint8_t> smooth(size_t height, size_t width, size_t channels) {
  std::vector<uint8_t> pixels;
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x) {
      for (size_t c = 0; c < channels; ++c) {
        pixels.push_back(static_cast<uint8_t>(x * 150 / width + y * 50 / height + c * 20));
      }
    }
  }
  return pixels;
}

TEST(EncodeJpeg, IsNearlyWhatIsReadBack) {
  for (const size_t channels : {size_t{1}, size_t{3}}) {
    for (const auto& [height, width] : {std::pair<size_t, size_t>{1, 1}, {33, 70}, {240, 8}}) {
      const std::vector<uint8_t> pixels = smooth(height, width, channels);
      const auto file = encode_jpeg(pixels, height, width, channels, {.quality = 95});
      const ImageInfo info = image_info(file);
      EXPECT_EQ(info.format, ImageFileFormat::jpeg);
      const DecodedImage image = decode_image(file);
      EXPECT_EQ(image.height, height);
      EXPECT_EQ(image.width, width);
      ASSERT_EQ(image.channels, channels);
      ASSERT_EQ(image.pixels.size(), pixels.size());
      for (size_t i = 0; i < pixels.size(); ++i) {
        ASSERT_LE(std::abs(int{image.pixels[i]} - int{pixels[i]}), 24) << i;
      }
    }
  }
}

TEST(EncodeJpeg, IsSmallerWithLessQuality) {
  const std::vector<uint8_t> pixels = smooth(100, 150, 3);
  const auto size = [&](int quality) {
    return encode_jpeg(pixels, 100, 150, 3, {.quality = quality}).size();
  };
  EXPECT_LT(size(10), size(90));
  EXPECT_LT(size(90), size(100));
  EXPECT_EQ(encode_jpeg(pixels, 100, 150, 3), encode_jpeg(pixels, 100, 150, 3));
}

TEST(EncodeJpeg, WritesTheOrientation) {
  const std::vector<uint8_t> pixels = smooth(20, 30, 3);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const auto file = encode_jpeg(pixels, 20, 30, 3, {.orientation = orientation});
    EXPECT_EQ(image_info(file).orientation, orientation);
    EXPECT_EQ(decode_image(file).height, 20u) << "the pixels are as they were";
  }
  EXPECT_EQ(error_of([&] { encode_jpeg(pixels, 20, 30, 3, {.orientation = 9}); }).kind(),
            ErrorKind::invalid_argument);
}

TEST(EncodeJpeg, RefusesWhatDoesNotFit) {
  const std::vector<uint8_t> pixels = smooth(2, 2, 3);
  const auto refused = [&](size_t height, size_t width, size_t channels, int quality) {
    return error_of([&] {
             encode_jpeg(pixels, height, width, channels, {.quality = quality});
           }).kind() == ErrorKind::invalid_argument;
  };
  EXPECT_TRUE(refused(2, 3, 2, 90));
  EXPECT_TRUE(refused(2, 2, 1, 90));
  EXPECT_TRUE(refused(0, 2, 3, 90));
  EXPECT_TRUE(refused(2, 2, 3, 0));
  EXPECT_TRUE(refused(2, 2, 3, 101));
  const std::vector<uint8_t> wide(65'501);
  EXPECT_EQ(error_of([&] { encode_jpeg(wide, 1, wide.size(), 1); }).kind(),
            ErrorKind::invalid_argument);
}

}  // namespace
}  // namespace recordpipe
