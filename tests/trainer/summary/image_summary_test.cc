#include "recordpipe/trainer/summary/image_summary.h"

#include <cstring>
#include <limits>
#include <span>

#include <gtest/gtest.h>

#include "recordpipe/image/half.h"

namespace recordpipe {
namespace {

template <class T>
ImageBatch batch_of(const ImageFormat& format, const std::vector<T>& values) {
  ImageBatch batch;
  batch.reset(format, values.size() / format.values_per_image());
  std::memcpy(batch.image_at(0), values.data(), values.size() * sizeof(T));
  return batch;
}

using Bytes = std::vector<uint8_t>;

TEST(SummaryPixels, AreBytesAsTheyAreWithTheChannelsSideBySide) {
  ImageFormat format = {.height = 1, .width = 2, .channels = 3, .dtype = DType::uint8};
  const Bytes values = {1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16};
  EXPECT_EQ(summary_pixels(batch_of(format, values), 0), (Bytes{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(summary_pixels(batch_of(format, values), 1), (Bytes{11, 12, 13, 14, 15, 16}));
  format.layout = Layout::nchw;
  EXPECT_EQ(summary_pixels(batch_of(format, values), 1), (Bytes{11, 13, 15, 12, 14, 16}));
}

// Standardised images are mapped one by one, with 0 in the middle of the range.
TEST(SummaryPixels, MapNumbersOfBothSignsAroundTheMiddle) {
  const ImageFormat format = {.height = 1, .width = 4, .channels = 1};
  const ImageBatch batch =
      batch_of<float>(format, {-2, 0, 1, 2, /* the second image: */ -0.5, 0, 0.25, 1});
  EXPECT_EQ(summary_pixels(batch, 0), (Bytes{1, 128, 191, 255}));
  EXPECT_EQ(summary_pixels(batch, 1), (Bytes{64, 128, 159, 255}));
}

TEST(SummaryPixels, StretchNumbersThatAreNotNegative) {
  const ImageFormat format = {.height = 1, .width = 3, .channels = 1};
  EXPECT_EQ(summary_pixels(batch_of<float>(format, {0, 0.5, 2}), 0), (Bytes{0, 63, 255}));
  EXPECT_EQ(summary_pixels(batch_of<float>(format, {0, 1e-7f, 0}), 0), (Bytes{0, 0, 0}));
}

TEST(SummaryPixels, TakeHalfPrecision) {
  ImageFormat format = {.height = 1, .width = 3, .channels = 1, .dtype = DType::float16};
  const std::vector half = {to_float16(-2), to_float16(0), to_float16(1)};
  EXPECT_EQ(summary_pixels(batch_of(format, half), 0), (Bytes{1, 128, 191}));
  format.dtype = DType::bfloat16;
  const std::vector brain = {to_bfloat16(-2), to_bfloat16(0), to_bfloat16(1)};
  EXPECT_EQ(summary_pixels(batch_of(format, brain), 0), (Bytes{1, 128, 191}));
}

TEST(SummaryPixels, ShowWhatIsNotFiniteInRed) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const ImageFormat colours = {.height = 1, .width = 2, .channels = 3};
  EXPECT_EQ(summary_pixels(batch_of<float>(colours, {1, 2, 4, 0, kInfinity, 7}), 0),
            (Bytes{63, 127, 255, 255, 0, 0}));
  const ImageFormat grey = {.height = 1, .width = 2, .channels = 1};
  EXPECT_EQ(summary_pixels(batch_of<float>(grey, {kNan, 0}), 0), (Bytes{255, 0}));
  EXPECT_EQ(summary_pixels(batch_of<float>(grey, {kNan, kNan}), 0), (Bytes{255, 255}));
}

}  // namespace
}  // namespace recordpipe
