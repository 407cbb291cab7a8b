// Values of 16 bits, the orientation of EXIF, and JPEG files decoded at a part of their size.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/image/decode_image.h"
#include "recordpipe/image/encode_png.h"
#include "tests/image/image_parts.h"
#include "tests/image/jpeg_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

std::string data_file(const std::string& name) {
  return read_file(RECORDPIPE_DATA_DIR "/images/" + name);
}

// tests/python/image_test.py compares the values with those that were encoded.
TEST(Decode16Bits, UpperBytesAreThe8Bits) {
  for (const char* name : {"grey16.png", "rgba16.png", "rgb16_interlaced.png"}) {
    for (const int channels : {0, 3, 4}) {
      const std::string file = data_file(name);
      const DecodedImage narrow = decode_image(as_bytes(file), {.channels = channels});
      const DecodedImage wide = decode_image(as_bytes(file), {.channels = channels, .bits = 16});
      EXPECT_TRUE(wide.pixels.empty());
      ASSERT_EQ(wide.pixels16.size(), narrow.pixels.size()) << name;
      bool has_low_bytes = false;
      for (size_t i = 0; i < narrow.pixels.size(); ++i) {
        ASSERT_EQ(wide.pixels16[i] >> 8, narrow.pixels[i]) << name << " " << i;
        has_low_bytes |= (wide.pixels16[i] & 255) != wide.pixels16[i] >> 8;
      }
      EXPECT_TRUE(has_low_bytes) << name;
    }
  }
}

TEST(Decode16Bits, NarrowValuesAreWidened) {
  for (const char* name :
       {"rgb8.png", "grey1.png", "grey4.png", "palette2_alpha.png", "rgb8_interlaced.png",
        "rgb420.jpg", "cmyk.jpg", "ycck.jpg", "grey.jpg"}) {
    const std::string file = data_file(name);
    ImageDecoder decoder({.bits = 16});
    const DecodedImage narrow = decode_image(as_bytes(file));
    for (const ImagePart& part : parts_of({narrow.height, narrow.width}, 1)) {
      const DecodedImage& wide =
          decoder.decode(as_bytes(file), [&](const ImageInfo&) { return part; });
      const std::vector<uint8_t> expected = cut(narrow, part);
      ASSERT_EQ(wide.pixels16.size(), expected.size()) << name;
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(wide.pixels16[i], expected[i] * 257) << name << " " << i;
      }
    }
  }
}

TEST(Decode16Bits, OtherNumbersOfBitsAreRefused) {
  EXPECT_EQ(error_of([] { ImageDecoder decoder({.bits = 12}); }).kind(),
            ErrorKind::invalid_argument);
}

TEST(Decode16Bits, TheSizeIsLimited) {
  const std::string file = data_file("rgba16.png");
  const Error error =
      error_of([&] { decode_image(as_bytes(file), {.bits = 16, .max_pixels = 11 * 13 - 1}); });
  EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
}

// A TIFF block whose first directory has two entries; the second is the orientation.
std::string tiff(int orientation, bool big_endian) {
  const auto put = [&](uint32_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) {
      text += static_cast<char>(value >> 8 * (big_endian ? bytes - 1 - i : i));
    }
    return text;
  };
  return (big_endian ? "MM" : "II") + put(42, 2) + put(8, 4) + put(2, 2) +  // the header
         put(0x010F, 2) + put(2, 2) + put(4, 4) + "abc" + put(0, 1) +       // the maker
         put(0x0112, 2) + put(3, 2) + put(1, 4) + put(static_cast<uint32_t>(orientation), 2) +
         put(0, 2) + put(0, 4);
}

std::string jpeg_with(const std::string& jpeg, const std::string& exif) {
  const size_t length = exif.size() + 8;
  return jpeg.substr(0, 2) + "\xFF\xE1" + static_cast<char>(length >> 8) +
         static_cast<char>(length & 255) + std::string("Exif\0\0", 6) + exif + jpeg.substr(2);
}

// Where pixel (y, x) of the upright image is stored, by the definitions of EXIF 2.3.
std::array<size_t, 2> stored_at(int orientation, size_t y, size_t x, size_t height, size_t width) {
  switch (orientation) {
    case 2:
      return {y, width - 1 - x};
    case 3:
      return {height - 1 - y, width - 1 - x};
    case 4:
      return {height - 1 - y, x};
    case 5:
      return {x, y};
    case 6:
      return {height - 1 - x, y};
    case 7:
      return {height - 1 - x, width - 1 - y};
    case 8:
      return {x, width - 1 - y};
    default:
      return {y, x};
  }
}

