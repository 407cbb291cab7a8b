// Batches of Examples with images: beside each step computed apart, at any number of threads, after
// a restore, and beside the Python package.
#include "recordpipe/image/batches/example_images.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "recordpipe/example/example_builder.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

constexpr ImageSize kCrop = {224, 224};

ImageSpec training() {
  return {.feature = "image",
          .source = DecodeOptions{.channels = 3},
          .distortion = RandomResizedCrop{.to = kCrop, .ranges = {.flip = true}},
          .normalization = Normalization{.scale = Normalization::kToUnit,
                                         .mean = {0.485f, 0.456f, 0.406f},
                                         .stddev = {0.229f, 0.224f, 0.225f}},
          .normalized_channels = 3,
          .layout = Layout::nchw,
          .seed = 7};
}

const ExampleSchema kLabels = {{"label", FixedLen{FeatureKind::int64s}}};

class ExampleImagesTest : public testing::Test {
 protected:
  // 150 records of the JPEG and PNG files of data/images.
  ExampleImagesTest() {
    std::vector<std::string> files;
    for (const auto& file : std::filesystem::directory_iterator(RECORDPIPE_DATA_DIR "/images")) {
      const std::string ending = file.path().extension();
      if (ending == ".jpg" || ending == ".png") files.push_back(file.path());
    }
    std::ranges::sort(files);
    for (int i = 0; i < 150; ++i) {
      files_.push_back(read_file(files[static_cast<size_t>(i) % files.size()]));
    }
  }

  std::string write(const std::string& name) const {
    const std::string path = directory_ / name;
    RecordWriter writer(posix_file_system(), path);
    for (size_t i = 0; i < files_.size(); ++i) {
      writer.write(as_bytes(ExampleBuilder()
                                .set_bytes("image", files_[i])
                                .set_int64("label", static_cast<int64_t>(i))
                                .serialize()));
    }
    writer.close();
    return path;
  }

  TemporaryDirectory directory_;
  std::vector<std::string> files_;
};

Dataset<ExampleImagesBatch> batches_of(const std::string& path, size_t threads) {
  const ExampleImagesCollator collator(kLabels, {training()});
  return draw_images(tfrecord_files({path}).shuffle(32, 3).repeat(2), collator)
      .batch(64, DropRemainder::yes, collator)
      .with_options({.threads = threads});
}

std::string bytes_of(const ExampleImagesBatch& batch) {
  return std::string(as_text(batch.images.at(0).batch.bytes())) +
         as_text(std::as_bytes(batch.example.dense<FeatureKind::int64s>("label").values));
}

TEST_F(ExampleImagesTest, TheSameBytesAtAnyNumberOfThreadsAndAfterARestore) {
  const std::string path = write("images");
  std::vector<std::string> expected;
  for (const ExampleImagesBatch& batch : batches_of(path, 1)) {
    const ImageBatch& images = batch.images.at(0).batch;
    EXPECT_EQ(images.format(), (ImageFormat{224, 224, 3, DType::float32, Layout::nchw}));
    expected.push_back(bytes_of(batch));
  }
  ASSERT_EQ(expected.size(), 4);
  for (const size_t threads : {2, 3, 4}) {
    size_t at = 0;
    for (const ExampleImagesBatch& batch : batches_of(path, threads)) {
      EXPECT_TRUE(bytes_of(batch) == expected.at(at++)) << threads;
    }
    EXPECT_EQ(at, expected.size());
  }
  auto first = batches_of(path, 2).iterate();
  ASSERT_TRUE(first.next() && first.next());
  auto second = batches_of(path, 3).iterate();
  second.restore(first.state());
  EXPECT_TRUE(bytes_of(*second.next()) == expected[2]);
}

// The same pipeline is in tests/python/resize_test.py.
TEST_F(ExampleImagesTest, BytesAreThoseOfThePythonPackage) {
  uLong sum = 0;
  for (const ExampleImagesBatch& batch : batches_of(write("images"), 2)) {
    const std::string bytes = bytes_of(batch);
    sum = crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  }
  EXPECT_EQ(sum, 69353155u);
}

