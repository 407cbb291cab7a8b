// Decodes JPEG, PNG, GIF, BMP and WebP files of all kinds: intact, truncated and damaged ones.
#include "recordpipe/image/decode_image.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

constexpr size_t kHeight = 11, kWidth = 13;

std::string read(const std::string& name) {
  std::ifstream in(RECORDPIPE_DATA_DIR "/images/" + name, std::ios::binary);
  std::string file{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_FALSE(file.empty()) << name;
  return file;
}

struct Golden {
  std::string name;
  std::string file;
  size_t channels;
  int bits;
  std::vector<uint8_t> pixels;

  ImageFileFormat format() const {
    if (name.ends_with(".png")) return ImageFileFormat::png;
    if (name.ends_with(".gif")) return ImageFileFormat::gif;
    if (name.ends_with(".bmp")) return ImageFileFormat::bmp;
    return name.ends_with(".webp") ? ImageFileFormat::webp : ImageFileFormat::jpeg;
  }
  bool is_exact() const { return format() != ImageFileFormat::jpeg && !name.starts_with("lossy"); }
  // The tolerance per value: versions of libjpeg-turbo round differently, and there are several
  // formulas for CMYK.
  int tolerance() const {
    return is_exact() ? 0 : name == "cmyk.jpg" || name == "ycck.jpg" ? 2 : 1;
  }
};

// libwebp is optional.
bool decodes_webp() {
  const std::string file = read("lossless.webp");
  try {
    image_info(as_bytes(file));
    return true;
  } catch (const Error& error) {
    EXPECT_NE(error.reason().find("without libwebp"), std::string::npos) << error.what();
    return false;
  }
}

std::vector<Golden> golden() {
  std::ifstream in(RECORDPIPE_DATA_DIR "/image/decoded.json");
  std::vector<Golden> all;
  for (const nlohmann::json& entry : nlohmann::json::parse(in)) {
    Golden one = {entry["name"], read(entry["name"]), entry["channels"], entry["bits"], {}};
    if (one.format() == ImageFileFormat::webp && !decodes_webp()) continue;
    const std::string hex = entry["pixels"];
    for (size_t i = 0; i < hex.size(); i += 2) {
      one.pixels.push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    all.push_back(std::move(one));
  }
  EXPECT_GT(all.size(), 15u);
  return all;
}

void expect_near(const std::vector<uint8_t>& got, const std::vector<uint8_t>& expected,
                 int tolerance, const std::string& name) {
  ASSERT_EQ(got.size(), expected.size()) << name;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::abs(got[i] - expected[i]), tolerance) << name << " value " << i;
  }
}

// Converts the `pixels` of a golden image to `channels` by the rules of decode_image.h.
std::vector<uint8_t> as_channels(const Golden& image, size_t channels) {
  std::vector<uint8_t> out;
  for (size_t i = 0; i < image.pixels.size(); i += image.channels) {
    const uint8_t* from = &image.pixels[i];
    const bool grey = image.channels <= 2;
    const int r = from[0], g = grey ? r : from[1], b = grey ? r : from[2];
    const uint8_t alpha = image.channels % 2 == 0 ? from[image.channels - 1] : 255;
    if (channels == 1) {
      out.push_back(static_cast<uint8_t>((299 * r + 587 * g + 114 * b + 500) / 1000));
    } else {
      for (const int value : {r, g, b}) out.push_back(static_cast<uint8_t>(value));
      if (channels == 4) out.push_back(alpha);
    }
  }
  return out;
}

TEST(DecodeImage, EveryKindAsStored) {
  for (const Golden& image : golden()) {
    const ImageInfo info = {.format = image.format(),
                            .height = kHeight,
                            .width = kWidth,
                            .channels = image.channels,
                            .bits_per_channel = image.bits};
    EXPECT_EQ(image_info(as_bytes(image.file)), info) << image.name;
    const DecodedImage decoded = decode_image(as_bytes(image.file));
    EXPECT_EQ(decoded.height, kHeight);
    EXPECT_EQ(decoded.width, kWidth);
    EXPECT_EQ(decoded.channels, image.channels) << image.name;
    expect_near(decoded.pixels, image.pixels, image.tolerance(), image.name);
  }
}

