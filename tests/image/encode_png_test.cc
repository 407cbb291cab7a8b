// Tests that an independent decoder reads the encoded PNG files back, pixel for pixel.
#include "recordpipe/image/encode_png.h"

#include <gtest/gtest.h>

#include "recordpipe/base/philox.h"
#include "recordpipe/image/decode_image.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

template <class Value = uint8_t>
std::vector<Value> noise(size_t size) {
  std::vector<Value> pixels(size);
  Random random(1, 0, 0);
  for (Value& value : pixels) value = static_cast<Value>(random());
  return pixels;
}

TEST(EncodePng, IsReadBackToThePixel) {
  for (size_t channels = 1; channels <= 4; ++channels) {
    for (const auto& [height, width] : {std::pair<size_t, size_t>{1, 1}, {32, 32}, {7, 300}}) {
      const std::vector<uint8_t> pixels = noise(height * width * channels);
      const DecodedImage image = decode_image(encode_png(pixels, height, width, channels));
      EXPECT_EQ(image.height, height);
      EXPECT_EQ(image.width, width);
      EXPECT_EQ(image.channels, channels);
      EXPECT_EQ(image.pixels, pixels) << height << " x " << width << " x " << channels;
    }
  }
}

TEST(EncodePng, KeepsSixteenBits) {
  for (size_t channels = 1; channels <= 4; ++channels) {
    const std::vector<uint16_t> pixels = noise<uint16_t>(7 * 300 * channels);
    const std::vector<std::byte> file = encode_png(pixels, 7, 300, channels);
    EXPECT_EQ(image_info(file).bits_per_channel, 16);
    const DecodedImage image = decode_image(file, {.bits = 16});
    EXPECT_EQ(image.channels, channels);
    EXPECT_EQ(image.pixels16, pixels) << channels;
  }
  EXPECT_EQ(error_of([] { encode_png(noise<uint16_t>(12), 2, 2, 4); }).kind(),
            ErrorKind::invalid_argument);
}

TEST(EncodePng, RefusesSizesThatDoNotFit) {
  const std::vector<uint8_t> pixels = noise(12);
  const auto refused = [&](size_t height, size_t width, size_t channels) {
    return error_of([&] { encode_png(pixels, height, width, channels); }).kind() ==
           ErrorKind::invalid_argument;
  };
  EXPECT_TRUE(refused(2, 2, 4));
  EXPECT_TRUE(refused(2, 2, 5));
  EXPECT_TRUE(refused(0, 2, 3));
  EXPECT_TRUE(refused(2, 0, 3));
  EXPECT_TRUE(refused(2, 2, 0));
  EXPECT_TRUE(refused(size_t{1} << 62, 4, 3));
}

}  // namespace
}  // namespace recordpipe
