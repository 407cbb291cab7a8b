// Columns of images: 16 bits, floats, colours, sizes, JPEG files at a part of their size, checks.
#include "recordpipe/image/batches/image_column.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/image/encode_png.h"
#include "tests/image/image_parts.h"
#include "tests/image/jpeg_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

std::string png_of(const std::vector<uint8_t>& pixels, const ImageSize& size, size_t channels = 3) {
  return std::string(as_text(encode_png(pixels, size.height, size.width, channels)));
}

ImageColumn column_of(const ImageColumnCollator& collator, const std::vector<std::string>& files) {
  ImageColumn column;
  collator.reset(column, files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    collator.set(column, i, as_bytes(files[i]), Random(1, 2, i), {.path = "photos", .offset = i});
  }
  collator.finish(column);
  return column;
}

ImageColumn column_of(const ImageSpec& spec, const std::vector<std::string>& files) {
  return column_of(ImageColumnCollator(spec), files);
}

std::string wide_file() { return read_file(RECORDPIPE_DATA_DIR "/images/rgba16.png"); }

TEST(ImageColumnTest, Keeps16Bits) {
  const DecodedImage image = decode_image(as_bytes(wide_file()), {.channels = 3, .bits = 16});
  const ImageSpec spec{.source = DecodeOptions{.channels = 3, .bits = 16}};
  const ImageColumn column = column_of(spec, {wide_file()});
  EXPECT_EQ(column.batch.format().dtype, DType::uint16);
  EXPECT_TRUE(std::ranges::equal(column.batch.uint16s(), image.pixels16));

  ImageSpec planar = spec;
  planar.layout = Layout::nchw;
  planar.dtype = DType::float32;
  planar.distortion = ResizeAndCrop{.crop = ImageSize{6, 4}};
  const ImageColumn center = column_of(planar, {wide_file()});
  const ImageFormat& format = center.batch.format();
  const size_t top = (image.height - 6) / 2, left = (image.width - 4) / 2;
  for (size_t c = 0; c < 3; ++c) {
    for (size_t y = 0; y < format.height; ++y) {
      for (size_t x = 0; x < format.width; ++x) {
        const size_t at = ((y + top) * image.width + x + left) * 3 + c;
        ASSERT_NEAR(center.batch.floats()[(c * format.height + y) * format.width + x],
                    image.pixels16[at], 0.01);
      }
    }
  }
}

TEST(ImageColumnTest, Normalises16Bits) {
  ImageSpec spec{.source = DecodeOptions{.channels = 3, .bits = 16},
                 .distortion = RandomPadCropFlip{.pad = 2},
                 .normalization = Normalization{.per_image = true}};
  const ImageColumn column = column_of(spec, {wide_file()});
  double sum = 0, squares = 0;
  for (const float value : column.batch.floats()) {
    sum += value;
    squares += value * value;
  }
  const auto n = static_cast<double>(column.batch.floats().size());
  EXPECT_NEAR(sum / n, 0, 1e-5);
  EXPECT_NEAR(squares / n, 1, 1e-4);

  // Without a distortion, each value is scaled.
  spec.distortion = {};
  spec.normalization = Normalization{.scale = 1 / 65535.0f, .mean = {0.5f, 0.5f, 0.5f}};
  const DecodedImage image = decode_image(as_bytes(wide_file()), {.channels = 3, .bits = 16});
  const ImageColumn scaled = column_of(spec, {wide_file()});
  for (size_t i = 0; i < image.pixels16.size(); ++i) {
    ASSERT_EQ(scaled.batch.floats()[i],
              static_cast<float>(image.pixels16[i]) * (1 / 65535.0f) - 0.5f);
  }
}

TEST(ImageColumnTest, RoundsResized16Bits) {
  const ImageSize size{9, 11};
  // 8 bits that are widened: the result is that of 8 bits, within the rounding.
  const std::string file = png_of(scene(size, 3), size);
  ImageSpec spec{.source = DecodeOptions{.channels = 3, .bits = 16},
                 .distortion = ResizeAndCrop{.to = ImageSize{5, 6}}};
  const ImageColumn wide = column_of(spec, {file});
  spec.source = DecodeOptions{.channels = 3};
  const ImageColumn narrow = column_of(spec, {file});
  for (size_t i = 0; i < narrow.batch.uint8s().size(); ++i) {
    ASSERT_NEAR(wide.batch.uint16s()[i] / 257.0, narrow.batch.uint8s()[i], 1.1);
  }
}