TEST_F(ExampleImagesTest, EqualsTheStepsOneByOne) {
  const std::string path = write("images");
  const ExampleImagesCollator collator(kLabels, {training()});
  const ImageSpec spec = training();
  const auto& crop = std::get<RandomResizedCrop>(spec.distortion);
  auto drawn = draw_images(tfrecord_files({path}), collator).iterate();
  size_t row = 0;
  for (const ExampleImagesBatch& batch :
       draw_images(tfrecord_files({path}), collator).batch(64, DropRemainder::no, collator)) {
    const ImageBatch& images = batch.images.at(0).batch;
    for (size_t i = 0; i < images.size(); ++i, ++row) {
      Random random = drawn.next()->random(0);
      const DecodedImage image = decode_image(as_bytes(files_[row]), {.channels = 3});
      ResizedCrop resized =
          ResizedCrop::draw(random, {image.height, image.width}, crop.to, crop.ranges);
      const ImagePart part = resized.source();
      std::vector<uint8_t> pixels;
      for (size_t y = part.top; y < part.top + part.height; ++y) {
        const auto at =
            image.pixels.begin() + static_cast<std::ptrdiff_t>((y * image.width + part.left) * 3);
        pixels.insert(pixels.end(), at, at + static_cast<std::ptrdiff_t>(part.width * 3));
      }
      Resizer resizer(resize_implementations().front());
      const auto planes = resizer.resize(pixels, 3, resized.resized, Layout::nchw);
      std::vector<float> expected(kCrop.height * kCrop.width * 3);
      const CropWindow window{
          .image = planes.data(), .image_height = kCrop.height, .image_width = kCrop.width};
      crop_implementations().front().write(
          window, images.format(), channel_map(*spec.normalization, window, images.format()),
          reinterpret_cast<std::byte*>(expected.data()));
      const auto got = images.floats().subspan(i * expected.size(), expected.size());
      ASSERT_TRUE(std::ranges::equal(got, expected)) << row;
    }
  }
  EXPECT_EQ(row, files_.size());
}

TEST_F(ExampleImagesTest, BrokenImagesNameTheirRecord) {
  files_.resize(3);
  files_[1].resize(files_[1].size() / 2);
  const std::string path = write("broken");
  const ExampleImagesCollator collator(kLabels, {training()});
  const auto batches =
      draw_images(tfrecord_files({path}), collator).batch(3, DropRemainder::no, collator);
  const Error error = error_of([&] { batches.iterate().next(); });
  EXPECT_EQ(error.path(), path);
  EXPECT_TRUE(error.offset().has_value());
  EXPECT_NE(error.reason().find("image 'image'"), std::string::npos) << error.reason();
}

TEST_F(ExampleImagesTest, EachImageHasItsOwnRandomNumbers) {
  files_.assign(1, files_[0]);
  const std::string path = write("twice");
  ImageSpec left = training();
  const ExampleImagesCollator one({}, {left});
  // Without random numbers, both specs would need two features; the record has one.
  EXPECT_EQ(error_of([&] {
              ExampleImagesCollator({}, {left, left});
            }).kind(),
            ErrorKind::invalid_argument);
  EXPECT_EQ(error_of([&] {
              ExampleImagesCollator({{"image", FixedLen{FeatureKind::int64s}}}, {left});
            }).kind(),
            ErrorKind::invalid_argument);
  const auto crops =
      draw_images(tfrecord_files({path}).repeat(2), one).batch(2, DropRemainder::no, one);
  auto iterator = crops.iterate();
  const ExampleImagesBatch batch = *iterator.next();
  const auto values = batch.images[0].batch.floats();
  const size_t half = values.size() / 2;
  EXPECT_FALSE(std::ranges::equal(values.first(half), values.last(half)));
}

TEST_F(ExampleImagesTest, ImagesWithoutRandomNumbersNeedNoDraw) {
  const std::string path = write("images");
  ImageSpec evaluation = training();
  evaluation.distortion = ResizeAndCrop{.to = size_t{32}, .crop = ImageSize{24, 24}};
  const ExampleImagesCollator collator(kLabels, {evaluation});
  auto plain = tfrecord_files({path}).batch(10, DropRemainder::no, collator).iterate();
  auto drawn = draw_images(tfrecord_files({path}), collator)
                   .batch(10, DropRemainder::no, collator)
                   .iterate();
  EXPECT_TRUE(bytes_of(*plain.next()) == bytes_of(*drawn.next()));
}

TEST(ImageColumnOfExamples, TakesBytesFromAnywhere) {
  const std::string file = read_file(RECORDPIPE_DATA_DIR "/images/rgb8.png");
  const ImageColumnCollator collator({.feature = "front"});
  ImageColumn column;
  collator.reset(column, 2);
  collator.set(column, 0, as_bytes(file), Random(0, 0, 0));
  collator.set(column, 1, as_bytes(file), Random(0, 0, 0));
  collator.finish(column);
  const std::vector<uint8_t> expected = decode_image(as_bytes(file)).pixels;
  const auto values = column.batch.uint8s();
  ASSERT_EQ(values.size(), 2 * expected.size());
  EXPECT_TRUE(std::ranges::equal(values.last(expected.size()), expected));

  collator.reset(column, 1);
  const Error error = error_of([&] {
    collator.set(column, 0, as_bytes("no image"), Random(0, 0, 0),
                 {.path = "episodes", .offset = 9});
  });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.path(), "episodes");
  EXPECT_EQ(error.offset(), 9);
}

}  // namespace
}  // namespace recordpipe