DecodedImage turned(const DecodedImage& stored, int orientation) {
  DecodedImage upright{stored.height, stored.width, stored.channels};
  if (orientation >= 5) std::swap(upright.height, upright.width);
  for (size_t y = 0; y < upright.height; ++y) {
    for (size_t x = 0; x < upright.width; ++x) {
      const auto [row, column] = stored_at(orientation, y, x, stored.height, stored.width);
      for (size_t c = 0; c < stored.channels; ++c) {
        upright.pixels.push_back(
            stored.pixels[(row * stored.width + column) * stored.channels + c]);
      }
    }
  }
  return upright;
}

TEST(DecodeOrientation, PartsAreThoseOfTheUprightImage) {
  const ImageSize size = {37, 58};
  const std::string plain = write_jpeg(scene(size, 3), size);
  const DecodedImage stored = decode_image(as_bytes(plain));
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::string file = jpeg_with(plain, tiff(orientation, orientation % 2 == 0));
    EXPECT_EQ(image_info(as_bytes(file)).orientation, orientation);
    EXPECT_EQ(image_info(as_bytes(file)).height, size.height);
    EXPECT_EQ(decode_image(as_bytes(file)).pixels, stored.pixels);  // ignored by default
    const DecodedImage expected = turned(stored, orientation);
    ImageDecoder decoder({.orientation = Orientation::upright});
    EXPECT_EQ(decoder.decode(as_bytes(file)).pixels, expected.pixels) << orientation;
    for (const ImagePart& part : parts_of({expected.height, expected.width}, 5)) {
      const DecodedImage& decoded = decoder.decode(as_bytes(file), [&](const ImageInfo& info) {
        EXPECT_EQ(info.height, expected.height);
        EXPECT_EQ(info.width, expected.width);
        return part;
      });
      EXPECT_EQ(decoded.height, part.height);
      ASSERT_EQ(decoded.pixels, cut(expected, part)) << orientation;
    }
    EXPECT_EQ(error_of([&] {
                decoder.decode(as_bytes(file), [&](const ImageInfo&) {
                  return ImagePart{0, 0, expected.height + 1, 1};
                });
              }).kind(),
              ErrorKind::invalid_argument);
  }
}

TEST(DecodeOrientation, PngFilesOf16Bits) {
  const std::string plain = data_file("rgba16.png");
  const std::string exif = tiff(6, true);
  // Behind IHDR, which has 25 bytes; the CRC of an unknown chunk is not checked.
  const std::string chunk =
      std::string(3, '\0') + static_cast<char>(exif.size()) + "eXIf" + exif + std::string(4, '\0');
  const std::string file = plain.substr(0, 33) + chunk + plain.substr(33);
  const DecodedImage stored = decode_image(as_bytes(plain), {.bits = 16});
  const DecodedImage upright =
      decode_image(as_bytes(file), {.bits = 16, .orientation = Orientation::upright});
  ASSERT_EQ(upright.height, stored.width);
  for (size_t y = 0; y < upright.height; ++y) {
    for (size_t x = 0; x < upright.width; ++x) {
      const auto [row, column] = stored_at(6, y, x, stored.height, stored.width);
      ASSERT_EQ(upright.pixels16[(y * upright.width + x) * 4],
                stored.pixels16[(row * stored.width + column) * 4]);
    }
  }
}

TEST(DecodeOrientation, WrongBlocksAreIgnored) {
  const ImageSize size = {16, 24};
  const std::string plain = write_jpeg(scene(size, 3), size);
  const std::vector<uint8_t> stored = decode_image(as_bytes(plain)).pixels;
  const auto expect_ignored = [&](const std::string& exif) {
    const std::string file = jpeg_with(plain, exif);
    EXPECT_EQ(image_info(as_bytes(file)).orientation, 1) << to_hex(exif);
    EXPECT_EQ(decode_image(as_bytes(file), {.orientation = Orientation::upright}).pixels, stored);
  };
  for (const int orientation : {0, 9, 255, 65535}) expect_ignored(tiff(orientation, false));
  const std::string good = tiff(6, false);
  for (size_t cut_at = 0; cut_at < good.size() - 1; ++cut_at) {
    expect_ignored(good.substr(0, cut_at < 34 ? cut_at : 33));
  }
  const auto changed = [&](size_t at, const std::string& bytes) {
    return good.substr(0, at) + bytes + good.substr(at + bytes.size());
  };
  expect_ignored(changed(0, "IM"));
  expect_ignored(changed(2, "+"));                           // not 42
  expect_ignored(changed(4, "\xFF\xFF\xFF\xFF"));            // a directory outside
  expect_ignored(changed(4, std::string("\x26\0\0\0", 4)));  // at the very end
  expect_ignored(changed(8, std::string("\1\0", 2)));        // the entry is not counted
  expect_ignored(changed(24, "\x04"));                       // a long integer
  expect_ignored(changed(26, "\x02"));                       // two values
  // More entries than there are: the entry is found before the end.
  const std::string many = jpeg_with(plain, changed(8, "\xFF\xFF"));
  EXPECT_EQ(image_info(as_bytes(many)).orientation, 6);
}

