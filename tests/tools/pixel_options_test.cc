// Tests the parser of --shape.
#include <gtest/gtest.h>

#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/options.h"

namespace recordpipe {
namespace {

TEST(PixelShape, IsReadFromText) {
  EXPECT_EQ(parse_pixel_shape("28x30").bytes(), 28u * 30);
  EXPECT_EQ(parse_pixel_shape("32x16x3").width, 16u);
  EXPECT_EQ(parse_pixel_shape("65535x65535x4").bytes(), 65535ull * 65535 * 4);
  for (const char* wrong : {"", "28", "28x", "x28", "28x28x", "28x28x5", "0x28", "28x28x3x1",
                            "-1x2", "65536x1", "28X28", " 28x28", "99999999999999999999x1"}) {
    EXPECT_THROW(parse_pixel_shape(wrong), UsageError) << wrong;
  }
}

}  // namespace
}  // namespace recordpipe