TEST(DecodeImage, EveryKindWithTheChannelsAskedFor) {
  for (const Golden& image : golden()) {
    for (const int channels : {1, 3, 4}) {
      const auto n = static_cast<size_t>(channels);
      const DecodedImage decoded = decode_image(as_bytes(image.file), {.channels = channels});
      EXPECT_EQ(decoded.channels, n);
      // The grey value of a JPEG is its luminance before its colours are clipped and rounded.
      const bool converted = channels == 1 && image.channels >= 3;
      const int tolerance = !converted ? image.tolerance() : image.is_exact() ? 1 : 8;
      expect_near(decoded.pixels, as_channels(image, n), tolerance,
                  image.name + " as " + std::to_string(channels));
    }
  }
}

TEST(DecodeImage, OneDecoderForImagesOfAllKinds) {
  ImageDecoder decoder({.channels = 3});
  for (int round = 0; round < 2; ++round) {
    for (const Golden& image : golden()) {
      EXPECT_EQ(decoder.decode(as_bytes(image.file)).pixels,
                decode_image(as_bytes(image.file), {.channels = 3}).pixels);
      const std::string cut = image.file.substr(0, image.file.size() / 2);
      EXPECT_THROW(decoder.decode(as_bytes(cut)), Error) << image.name;
    }
  }
}

TEST(DecodeImage, CutAtEveryLengthIsAnErrorInTheFile) {
  for (const Golden& image : golden()) {
    // In a JPEG, a missing end-of-image marker is an error, too.
    for (size_t length = 0; length < image.file.size(); ++length) {
      const std::string cut = image.file.substr(0, length);
      const Error error = error_of([&] { decode_image(as_bytes(cut)); });
      ASSERT_LE(error.offset().value_or(length + 1), length) << image.name << ": " << error.what();
      ASSERT_TRUE(error.kind() == ErrorKind::truncated || error.kind() == ErrorKind::corrupted ||
                  error.kind() == ErrorKind::unsupported)
          << image.name << " cut to " << length << ": " << error.what();
    }
  }
}

TEST(DecodeImage, CutInTheMiddleCanBeAccepted) {
  for (const char* name : {"rgb8.png", "rgb8_interlaced.png", "rgb444.jpg"}) {
    const std::string file = read(name);
    const std::string cut = file.substr(0, file.size() - 40);
    EXPECT_EQ(error_of([&] { decode_image(as_bytes(cut)); }).kind(), ErrorKind::truncated);
    const DecodedImage whole = decode_image(as_bytes(file));
    const DecodedImage part = decode_image(as_bytes(cut), {.accept_damaged = true});
    ASSERT_EQ(part.pixels.size(), whole.pixels.size());
    EXPECT_TRUE(std::equal(part.pixels.begin(), part.pixels.begin() + 3, whole.pixels.begin()));
  }
}

TEST(DecodeImage, AFlippedBitNeverDoesHarm) {
  for (const Golden& image : golden()) {
    for (size_t bit = 0; bit < image.file.size() * 8; bit += 5) {
      std::string damaged = image.file;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
      try {
        const auto decoded = decode_image(as_bytes(damaged), {.max_pixels = 1 << 16});
        ASSERT_EQ(decoded.pixels.size(), decoded.height * decoded.width * decoded.channels);
      } catch (const Error& error) {
        ASSERT_LE(error.offset().value_or(damaged.size() + 1), damaged.size());
      }
    }
  }
}

TEST(DecodeImage, RefusesTooManyPixels) {
  for (const char* name : {"rgb8.png", "rgb420.jpg", "plain.gif", "rgb24.bmp", "lossy.webp"}) {
    const std::string file = read(name);
    if (std::string_view(name).ends_with("webp") && !decodes_webp()) continue;
    const Error error =
        error_of([&] { decode_image(as_bytes(file), {.max_pixels = kHeight * kWidth - 1}); });
    EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
    EXPECT_NO_THROW(decode_image(as_bytes(file), {.max_pixels = kHeight * kWidth}));
  }
}

// Returns `file` with `height` and `width` written into its header.
std::string resized(std::string file, const char* marker, size_t after, size_t bytes,
                    uint32_t height, uint32_t width, bool width_first) {
  const size_t at = file.find(marker) + after;
  const auto put = [&](size_t place, uint32_t value) {
    for (size_t i = 0; i < bytes; ++i) {
      file[place + i] = static_cast<char>(value >> (8 * (bytes - 1 - i)));
    }
  };
  put(at, width_first ? width : height);
  put(at + bytes, width_first ? height : width);
  return file;
}