TEST(ImageColumnTest, UnroundedResultsAreFloats) {
  const ImageSize size{30, 41};
  const std::string file = png_of(scene(size, 3), size);
  ImageSpec spec{.source = DecodeOptions{.channels = 3},
                 .distortion = RandomResizedCrop{.to = {12, 10}, .resampling = {.rounded = false}}};
  const ImageColumn floats = column_of(spec, {file});
  EXPECT_EQ(floats.batch.format().dtype, DType::float32);
  std::get<RandomResizedCrop>(spec.distortion).resampling.rounded = true;
  const ImageColumn bytes = column_of(spec, {file});
  bool has_fractions = false;
  for (size_t i = 0; i < bytes.batch.uint8s().size(); ++i) {
    const float value = floats.batch.floats()[i];
    ASSERT_NEAR(value, bytes.batch.uint8s()[i], 1.01);
    has_fractions |= value != std::floor(value);
  }
  EXPECT_TRUE(has_fractions);
}

TEST(ImageColumnTest, ColorJitterIsAppliedToTheCrop) {
  const ImageSize size{30, 41};
  const std::string file = png_of(scene(size, 3), size);
  ImageSpec spec{.source = DecodeOptions{.channels = 3},
                 .distortion = RandomResizedCrop{.to = {12, 10}},
                 .layout = Layout::nchw};
  const ImageColumn plain = column_of(spec, {file});
  spec.color_jitter = ColorJitterRanges::around(0.4f, 0.4f, 0.4f, 0.1f);
  const ImageColumn changed = column_of(spec, {file});
  // The numbers of the jitter are those behind the crop's.
  Random random(1, 2, 0);
  ResizedCrop::draw(random, size, {12, 10});
  std::vector<uint8_t> expected(plain.batch.uint8s().begin(), plain.batch.uint8s().end());
  color_jitter(expected, 3, ColorJitter::draw(random, *spec.color_jitter));
  EXPECT_TRUE(std::ranges::equal(changed.batch.uint8s(), expected));

  // The crop of pad_crop_flip is padded first.
  ImageSpec padded{.source = DecodeOptions{.channels = 3},
                   .distortion = RandomPadCropFlip{.pad = 9},
                   .color_jitter = ColorJitterRanges{.min_contrast = 0, .max_contrast = 0}};
  const ImageColumn grey = column_of(padded, {file});
  EXPECT_TRUE(std::ranges::all_of(grey.batch.uint8s(),
                                  [&](uint8_t v) { return v == grey.batch.uint8s()[0]; }));
}

TEST(ImageColumnTest, AListKeepsSizes) {
  const std::vector<ImageSize> sizes = {{5, 7}, {9, 2}, {1, 1}};
  std::vector<std::string> files;
  for (const ImageSize& size : sizes) files.push_back(png_of(scene(size, 3), size));
  files.push_back(png_of(scene({4, 4}, 1), {4, 4}, 1));
  const ImageColumn column = column_of({.sizes = ImageSizes::list}, files);
  ASSERT_EQ(column.images.size(), 4);
  for (size_t i = 0; i < files.size(); ++i) {
    const DecodedImage image = decode_image(as_bytes(files[i]));
    EXPECT_EQ(column.images[i].format.height, image.height);
    EXPECT_EQ(column.images[i].format.width, image.width);
    EXPECT_EQ(column.images[i].format.channels, image.channels);
    EXPECT_TRUE(
        std::ranges::equal(column.images[i].values, std::as_bytes(std::span(image.pixels))));
  }
}

TEST(ImageColumnTest, PaddingIsZero) {
  const std::vector<ImageSize> sizes = {{5, 7}, {9, 2}, {1, 1}};
  std::vector<std::string> files;
  for (const ImageSize& size : sizes) files.push_back(png_of(scene(size, 3), size));
  for (const Layout layout : {Layout::nhwc, Layout::nchw}) {
    const ImageColumnCollator collator(
        {.source = DecodeOptions{.channels = 3},
         .normalization = Normalization{.mean = {300, 300, 300}},  // no value becomes 0
         .layout = layout,
         .sizes = ImageSizes::padded});
    ImageColumn column = column_of(collator, files);
    for (int again = 0; again < 2; ++again) {  // memory is used again
      EXPECT_EQ(column.sizes, sizes);
      EXPECT_EQ(column.batch.format(), (ImageFormat{9, 7, 3, DType::float32, layout}));
      for (size_t i = 0; i < files.size(); ++i) {
        const DecodedImage image = decode_image(as_bytes(files[i]));
        for (size_t y = 0; y < 9; ++y) {
          for (size_t x = 0; x < 7; ++x) {
            for (size_t c = 0; c < 3; ++c) {
              const bool inside = y < image.height && x < image.width;
              const float expected =
                  inside ? static_cast<float>(image.pixels[(y * image.width + x) * 3 + c]) - 300
                         : 0;
              const size_t at = layout == Layout::nhwc ? (y * 7 + x) * 3 + c : (c * 9 + y) * 7 + x;
              ASSERT_EQ(column.batch.floats()[i * 9 * 7 * 3 + at], expected);
            }
          }
        }
      }
      collator.reset(column, 3);
      for (size_t i = 0; i < 3; ++i) collator.set(column, i, as_bytes(files[i]), Random(0, 0, 0));
      collator.finish(column);
    }
  }
}

