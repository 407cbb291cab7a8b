// Compares normalisation with values computed from the definitions.
#include "recordpipe/image/normalization.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/image/pad_crop_flip.h"
#include "tests/image/golden_values.h"

namespace recordpipe {
namespace {

std::vector<float> normalized(const GoldenImage& image, const Normalization& normalization) {
  check(normalization, image.format);
  std::vector<float> out(image.format.values_per_image());
  write_window(image.window, image.format, channel_map(normalization, image.window, image.format),
               reinterpret_cast<std::byte*>(out.data()));
  return out;
}

TEST(Normalization, GoldenValues) {
  for (const GoldenImage& image : golden_images("normalized")) {
    Normalization normalization = {.scale = image.options["scale"]};
    for (size_t c = 0; c < 3; ++c) {
      normalization.mean[c] = image.array("mean")[c];
      normalization.stddev[c] = image.array("stddev")[c];
    }
    EXPECT_EQ(normalized(image, normalization), image.expected) << image.name;
  }
}

TEST(Normalization, GoldenValuesOfStandardizationPerImage) {
  for (const GoldenImage& image : golden_images("per_image")) {
    EXPECT_EQ(normalized(image, {.per_image = true}), image.expected) << image.name;
  }
}

TEST(Normalization, OfAWholeCifarImageInEveryType) {
  std::vector<uint8_t> image(3072);
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<uint8_t>(i * i % 251);
  const Normalization normalization = {.scale = Normalization::kToUnit,
                                       .mean = {0.4914f, 0.4822f, 0.4465f},
                                       .stddev = {0.247f, 0.2435f, 0.2616f}};
  ImageCollator collator{.format = {.layout = Layout::nchw}, .normalization = normalization};
  ImageBatch floats, halves, brain_floats;
  const auto collate = [&](ImageBatch& batch, DType dtype) {
    collator.format.dtype = dtype;
    collator.reset(batch, 1);
    collator.set(batch, 0, {.pixels = image, .label = 3, .distortion = {-2, 3, true}});
  };
  collate(floats, DType::float32);
  collate(halves, DType::float16);
  collate(brain_floats, DType::bfloat16);
  for (size_t i = 0; i < image.size(); ++i) {
    const float value = floats.floats()[i];
    ASSERT_EQ(halves.float16s()[i], to_float16(value));
    ASSERT_EQ(brain_floats.bfloat16s()[i], to_bfloat16(value));
  }
  const float zero_of_blue = (0 - normalization.mean[2]) / normalization.stddev[2];
  EXPECT_EQ(floats.floats()[2 * 1024], zero_of_blue) << "padding is normalised";
}

TEST(Normalization, RefusesWhatMakesNoSense) {
  const ImageFormat format, bytes = {.dtype = DType::uint8}, deep = {.channels = 5};
  const Normalization unit = {.scale = Normalization::kToUnit};
  EXPECT_NO_THROW(check({}, bytes));
  EXPECT_NO_THROW(check({}, deep));
  EXPECT_NO_THROW(check(unit, format));
  EXPECT_THROW(check(unit, bytes), Error);
  EXPECT_THROW(check({.per_image = true}, bytes), Error);
  EXPECT_THROW(check(unit, deep), Error);
  EXPECT_THROW(check({.scale = 2, .per_image = true}, format), Error);
  EXPECT_THROW(check({.stddev = {1, 0, 1, 1}}, format), Error);
  EXPECT_THROW(check({.stddev = {1, 1, -1, 1}}, format), Error);
  EXPECT_THROW(check({.scale = std::numeric_limits<float>::infinity()}, format), Error);
  EXPECT_THROW(check({.mean = {std::numeric_limits<float>::quiet_NaN()}}, format), Error);
  EXPECT_NO_THROW(check({.mean = {1}, .stddev = {1, 1, 1, 0}}, format)) << "there is no channel 3";
}

TEST(Normalization, IsCheckedForEachImage) {
  const std::vector<uint8_t> image(3072);
  std::vector<std::byte> out(3072);
  EXPECT_THROW(pad_crop_flip(image, {}, {.dtype = DType::uint8}, out.data(), {.per_image = true}),
               Error);
}

}  // namespace
}  // namespace recordpipe
