// Decodes parts of images: the same pixels as in the whole image.
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/image/decode_image.h"
#include "tests/image/image_parts.h"
#include "tests/image/jpeg_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

void expect_parts_of_the_whole(const std::string& file, const std::string& name) {
  for (const int channels : {0, 1, 3, 4}) {
    for (const Dct dct : {Dct::accurate, Dct::fast}) {
      ImageDecoder decoder({.channels = channels, .dct = dct});
      const DecodedImage whole = decoder.decode(as_bytes(file));
      for (const ImagePart& part : parts_of({whole.height, whole.width}, file.size())) {
        const DecodedImage& decoded = decoder.decode(as_bytes(file), [&](const ImageInfo& info) {
          EXPECT_EQ(info.height, whole.height);
          return part;
        });
        EXPECT_EQ(decoded.height, part.height);
        EXPECT_EQ(decoded.width, part.width);
        ASSERT_EQ(decoded.pixels, cut(whole, part))
            << name << " channels " << channels << " " << to_string(dct) << ": " << part.height
            << "x" << part.width << " at " << part.top << ", " << part.left;
      }
    }
  }
}

TEST(DecodePart, JpegsOfEverySampling) {
  for (const ImageSize size : {ImageSize{97, 131}, ImageSize{16, 200}, ImageSize{70, 9}}) {
    for (const int horizontal : {1, 2, 4}) {
      for (const int vertical : {1, 2}) {
        for (const bool progressive : {false, true}) {
          const JpegKind kind = {
              .horizontal = horizontal, .vertical = vertical, .progressive = progressive};
          expect_parts_of_the_whole(write_jpeg(scene(size, 3), size, kind),
                                    std::to_string(horizontal) + std::to_string(vertical) +
                                        (progressive ? " progressive" : ""));
        }
      }
    }
  }
}

TEST(DecodePart, OtherJpegs) {
  const ImageSize size = {61, 83};
  const auto write = [&](const JpegKind& kind) {
    return write_jpeg(scene(size, kind.channels), size, kind);
  };
  expect_parts_of_the_whole(write({.channels = 1, .horizontal = 1, .vertical = 1}), "grey");
  expect_parts_of_the_whole(write({.channels = 4, .horizontal = 1, .vertical = 1}), "CMYK");
  for (const int sampling : {1, 2}) {
    const std::string file =
        write({.channels = 4, .horizontal = sampling, .vertical = sampling, .is_ycck = true});
    expect_parts_of_the_whole(file, "YCCK " + std::to_string(sampling));
  }
  expect_parts_of_the_whole(write({.restart_rows = 1}), "with restarts");
  expect_parts_of_the_whole(write({.arithmetic = true}), "arithmetic");
}

TEST(DecodePart, PngFiles) {
  for (const char* name :
       {"rgb8.png", "rgba8.png", "grey1.png", "palette2_alpha.png", "rgb16_interlaced.png"}) {
    std::ifstream in(RECORDPIPE_DATA_DIR "/images/" + std::string(name), std::ios::binary);
    const std::string file{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    expect_parts_of_the_whole(file, name);
  }
}

TEST(DecodePart, TheChoiceMayFail) {
  const ImageSize size = {20, 30};
  const std::string file = write_jpeg(scene(size, 3), size);
  ImageDecoder decoder;
  for (const ImagePart part :
       {ImagePart{0, 0, 0, 5}, ImagePart{0, 0, 21, 5}, ImagePart{20, 0, 1, 1},
        ImagePart{0, 1, 20, 30}, ImagePart{SIZE_MAX, 0, 2, 2}}) {
    const Error error =
        error_of([&] { decoder.decode(as_bytes(file), [&](const ImageInfo&) { return part; }); });
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
  }
  EXPECT_THROW(decoder.decode(as_bytes(file),
                              [](const ImageInfo&) -> ImagePart { throw std::logic_error("no"); }),
               std::logic_error);
  EXPECT_EQ(decoder.decode(as_bytes(file)).pixels.size(), 20u * 30 * 3);
}

TEST(DecodePart, DamageAboveThePartIsAnError) {
  const ImageSize size = {200, 200};
  std::string file = write_jpeg(scene(size, 3), size);
  const auto below = [](const ImageInfo&) { return ImagePart{150, 20, 30, 30}; };
  ImageDecoder decoder;
  EXPECT_EQ(decoder.decode(as_bytes(file), below).height, 30u);
  const std::string cut_off = file.substr(0, file.size() / 2);
  EXPECT_EQ(error_of([&] { decoder.decode(as_bytes(cut_off), below); }).kind(),
            ErrorKind::truncated);
}

TEST(DecodePart, TheTransformsDiffer) {
  const ImageSize size = {64, 64};
  const std::string file = write_jpeg(scene(size, 3), size);
  const auto accurate = decode_image(as_bytes(file)).pixels;
  const auto fast = decode_image(as_bytes(file), {.dct = Dct::fast}).pixels;
  EXPECT_NE(accurate, fast);
  for (size_t i = 0; i < fast.size(); ++i) ASSERT_NEAR(fast[i], accurate[i], 8);
}

}  // namespace
}  // namespace recordpipe