TEST(DecodeOrientation, AnyBytesGiveAnOrientation) {
  const ImageSize size = {16, 24};
  const std::string plain = write_jpeg(scene(size, 3), size);
  const std::string good = tiff(6, true);
  Random random(derive_key(9, 0), 0, 0);
  for (int i = 0; i < 3000; ++i) {
    std::string exif = good;
    for (uint32_t n = 1 + random.below(4); n > 0; --n) {
      exif[random.below(static_cast<uint32_t>(exif.size()))] = static_cast<char>(random.below(256));
    }
    const int orientation = image_info(as_bytes(jpeg_with(plain, exif))).orientation;
    EXPECT_GE(orientation, 1);
    EXPECT_LE(orientation, 8);
  }
}

// Waves of about 20 pixels.
std::vector<uint8_t> waves(const ImageSize& size) {
  std::vector<uint8_t> pixels;
  for (size_t y = 0; y < size.height; ++y) {
    for (size_t x = 0; x < size.width; ++x) {
      for (const double phase : {0.0, 1.0, 2.0}) {
        const double wave = std::sin(static_cast<double>(x) * 0.3 + phase) +
                            std::cos(static_cast<double>(y) * 0.4 - phase);
        pixels.push_back(static_cast<uint8_t>(128 + 60 * wave));
      }
    }
  }
  return pixels;
}

TEST(DecodeScaled, IsAboutTheMeanOfThePixels) {
  const ImageSize size = {97, 131};
  for (const JpegKind& kind :
       {JpegKind{}, JpegKind{.horizontal = 1, .vertical = 1}, JpegKind{.progressive = true}}) {
    const std::string plain = write_jpeg(waves(size), size, kind);
    for (const int orientation : {1, 3, 6}) {
      const std::string file = jpeg_with(plain, tiff(orientation, true));
      ImageDecoder decoder({.orientation = Orientation::upright});
      const DecodedImage whole = decoder.decode(as_bytes(file));
      for (const int denominator : {2, 4, 8}) {
        ScaledImage scaled;
        const auto all = [&](const ImageInfo& info) {
          scaled = scaled_image(info, denominator);
          return ChosenPart({0, 0, scaled.size.height, scaled.size.width}, denominator);
        };
        const DecodedImage small = decoder.decode(as_bytes(file), all);
        double error = 0;
        size_t count = 0;
        const auto by = static_cast<size_t>(denominator);
        for (size_t y = 1; y + 1 < small.height; ++y) {
          for (size_t x = 1; x + 1 < small.width; ++x, ++count) {
            double sum = 0;
            for (size_t i = 0; i < by * by; ++i) {
              const size_t row = y * by - scaled.top + i / by;
              const size_t column = x * by - scaled.left + i % by;
              sum += whole.pixels[(row * whole.width + column) * 3 + 1];
            }
            error += std::abs(sum / static_cast<double>(by * by) -
                              small.pixels[(y * small.width + x) * 3 + 1]);
          }
        }
        // A shift by a pixel would give 10 or more.
        EXPECT_LT(error / static_cast<double>(count), 2) << denominator << " " << orientation;
        for (const ImagePart& part : parts_of({small.height, small.width}, 3)) {
          const DecodedImage& decoded = decoder.decode(
              as_bytes(file), [&](const ImageInfo&) { return ChosenPart(part, denominator); });
          ASSERT_EQ(decoded.pixels, cut(small, part)) << denominator << " " << orientation;
        }
      }
    }
  }
}

TEST(DecodeScaled, OtherDenominatorsAndFilesAreRefused) {
  const ImageSize size = {20, 30};
  const std::string jpeg = write_jpeg(scene(size, 3), size);
  const std::string png = data_file("rgb8.png");
  ImageDecoder decoder;
  const auto kind_of = [&](const std::string& file, const ChosenPart& part) {
    return error_of([&] { decoder.decode(as_bytes(file), [&](const ImageInfo&) { return part; }); })
        .kind();
  };
  EXPECT_EQ(kind_of(jpeg, {{0, 0, 1, 1}, 3}), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of(jpeg, {{0, 0, 1, 1}, 0}), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of(jpeg, {{0, 0, 11, 15}, 2}), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of(png, {{0, 0, 1, 1}, 2}), ErrorKind::invalid_argument);
}

}  // namespace
}  // namespace recordpipe
