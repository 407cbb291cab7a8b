// Tests that image files are recognised by their first bytes, and text and other files are not.
#include "recordpipe/toolkit/image_format.h"

#include <gtest/gtest.h>

#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

TEST(ImageFormat, IsToldByTheFirstBytes) {
  EXPECT_EQ(image_format(as_bytes("\x89PNG\r\n\x1a\n...")), "png");
  EXPECT_EQ(image_format(as_bytes("\xff\xd8\xff\xe0")), "jpeg");
  EXPECT_EQ(image_format(as_bytes("GIF89a")), "gif");
  EXPECT_EQ(image_format(as_bytes("RIFF1234WEBPVP8 ")), "webp");
  const std::string bitmap("BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\2\0\0\0\2\0\0\0\1\0\x18\0",
                           30);
  EXPECT_EQ(image_format(as_bytes(bitmap)), "bmp");
}

TEST(ImageFormat, IsNoneOfOtherThings) {
  EXPECT_EQ(image_format(as_bytes("RIFF1234WAVE")), "");
  EXPECT_EQ(image_format(as_bytes("<svg xmlns=")), "");
  EXPECT_EQ(image_format(as_bytes("BMW makes cars in Munich, and motorcycles.")), "");
  EXPECT_EQ(image_format({}), "");
}

}  // namespace
}  // namespace recordpipe
