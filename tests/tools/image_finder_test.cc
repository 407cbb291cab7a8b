// Tests which feature ImageFinder selects as the image, and how it interprets the bytes.
#include "tools/tfrecord/view/image_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/example/example_builder.h"
#include "recordpipe/image/decode_image.h"
#include "recordpipe/image/encode_png.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;

class FindsTest : public testing::Test {
 protected:
  // Returns the image found in `example`.
  std::optional<FoundImage> find(ImageFinder& finder, const ExampleBuilder& example) {
    bytes_ = example.serialize();
    message_.read(as_bytes(bytes_));
    return finder.find(message_);
  }

  std::string bytes_;
  MessageView message_;
};

TEST_F(FindsTest, StaysWithTheFeatureItFound) {
  ImageFinder finder;
  const std::string pixels(784, '\xff');
  EXPECT_FALSE(find(finder, ExampleBuilder().set_bytes("a", "text").set_int64("b", 784)));
  EXPECT_EQ(finder.feature(), std::nullopt);
  EXPECT_FALSE(finder.found_any());
  EXPECT_TRUE(find(finder, ExampleBuilder().set_bytes("b", pixels)));
  EXPECT_EQ(finder.feature(), "b");
  EXPECT_FALSE(find(finder, ExampleBuilder().set_bytes("a", pixels)));
  EXPECT_EQ(
      find(finder, ExampleBuilder().set_bytes("a", pixels).set_bytes("b", "no")).value().problem,
      "2 bytes that are neither an image file nor pixels of a known shape");
}

TEST_F(FindsTest, TakesUsualNamesBeforeOthers) {
  const std::string pixels(784, '\xff');
  ImageFinder finder;
  EXPECT_TRUE(find(finder, ExampleBuilder()
                               .set_bytes("depth", pixels)
                               .set_bytes("image", pixels)
                               .set_bytes("image/encoded", "no image")));
  EXPECT_EQ(finder.feature(), "image");
  EXPECT_TRUE(finder.feature_is_usual());
  ImageFinder other;
  EXPECT_TRUE(find(other, ExampleBuilder().set_bytes("depth", pixels).set_bytes("x", pixels)));
  EXPECT_EQ(other.feature(), "depth");
  EXPECT_FALSE(other.feature_is_usual());
}

TEST_F(FindsTest, TakesSizesFromTheRecord) {
  ImageFinder finder;
  const auto image = find(finder, ExampleBuilder()
                                      .set_bytes("image/raw", std::string(60, '\xff'))
                                      .set_int64("image/height", 4)
                                      .set_int64("image/width", 5));
  EXPECT_EQ(image.value().height, 4u);
  EXPECT_EQ(image.value().width, 5u);
  EXPECT_THAT(finder.how(), HasSubstr("4 x 5 x 3"));
}

TEST_F(FindsTest, NamesEveryFormatThatCame) {
  const auto file = [](std::string_view head) { return ExampleBuilder().set_bytes("a", head); };
  ImageFinder finder(
      {.feature = "a", .pixels = {.shape = PixelShape{2, 2, 1}, .shape_called = "--shape"}});
  EXPECT_EQ(finder.how(), "");
  find(finder, file("GIF89a..."));
  EXPECT_EQ(finder.how(), "gif files, as they are");
  find(finder, file(std::string_view("RIFF\0\0\0\0WEBP", 12)));
  find(finder, file("GIF89a..."));
  EXPECT_EQ(finder.how(), "gif and webp files, as they are");
  find(finder, file("\xff\xd8\xff"));
  find(finder, file("\xff\xfe\xfd\xfc"));
  EXPECT_EQ(finder.how(),
            "gif, jpeg and webp files, as they are; raw pixels, 2 x 2 x 1; as --shape says");
}

TEST_F(FindsTest, ReducesLargeFiles) {
  const auto png = [](size_t height, size_t width) {
    const std::vector<std::byte> file =
        encode_png(std::vector<uint8_t>(height * width, 9), height, width, 1);
    return ExampleBuilder().set_bytes("image", std::as_bytes(std::span(file)));
  };
  ImageFinder finder({.thumbnail = 30});
  const auto small = find(finder, png(30, 45));
  EXPECT_EQ(image_info(small.value().file).width, 45u);
  EXPECT_EQ(finder.how(), "png files, as they are");
  const auto large = find(finder, png(60, 90));
  EXPECT_EQ(image_info(large.value().file).height, 30u);
  EXPECT_EQ(image_info(large.value().file).width, 45u);
  EXPECT_EQ(large.value().width, 90u);  // that of the record
  EXPECT_EQ(finder.how(), "png files, large ones reduced to 30 pixels");
}

TEST_F(FindsTest, TakesTextForNoImage) {
  for (const size_t size : {1u, 12u, 192u, 784u, 3071u, 3072u, 10'000u}) {
    ImageFinder finder;
    EXPECT_FALSE(find(finder, ExampleBuilder().set_bytes("text", std::string(size, 'x')))) << size;
  }
}

TEST_F(FindsTest, TakesAFeatureWithoutAName) {
  ImageFinder finder;
  EXPECT_TRUE(find(finder, ExampleBuilder().set_bytes("", std::string(784, '\xff'))));
  EXPECT_EQ(finder.feature(), "");
  EXPECT_FALSE(find(finder, ExampleBuilder().set_bytes("a", std::string(784, '\xff'))));
}

TEST_F(FindsTest, SaysWhatCameNearest) {
  const std::string raw(100, '\xff');
  ImageFinder finder({.pixels = {.shape = PixelShape{2, 2, 1}}});
  EXPECT_FALSE(find(finder, ExampleBuilder().set_bytes("text", std::string(999, 'x'))));
  EXPECT_EQ(finder.misfit(), "");
  EXPECT_FALSE(find(finder, ExampleBuilder().set_bytes("raw", raw).set_bytes("id", "\xff\xfe")));
  EXPECT_FALSE(find(finder, ExampleBuilder().set_bytes("other", raw + raw)));
  EXPECT_EQ(finder.misfit(), "feature raw has 100 bytes, not the 4 of 2x2x1");
  EXPECT_FALSE(finder.found_any());

  ImageFinder named({.feature = "label"});
  EXPECT_EQ(find(named, ExampleBuilder().set_int64("label", 3)).value().problem,
            "no single value of bytes");
  EXPECT_EQ(named.misfit(), "feature label has no single value of bytes");
  EXPECT_FALSE(named.found_any());
}

}  // namespace
}  // namespace recordpipe