TEST(ImageColumnTest, PaddingIsLimited) {
  // Of some kilobytes each: one of many rows, one of many columns, 10 GB together.
  const ImageSize tall{50'000, 1}, wide{1, 50'000};
  const std::vector<std::string> files = {png_of(std::vector<uint8_t>(50'000), tall, 1),
                                          png_of(std::vector<uint8_t>(50'000), wide, 1)};
  const Error error = error_of([&] { column_of({.sizes = ImageSizes::padded}, files); });
  EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
  EXPECT_EQ(error.path(), "photos");
  EXPECT_EQ(error.offset(), 1);
}

TEST(ImageColumnTest, DifferentImagesNeedAChoice) {
  const std::vector<std::string> sizes = {png_of(scene({4, 5}, 3), {4, 5}),
                                          png_of(scene({5, 4}, 3), {5, 4})};
  const Error error = error_of([&] { column_of(ImageSpec{}, sizes); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.offset(), 1);
  const std::vector<std::string> channels = {png_of(scene({4, 5}, 3), {4, 5}),
                                             png_of(scene({4, 5}, 1), {4, 5}, 1)};
  for (const ImageSizes choice : {ImageSizes::equal, ImageSizes::padded}) {
    EXPECT_EQ(error_of([&] { column_of({.sizes = choice}, channels); }).kind(),
              ErrorKind::unsupported);
  }
}

TEST(ImageColumnTest, OrientationComesBeforeTheCrop) {
  // Turned by 90 degrees: the first row of the upright image is the first column, from below.
  const ImageSize size{24, 40};
  const std::string plain = write_jpeg(scene(size, 3), size, {.horizontal = 1, .vertical = 1});
  const std::string exif("Exif\0\0MM\0*\0\0\0\10\0\1\1\22\0\3\0\0\0\1\0\6\0\0\0\0\0\0", 32);
  const std::string file =
      plain.substr(0, 2) + "\xFF\xE1" + std::string("\0\x22", 2) + exif + plain.substr(2);
  const DecodedImage stored = decode_image(as_bytes(plain));
  const ImageSpec spec{.source = DecodeOptions{.channels = 3, .orientation = Orientation::upright},
                       .distortion = ResizeAndCrop{.crop = ImageSize{40, 10}}};
  const ImageColumn column = column_of(spec, {file});
  for (size_t y = 0; y < 40; ++y) {
    for (size_t x = 0; x < 10; ++x) {
      const size_t row = 24 - 1 - (x + 7);
      ASSERT_EQ(column.batch.uint8s()[(y * 10 + x) * 3], stored.pixels[(row * 40 + y) * 3]);
    }
  }
}

// Smooth, as photographs at their full size are.
std::string large_photo(const ImageSize& size) {
  std::vector<uint8_t> pixels;
  for (size_t y = 0; y < size.height; ++y) {
    for (size_t x = 0; x < size.width; ++x) {
      for (const double phase : {0.0, 1.0, 2.0}) {
        const double wave = std::sin(static_cast<double>(x) * 0.05 + phase) +
                            std::cos(static_cast<double>(y) * 0.07 - phase);
        pixels.push_back(static_cast<uint8_t>(128 + 60 * wave));
      }
    }
  }
  return write_jpeg(pixels, size);
}

TEST(ImageColumnTest, ScaledDctIsNearTheWholeImage) {
  const std::string file = large_photo({403, 517});
  const std::vector<std::string> files(20, file);
  for (const Distortion& distortion :
       {Distortion(RandomResizedCrop{.to = {48, 40}, .ranges = {.flip = true}}),
        Distortion(ResizeAndCrop{.to = size_t{60}, .crop = ImageSize{48, 48}})}) {
    ImageSpec spec{.source = DecodeOptions{.channels = 3}, .distortion = distortion};
    const ImageColumn whole = column_of(spec, files);
    spec.dct_scaling = true;
    const ImageColumn scaled = column_of(spec, files);
    ASSERT_EQ(scaled.batch.uint8s().size(), whole.batch.uint8s().size());
    double sum = 0;
    int most = 0;
    for (size_t i = 0; i < whole.batch.uint8s().size(); ++i) {
      const int difference = std::abs(whole.batch.uint8s()[i] - scaled.batch.uint8s()[i]);
      most = std::max(most, difference);
      sum += difference;
    }
    EXPECT_LT(sum / static_cast<double>(whole.batch.uint8s().size()), 0.7);
    EXPECT_LE(most, 8);
    EXPECT_GT(most, 0);
  }
}

TEST(ImageColumnTest, ChecksFindWhatCropsMayMiss) {
  const ImageSize size{200, 160};
  const std::string file = write_jpeg(scene(size, 3), size);
  const ImageColumnCollator collator(
      {.source = DecodeOptions{.channels = 3, .max_pixels = 100'000},
       .distortion = ResizeAndCrop{.to = size_t{100}, .crop = ImageSize{90, 100}}});
  collator.check(as_bytes(file));
  const auto kind_of = [&](std::string_view bytes) {
    const Error error =
        error_of([&] { collator.check(as_bytes(bytes), {.path = "photos", .offset = 3}); });
    EXPECT_EQ(error.path(), "photos");
    EXPECT_EQ(error.offset(), 3);
    return error.kind();
  };
  EXPECT_EQ(kind_of(file.substr(0, file.size() - 200)), ErrorKind::truncated);
  EXPECT_EQ(kind_of(file.substr(0, file.size() / 2)), ErrorKind::truncated);
  EXPECT_EQ(kind_of(""), ErrorKind::unsupported);
  EXPECT_EQ(kind_of("garbage"), ErrorKind::unsupported);
  EXPECT_EQ(kind_of(png_of(scene({60'000, 1}, 1), {60'000, 1}, 1)), ErrorKind::limit_exceeded);
  EXPECT_EQ(kind_of(png_of(scene({400, 300}, 1), {400, 300}, 1)), ErrorKind::limit_exceeded);
}

// A line of some thousand pixels, whose short side becomes 256, would take gigabytes.
TEST(ImageColumnTest, LinesDontGrowWithoutLimit) {
  const std::string line = png_of(std::vector<uint8_t>(4000), {1, 4000}, 1);
  const ImageColumnCollator collator({.distortion = ResizeAndCrop{.to = size_t{256}}});
  EXPECT_EQ(error_of([&] { collator.check(as_bytes(line)); }).kind(), ErrorKind::limit_exceeded);
  ImageColumn column;
  collator.reset(column, 1);
  EXPECT_EQ(error_of([&] { collator.set(column, 0, as_bytes(line), Random(0, 0, 0)); }).kind(),
            ErrorKind::limit_exceeded);
  // The centre of it is small.
  const ImageColumn center = column_of(
      {.distortion = ResizeAndCrop{.to = size_t{256}, .crop = ImageSize{256, 256}}}, {line});
  EXPECT_EQ(center.batch.size(), 1);
}

TEST(ImageSpecTest, ContradictionsAreRefused) {
  const DecodeOptions wide{.channels = 3, .bits = 16};
  const ResizeAndCrop unrounded{.to = ImageSize{4, 4}, .resampling = {.rounded = false}};
  const ColorJitterRanges jitter = ColorJitterRanges::around(1, 0, 0, 0);
  for (const ImageSpec& spec :
       {ImageSpec{.source = wide, .dtype = DType::uint8},
        ImageSpec{.source = wide, .dtype = DType::float16},
        ImageSpec{.source = wide, .distortion = RandomCropFlipColor{.crop = {4, 4}}},
        ImageSpec{.source = wide, .color_jitter = jitter}, ImageSpec{.dtype = DType::uint16},
        ImageSpec{.distortion = unrounded, .dtype = DType::uint8},
        ImageSpec{.distortion = unrounded, .color_jitter = jitter},
        ImageSpec{.source = DecodeOptions{.channels = 4}, .color_jitter = jitter},
        ImageSpec{.color_jitter = ColorJitterRanges{.max_hue = 0.7f}},
        ImageSpec{.distortion = RandomCropFlipColor{.crop = {4, 4}}, .color_jitter = jitter},
        ImageSpec{.source = RawPixels{{2, 2}, 3}, .dct_scaling = true},
        ImageSpec{
            .source = wide, .normalization = Normalization{.scale = 2}, .dtype = DType::uint16}}) {
    EXPECT_EQ(error_of([&] { ImageColumnCollator collator(spec); }).kind(),
              ErrorKind::invalid_argument);
  }
}

TEST(ImageSpecTest, ParametersTellSpecsApart) {
  const ImageSpec plain{.feature = "image", .distortion = RandomResizedCrop{.to = {4, 4}}};
  std::vector<ImageSpec> specs(9, plain);
  specs[1].source = DecodeOptions{.bits = 16};
  specs[2].source = DecodeOptions{.orientation = Orientation::upright};
  specs[3].dct_scaling = true;
  specs[4].color_jitter = ColorJitterRanges{.max_hue = 0.1f};
  specs[5].sizes = ImageSizes::padded;
  specs[6].seed = 3;
  specs[7].sizes = ImageSizes::list;
  std::get<RandomResizedCrop>(specs[8].distortion).resampling.rounded = false;
  for (size_t i = 0; i < specs.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_NE(specs[i].parameter().value, specs[j].parameter().value) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace recordpipe