TEST(DecodeImage, AnImageThatItsFileCannotHoldTakesNoMemory) {
  const std::string jpeg = resized(read("rgb420.jpg"), "\xFF\xC0", 5, 2, 8000, 8000, false);
  EXPECT_EQ(image_info(as_bytes(jpeg)).height, 8000u);
  const Error error = error_of([&] { decode_image(as_bytes(jpeg)); });
  EXPECT_EQ(error.kind(), ErrorKind::truncated);
  EXPECT_NE(error.reason().find("too few bytes"), std::string::npos) << error.what();

  std::string png = resized(read("rgb8.png"), "IHDR", 4, 4, 8000, 8000, true);
  EXPECT_EQ(error_of([&] { decode_image(as_bytes(png)); }).kind(), ErrorKind::corrupted) << "CRC";
  constexpr size_t kHeader = 12, kHeaderSize = 17;  // "IHDR" and 13 bytes
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(&png[kHeader]), kHeaderSize);
  for (size_t i = 0; i < 4; ++i) {
    png[kHeader + kHeaderSize + i] = static_cast<char>(crc >> (24 - 8 * i));
  }
  EXPECT_EQ(error_of([&] { decode_image(as_bytes(png)); }).kind(), ErrorKind::truncated);
}

TEST(DecodeImage, AGifOrBmpThatItsFileCannotHoldTakesNoMemory) {
  std::string gif = read("plain.gif");
  const size_t frame = gif.find(std::string(",\0\0\0\0\x0D\0\x0B\0", 9));
  ASSERT_NE(frame, gif.npos);
  gif.replace(frame + 5, 4, "\x40\x1F\x40\x1F");
  EXPECT_EQ(image_info(as_bytes(gif)).width, 8000u);  // a frame may be larger than the file says
  std::string bmp = read("rgb24.bmp");
  bmp.replace(18, 8, std::string("\x40\x1F\0\0\x40\x1F\0\0", 8));
  EXPECT_EQ(image_info(as_bytes(bmp)).height, 8000u);
  for (const std::string& file : {gif, bmp}) {
    const Error error = error_of([&] { decode_image(as_bytes(file)); });
    EXPECT_EQ(error.kind(), ErrorKind::truncated);
    EXPECT_NE(error.reason().find("too few bytes"), std::string::npos) << error.what();
  }
}

TEST(DecodeImage, ACanvasOrWebpThatItsFileCannotHoldTakesNoMemory) {
  std::string gif = read("plain.gif");
  gif.replace(6, 4, std::string("\0\x20\0\x20", 4));  // the canvas, around a small frame
  EXPECT_EQ(image_info(as_bytes(gif)).width, 8192u);
  std::vector<std::string> files = {gif};
  if (decodes_webp()) {
    std::string animated = read("animated.webp");
    animated.replace(24, 6, std::string("\xFF\x1F\0\xFF\x1F\0", 6));  // less 1
    EXPECT_EQ(image_info(as_bytes(animated)).width, 8192u);
    std::string lossy = read("lossy.webp");
    const size_t frame = lossy.find("\x9D\x01\x2A");
    ASSERT_NE(frame, lossy.npos);
    lossy.replace(frame + 3, 4, std::string("\0\x20\0\x20", 4));
    EXPECT_EQ(image_info(as_bytes(lossy)).width, 8192u);
    files.insert(files.end(), {animated, lossy});
  }
  for (const std::string& file : files) {
    const Error error = error_of([&] { decode_image(as_bytes(file)); });
    EXPECT_EQ(error.kind(), ErrorKind::truncated);
    EXPECT_NE(error.reason().find("too few bytes"), std::string::npos) << error.what();
  }
}

// Codes behind the last pixel take no time: they are not read.
TEST(DecodeImage, WhatFollowsTheLastPixelOfAGif) {
  const std::string start("GIF89a\1\0\1\0\x80\0\0\x10\x20\x30\x40\x50\x60,\0\0\0\0\1\0\1\0\0\2",
                          30);
  const std::string codes("\2\xC4\1", 3);  // clear, 0, and one without meaning
  const std::string blocks = codes + "\xFF" + std::string(255, 'x') + '\0';
  EXPECT_EQ(decode_image(as_bytes(start + blocks + ";")).pixels,
            (std::vector<uint8_t>{0x10, 0x20, 0x30}));
  EXPECT_EQ(error_of([&] { decode_image(as_bytes(start + blocks)); }).kind(), ErrorKind::truncated);
}

