// Tests that the images of records become smaller, and all else stays.
#include "recordpipe/toolkit/resize_images.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/example/example_builder.h"
#include "recordpipe/example/feature_values.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/image/decode_image.h"
#include "recordpipe/image/encode_jpeg.h"
#include "recordpipe/image/encode_png.h"
#include "recordpipe/image/resize.h"
#include "recordpipe/toolkit/record_selection.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<uint8_t> noise(size_t height, size_t width, size_t channels) {
  std::vector<uint8_t> pixels;
  for (size_t i = 0; i < height * width * channels; ++i) {
    pixels.push_back(static_cast<uint8_t>(i * 2654435761U >> 24));
  }
  return pixels;
}

std::vector<std::byte> png(size_t height, size_t width, size_t channels = 3) {
  return encode_png(noise(height, width, channels), height, width, channels);
}

// Keeps the edited record, and views its features.
class Edited {
 public:
  Edited(const std::string& record, const ImageResizing& resizing) {
    const EditedMessage message = edit_features(as_bytes(record), resize_images(resizing));
    for (const auto& piece : message.pieces) bytes_ += as_text(piece);
    view_.read(as_bytes(bytes_));
  }
  const std::string& bytes() const { return bytes_; }
  std::vector<std::span<const std::byte>> images(const std::string& name) const {
    std::vector<std::span<const std::byte>> values;
    for_each_value<FeatureKind::bytes>(*view_.find_feature(name),
                                       [&](auto value) { values.push_back(value); });
    return values;
  }
  int64_t number(const std::string& name) const {
    return *view_.find_feature(name)->single_int64();
  }

 private:
  std::string bytes_;
  MessageView view_;
};

TEST(ResizeImages, KeepsTheFormatAndTheRatio) {
  const auto file = encode_jpeg(noise(40, 61, 3), 40, 61, 3, {.quality = 95});
  const std::string record = ExampleBuilder()
                                 .set_bytes("image/encoded", file)
                                 .set_int64("image/height", 40)
                                 .set_int64("image/width", 61)
                                 .set_int64("height", 7)
                                 .set_int64("label", 40)
                                 .serialize();
  const Edited edited(record, {.short_side = 16, .quality = 80});
  const auto image = edited.images("image/encoded").front();
  const ImageInfo info = image_info(image);
  EXPECT_EQ(info.format, ImageFileFormat::jpeg);
  EXPECT_EQ(info.height, 16u);
  EXPECT_EQ(info.width, 24u);
  EXPECT_EQ(edited.number("image/height"), 16);
  EXPECT_EQ(edited.number("image/width"), 24);
  EXPECT_EQ(edited.number("height"), 7) << "which was not the image's";
  EXPECT_EQ(edited.number("label"), 40);
  // The pixels are those of the three steps, one by one.
  const DecodedImage decoded = decode_image(file);
  Resizer resizer;
  const auto pixels = resizer.resize(decoded.pixels, 3, Resized::whole({40, 61}, {16, 24}));
  EXPECT_EQ(as_text(image), as_text(encode_jpeg(pixels, 16, 24, 3, {.quality = 80})));
}

TEST(ResizeImages, KeepsTheOrientation) {
  const auto file = encode_jpeg(noise(40, 60, 3), 40, 60, 3, {.orientation = 6});
  ASSERT_EQ(image_info(file).orientation, 6);
  const Edited edited(ExampleBuilder().set_bytes("image", file).serialize(), {.short_side = 20});
  const ImageInfo info = image_info(edited.images("image").front());
  EXPECT_EQ(info.orientation, 6);
  EXPECT_EQ(info.height, 20u);
}

TEST(ResizeImages, KeepsTheChannelsOfPngs) {
  for (size_t channels = 1; channels <= 4; ++channels) {
    const std::string record = ExampleBuilder().set_bytes("img", png(20, 10, channels)).serialize();
    const Edited edited(record, {.short_side = 5});
    const ImageInfo info = image_info(edited.images("img").front());
    EXPECT_EQ(info.format, ImageFileFormat::png);
    EXPECT_EQ(info.height, 10u);
    EXPECT_EQ(info.width, 5u);
    EXPECT_EQ(info.channels, channels);
  }
}

