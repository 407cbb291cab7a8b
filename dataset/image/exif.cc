#include "dataset/image/exif.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "dataset/image/file_start.h"

namespace recordpipe {
namespace {

using Bytes = std::span<const std::byte>;

// Returns nothing if the bytes are not inside of `from`.
std::optional<Bytes> slice(Bytes from, size_t begin, size_t size) {
  if (begin > from.size() || size > from.size() - begin) return std::nullopt;
  return from.subspan(begin, size);
}

std::optional<uint32_t> number(Bytes from, size_t at, size_t size, bool big_endian) {
  const std::optional<Bytes> bytes = slice(from, at, size);
  if (!bytes) return std::nullopt;
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value = value << 8 | std::to_integer<uint32_t>((*bytes)[big_endian ? i : size - 1 - i]);
  }
  return value;
}

// `tiff`: a TIFF header and the first directory (TIFF 6.0, sections 2 and "Orientation").
int orientation_of(Bytes tiff) {
  constexpr std::array<uint8_t, 4> kLittle = {'I', 'I', 42, 0};
  constexpr std::array<uint8_t, 4> kBig = {'M', 'M', 0, 42};
  constexpr uint32_t kOrientation = 0x0112, kShort = 3;
  constexpr size_t kEntry = 12;
  const bool big = starts_with(tiff, kBig);
  if (!big && !starts_with(tiff, kLittle)) return 1;
  const std::optional<uint32_t> directory = number(tiff, 4, 4, big);
  const std::optional<uint32_t> entries = directory ? number(tiff, *directory, 2, big) : directory;
  if (!entries) return 1;
  for (size_t i = 0, at = size_t{*directory} + 2; i < *entries; ++i, at += kEntry) {
    const std::optional<Bytes> entry = slice(tiff, at, kEntry);
    if (!entry) return 1;
    if (number(*entry, 0, 2, big) != kOrientation) continue;
    const uint32_t value = *number(*entry, 8, 2, big);
    const bool is_valid = number(*entry, 2, 2, big) == kShort && number(*entry, 4, 4, big) == 1u &&
                          value >= 1 && value <= 8;
    return is_valid ? static_cast<int>(value) : 1;
  }
  return 1;
}

// The first EXIF segment before the pixels.
int orientation_in_jpeg(Bytes file) {
  constexpr std::array<uint8_t, 6> kExif = {'E', 'x', 'i', 'f', 0, 0};
  constexpr uint32_t kApp1 = 0xE1, kStartOfScan = 0xDA, kEndOfImage = 0xD9;
  size_t at = 2;  // after the start of the image
  while (true) {
    if (number(file, at, 1, true) != 0xFFu) return 1;
    while (number(file, at, 1, true) == 0xFFu) ++at;  // fill bytes
    const std::optional<uint32_t> marker = number(file, at, 1, true);
    if (!marker || *marker == kStartOfScan || *marker == kEndOfImage) return 1;
    const std::optional<uint32_t> length = number(file, at + 1, 2, true);  // with its own bytes
    if (!length || *length < 2) return 1;
    const std::optional<Bytes> segment = slice(file, at + 3, *length - 2);
    if (!segment) return 1;
    if (*marker == kApp1 && starts_with(*segment, kExif)) {
      return orientation_of(segment->subspan(kExif.size()));
    }
    at += 1 + *length;
  }
}

int orientation_in_png(Bytes file) {
  constexpr uint32_t kExif = 0x65584966, kData = 0x49444154, kEnd = 0x49454E44;  // "eXIf", ...
  size_t at = 8;
  while (true) {
    const std::optional<uint32_t> length = number(file, at, 4, true);
    const std::optional<uint32_t> type = number(file, at + 4, 4, true);
    if (!length || !type || *type == kData || *type == kEnd) return 1;
    const std::optional<Bytes> chunk = slice(file, at + 8, *length);
    if (!chunk) return 1;
    if (*type == kExif) return orientation_of(*chunk);
    at += size_t{12} + *length;
  }
}

int orientation_in_webp(Bytes file) {
  constexpr std::array<uint8_t, 6> kStart = {'E', 'x', 'i', 'f', 0, 0};  // that some programs write
  constexpr uint32_t kExif = 0x46495845;                                 // "EXIF"
  size_t at = 12;
  while (true) {
    const std::optional<uint32_t> type = number(file, at, 4, false);
    const std::optional<uint32_t> length = number(file, at + 4, 4, false);
    if (!length || !type) return 1;
    const std::optional<Bytes> chunk = slice(file, at + 8, *length);
    if (!chunk) return 1;
    if (*type == kExif) {
      return orientation_of(chunk->subspan(starts_with(*chunk, kStart) ? kStart.size() : 0));
    }
    at += size_t{8} + *length + *length % 2;
  }
}

template <class Value>
void turn_pixels(const Turn& turn, const ImageSize& stored, size_t channels,
                 const std::vector<Value>& from, std::vector<Value>& to) {
  to.resize(from.size());
  if (from.empty()) return;
  const size_t height = turn.transposes ? stored.width : stored.height;
  const size_t width = turn.transposes ? stored.height : stored.width;
  Value* out = to.data();
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x, out += channels) {
      const size_t row = turn.transposes ? x : y;
      const size_t column = turn.transposes ? y : x;
      const size_t at = (turn.reverses_rows ? stored.height - 1 - row : row) * stored.width +
                        (turn.reverses_columns ? stored.width - 1 - column : column);
      std::copy_n(from.data() + at * channels, channels, out);
    }
  }
}

}  // namespace

int exif_orientation(std::span<const std::byte> file, ImageFileFormat format) {
  switch (format) {
    case ImageFileFormat::jpeg:
      return orientation_in_jpeg(file);
    case ImageFileFormat::png:
      return orientation_in_png(file);
    case ImageFileFormat::webp:
      return orientation_in_webp(file);
    case ImageFileFormat::gif:
    case ImageFileFormat::bmp:
      break;
  }
  return 1;
}

ImagePart Turn::stored(const ImagePart& upright, const ImageSize& size) const {
  ImagePart part = upright;
  if (transposes) part = {upright.left, upright.top, upright.width, upright.height};
  if (reverses_rows) part.top = size.height - part.top - part.height;
  if (reverses_columns) part.left = size.width - part.left - part.width;
  return part;
}

void Turn::apply(const DecodedImage& stored, DecodedImage& upright) const {
  upright.height = transposes ? stored.width : stored.height;
  upright.width = transposes ? stored.height : stored.width;
  upright.channels = stored.channels;
  const ImageSize size{stored.height, stored.width};
  turn_pixels(*this, size, stored.channels, stored.pixels, upright.pixels);
  turn_pixels(*this, size, stored.channels, stored.pixels16, upright.pixels16);
}

}  // namespace recordpipe
