// Decodes uncompressed BMP files: palettes of 1, 4 and 8 bits, and colours of 16, 24 and 32 bits.
#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "dataset/image/image_decoders.h"
#include "dataset/image/little_endian_reader.h"

namespace recordpipe {
namespace {

constexpr uint32_t kPlainBmp = 0, kBmpMasks = 3, kBmpMasksWithAlpha = 6;  // of "compression"
constexpr uint32_t kCoreHeader = 12, kInfoHeader = 40;

struct BmpFile {
  size_t width = 0, height = 0;
  bool top_down = false;
  uint32_t bits = 0;                        // of a pixel
  std::array<uint32_t, 4> masks = {};       // of red, green, blue and alpha in a pixel
  std::span<const std::byte> palette = {};  // of `colour_size` bytes: blue, green, red
  size_t colour_size = 4;
  size_t pixels = 0;  // offset

  size_t row_bytes() const { return (width * bits + 31) / 32 * 4; }
  ImageInfo info() const {
    return {.format = ImageFileFormat::bmp,
            .height = height,
            .width = width,
            .channels = masks[3] != 0 ? size_t{4} : size_t{3}};
  }
};

BmpFile bmp_header(std::span<const std::byte> file) {
  LittleEndianReader in(file, "BMP");
  BmpFile bmp;
  in.skip(10);
  bmp.pixels = in.number(4);
  const uint32_t size = in.number(4);
  if (size != kCoreHeader && (size < kInfoHeader || size > 256)) {
    in.fail("a header of " + std::to_string(size) + " bytes", ErrorKind::unsupported);
  }
  const bool is_core = size == kCoreHeader;
  const auto width = static_cast<int32_t>(in.number(is_core ? 2 : 4));
  const auto height = static_cast<int32_t>(in.number(is_core ? 2 : 4));
  if (width <= 0 || height == 0 || height == INT32_MIN) in.fail("no pixels");
  bmp.width = static_cast<size_t>(width);
  bmp.height = static_cast<size_t>(std::abs(height));
  bmp.top_down = height < 0;
  in.skip(2);  // planes
  bmp.bits = in.number(2);
  uint32_t compression = kPlainBmp, colours = 0;
  if (!is_core) {
    compression = in.number(4);
    in.skip(12);
    colours = in.number(4);
    in.skip(4);
  }
  const bool has_masks = compression == kBmpMasks || compression == kBmpMasksWithAlpha;
  const bool is_known = compression == kPlainBmp || (has_masks && bmp.bits >= 16);
  if (!is_known || !(bmp.bits == 1 || bmp.bits == 4 || bmp.bits == 8 || bmp.bits == 16 ||
                     bmp.bits == 24 || bmp.bits == 32)) {
    in.fail("pixels of " + std::to_string(bmp.bits) + " bits in the compression " +
                std::to_string(compression),
            ErrorKind::unsupported);
  }
  bmp.masks = bmp.bits == 16 ? std::array<uint32_t, 4>{0x7C00, 0x03E0, 0x001F, 0}
                             : std::array<uint32_t, 4>{0xFF0000, 0xFF00, 0xFF, 0};
  if (has_masks) {
    const size_t count = size >= 56 || compression == kBmpMasksWithAlpha ? 4 : 3;
    for (size_t i = 0; i < count; ++i) bmp.masks[i] = in.number(4);
  }
  if (!is_core && in.at() < size_t{14} + size) in.skip(size_t{14} + size - in.at());
  if (bmp.bits <= 8) {
    bmp.colour_size = is_core ? 3 : 4;
    const size_t most = size_t{1} << bmp.bits;
    const size_t count = colours == 0 ? most : std::min<size_t>(colours, most);
    bmp.palette = in.bytes(count * bmp.colour_size);
  }
  return bmp;
}

// The bits of a mask, as 0 to 255, rounded down, as by PIL.
uint8_t bmp_colour(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  const int shift = std::countr_zero(mask);
  const uint64_t most = mask >> shift, value = (pixel & mask) >> shift;
  return static_cast<uint8_t>(value * 255 / most);
}

// The colours of a row.
void decode_bmp_row(const BmpFile& bmp, std::span<const std::byte> row, uint8_t* rgba) {
  for (size_t x = 0; x < bmp.width; ++x, rgba += 4) {
    rgba[3] = 255;
    if (bmp.bits <= 8) {
      const size_t at = x * bmp.bits;
      const auto byte = std::to_integer<uint32_t>(row[at / 8]);
      const size_t colour = byte >> (8 - bmp.bits - at % 8) & ((1U << bmp.bits) - 1);
      const size_t begin = colour * bmp.colour_size;
      for (size_t c = 0; c < 3; ++c) {
        rgba[c] = begin + 3 <= bmp.palette.size()
                      ? std::to_integer<uint8_t>(bmp.palette[begin + 2 - c])
                      : uint8_t{0};
      }
      continue;
    }
    uint32_t pixel = 0;
    const size_t bytes = bmp.bits / 8;
    for (size_t i = 0; i < bytes; ++i) {
      pixel |= std::to_integer<uint32_t>(row[x * bytes + i]) << (8 * i);
    }
    for (size_t c = 0; c < 3; ++c) rgba[c] = bmp_colour(pixel, bmp.masks[c]);
    if (bmp.masks[3] != 0) rgba[3] = bmp_colour(pixel, bmp.masks[3]);
  }
}

}  // namespace

ImageInfo BmpDecoder::info(std::span<const std::byte> file) const {
  return bmp_header(file).info();
}

void BmpDecoder::decode(std::span<const std::byte> file, bool accept_damaged,
                        std::vector<uint8_t>& rgba) const {
  const BmpFile bmp = bmp_header(file);
  const size_t row_bytes = bmp.row_bytes();
  const size_t there = bmp.pixels < file.size() ? (file.size() - bmp.pixels) / row_bytes : 0;
  if (there < bmp.height && !accept_damaged) {
    throw too_few_bytes("BMP", file.size(), bmp.info());
  }
  rgba.assign(bmp.height * bmp.width * 4, 0);
  for (size_t i = 0; i < std::min(there, bmp.height); ++i) {
    const size_t y = bmp.top_down ? i : bmp.height - 1 - i;
    decode_bmp_row(bmp, file.subspan(bmp.pixels + i * row_bytes, row_bytes),
                   rgba.data() + y * bmp.width * 4);
  }
}

}  // namespace recordpipe