TEST(DecodeImage, AFrameInACanvas) {
  std::string gif = read("plain.gif");
  const std::vector<uint8_t> whole = decode_image(as_bytes(gif)).pixels;
  gif.replace(6, 4, std::string("\x10\0\x0E\0", 4));  // 16 x 14
  const size_t frame = gif.find(std::string(",\0\0\0\0\x0D\0\x0B\0", 9));
  gif.replace(frame + 1, 4, std::string("\x02\0\x03\0", 4));
  const DecodedImage image = decode_image(as_bytes(gif), {.channels = 4});
  ASSERT_EQ((std::pair{image.height, image.width}), (std::pair<size_t, size_t>{14, 16}));
  for (size_t y = 0; y < 14; ++y) {
    for (size_t x = 0; x < 16; ++x) {
      const bool inside = y >= 3 && x >= 2 && x < 2 + kWidth;
      for (size_t c = 0; c < 4; ++c) {
        const uint8_t colour = !inside  ? 0
                               : c == 3 ? 255
                                        : whole[((y - 3) * kWidth + x - 2) * 3 + c];
        ASSERT_EQ(image.pixels[(y * 16 + x) * 4 + c], colour) << y << " " << x << " " << c;
      }
    }
  }
}

TEST(DecodeImage, APartAndSixteenBitsOfEveryKind) {
  for (const Golden& image : golden()) {
    const DecodedImage whole = decode_image(as_bytes(image.file));
    ImageDecoder decoder({.bits = 16});
    const DecodedImage& part = decoder.decode(as_bytes(image.file), [](const ImageInfo&) {
      return ImagePart{2, 3, 5, 7};
    });
    ASSERT_EQ(part.pixels16.size(), 5 * 7 * whole.channels) << image.name;
    if (image.bits == 16) continue;
    for (size_t y = 0; y < 5; ++y) {
      for (size_t x = 0; x < 7 * whole.channels; ++x) {
        const int value = whole.pixels[((y + 2) * kWidth + 3) * whole.channels + x];
        ASSERT_EQ(part.pixels16[y * 7 * whole.channels + x], value * 257) << image.name;
      }
    }
  }
}

TEST(DecodeImage, CompressedBmpFilesAreRefused) {
  std::string bmp = read("palette8.bmp");
  bmp[30] = 1;
  const Error error = error_of([&] { decode_image(as_bytes(bmp)); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_NE(error.reason().find("8 bits in the compression 1"), std::string::npos);
}

TEST(DecodeImage, AJpegOfManyScansIsRefused) {
  const std::string file = read("rgb420_progressive.jpg");
  const size_t end = file.size() - 2;  // the end-of-image marker
  const size_t scan = file.rfind("\xFF\xDA", end);
  std::string bomb = file.substr(0, end);
  for (int i = 0; i < 600; ++i) bomb += file.substr(scan, end - scan);
  bomb += file.substr(end);
  for (const bool accept_damaged : {false, true}) {
    EXPECT_EQ(
        error_of([&] { decode_image(as_bytes(bomb), {.accept_damaged = accept_damaged}); }).kind(),
        ErrorKind::limit_exceeded);
  }
}

TEST(DecodeImage, RefusesOtherFilesAndOtherChannels) {
  for (const std::string& file : {std::string(), std::string("II*"), std::string("BM"),
                                  std::string("RIFF1234WAVE"), std::string("\xFF\xD8")}) {
    EXPECT_EQ(error_of([&] { decode_image(as_bytes(file)); }).kind(), ErrorKind::unsupported);
    EXPECT_EQ(error_of([&] { image_info(as_bytes(file)); }).kind(), ErrorKind::unsupported);
  }
  for (const int channels : {-1, 2, 5}) {
    EXPECT_EQ(error_of([&] { ImageDecoder({.channels = channels}); }).kind(),
              ErrorKind::invalid_argument);
  }
}

}  // namespace
}  // namespace recordpipe