TEST(ResizeImages, KeepsSixteenBits) {
  std::vector<uint16_t> pixels(20 * 20 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint16_t>(1000 * (i % 3) + 7);
  const auto file = encode_png(pixels, 20, 20, 3);
  const Edited edited(ExampleBuilder().set_bytes("image", file).serialize(), {.short_side = 5});
  const auto image = edited.images("image").front();
  EXPECT_EQ(image_info(image).bits_per_channel, 16);
  const DecodedImage decoded = decode_image(image, {.bits = 16});
  EXPECT_EQ(decoded.height, 5u);
  for (size_t i = 0; i < 5 * 5 * 3; ++i) EXPECT_EQ(decoded.pixels16[i], 1000 * (i % 3) + 7) << i;
}

TEST(ResizeImages, LeavesSmallImagesAsTheyAre) {
  const std::string record =
      ExampleBuilder().set_bytes("image", png(20, 10)).set_int64("height", 20).serialize();
  EXPECT_EQ(Edited(record, {.short_side = 10}).bytes(), record);
}

TEST(ResizeImages, TakesAllImagesOfTheNamedFeatures) {
  const auto first = png(20, 10), second = png(8, 9), third = png(30, 40);
  const std::vector<std::span<const std::byte>> frames{first, second, third};
  const std::string record = ExampleBuilder()
                                 .set_bytes_list("steps/image", frames)
                                 .set_bytes("mask", png(30, 30, 1))
                                 .set_bytes("image", "no image, and not named")
                                 .serialize();
  const Edited edited(record, {.features = {"steps/image", "mask", "missing"}, .short_side = 5});
  std::vector<size_t> heights;
  for (const auto image : edited.images("steps/image")) {
    heights.push_back(image_info(image).height);
  }
  EXPECT_THAT(heights, ElementsAre(10, 5, 5));
  EXPECT_EQ(image_info(edited.images("mask").front()).channels, 1u);
}

TEST(ResizeImages, NamesWhatItCannotResize) {
  const auto error = [](const ExampleBuilder& record, const ImageResizing& resizing = {}) {
    return error_of([&] { Edited(record.serialize(), resizing); });
  };
  const Error none = error(ExampleBuilder().set_int64("label", 1));
  EXPECT_EQ(none.kind(), ErrorKind::not_found);
  EXPECT_THAT(none.reason(), HasSubstr("none of the features image/encoded, image, "));
  const Error text = error(ExampleBuilder().set_bytes("image", "text"));
  EXPECT_EQ(text.kind(), ErrorKind::unsupported);
  EXPECT_THAT(text.reason(), testing::StartsWith("feature image: "));
  auto cut = png(300, 300);
  cut.resize(cut.size() / 2);
  const Error truncated = error(ExampleBuilder().set_bytes("image", cut));
  EXPECT_EQ(truncated.kind(), ErrorKind::truncated);
  EXPECT_EQ(truncated.offset(), std::nullopt) << "which would be that of a record";
  EXPECT_THAT(truncated.reason(),
              HasSubstr("(byte " + std::to_string(cut.size()) + " of its value)"));
  for (const ImageResizing& bad : {ImageResizing{.short_side = 0}, ImageResizing{.quality = 101},
                                   ImageResizing{.quality = 0}}) {
    EXPECT_EQ(error_of([&] { resize_images(bad); }).kind(), ErrorKind::invalid_argument);
  }
}

TEST(ResizeImages, OfManyRecordsAreTheSameOnAnyNumberOfThreads) {
  std::vector<std::string> records;
  for (size_t i = 0; i < 300; ++i) {
    ExampleBuilder builder;
    builder.set_int64("id", static_cast<int64_t>(i));
    if (i % 50 == 49) {
      builder.set_bytes("image", "broken");
    } else {
      builder.set_bytes("image", png(20 + i % 7, 30, 3));
    }
    records.push_back(builder.serialize());
  }
  const auto run = [&](size_t threads, std::vector<uint64_t>& failed) {
    size_t next = 0;
    RecordSelection selection{.edit = resize_images({.short_side = 8}), .threads = threads};
    selection.on_failed_edit = [&](const Error& error) {
      EXPECT_EQ(error.path(), "file");
      failed.push_back(*error.offset());
    };
    std::string bytes;
    const SelectionReport report = select_records(
        [&]() -> std::optional<Record> {
          if (next == records.size()) return std::nullopt;
          const auto data = as_bytes(records[next]);
          return Record{.data = data, .offset = next++ * 10, .path = "file"};
        },
        selection,
        [&](RecordPieces pieces) {
          for (const auto& piece : pieces) bytes += as_text(piece);
        });
    EXPECT_EQ(report.read, 300u);
    EXPECT_EQ(report.taken, 294u);
    EXPECT_EQ(report.failed, 6u);
    return bytes;
  };
  std::vector<uint64_t> failed;
  const std::string expected = run(1, failed);
  EXPECT_THAT(failed, ElementsAre(490, 990, 1490, 1990, 2490, 2990));
  for (const size_t threads : {size_t{2}, size_t{5}}) {
    std::vector<uint64_t> others;
    EXPECT_EQ(run(threads, others), expected);
    EXPECT_EQ(others, failed);
  }
}

}  // namespace
}  // namespace recordpipe
