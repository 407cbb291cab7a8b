// Decodes any bytes as an image file: gives pixels that match the header, or an Error with an
// offset in the input. Decodes PNG files a second time with correct checksums; otherwise, the
// checks would reject all damage immediately.
#include <cstdint>
#include <cstdlib>
#include <string>

#include <zlib.h>

#include "recordpipe/base/error.h"
#include "recordpipe/image/decode_image.h"

namespace recordpipe {
namespace {

void decode(std::span<const std::byte> file, const DecodeOptions& options) {
  try {
    const ImageInfo info = image_info(file);
    const DecodedImage image = decode_image(file, options);
    const bool turned = options.orientation == Orientation::upright && info.orientation >= 5;
    const size_t values = options.bits == 16 ? image.pixels16.size() : image.pixels.size();
    if (image.height != (turned ? info.width : info.height) ||
        image.width != (turned ? info.height : info.width) ||
        image.height * image.width > options.max_pixels ||
        values != image.height * image.width * image.channels ||
        image.channels !=
            (options.channels == 0 ? info.channels : static_cast<size_t>(options.channels))) {
      std::abort();
    }
  } catch (const Error& error) {
    if (error.offset().value_or(file.size() + 1) > file.size() || error.reason().empty()) {
      std::abort();
    }
  }
}

uint32_t big_endian(const std::string& file, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(file[at + i]);
  return value;
}

// A PNG file consists of chunks: length, name, data, CRC of name and data.
std::string with_right_checksums(std::string file) {
  for (size_t at = 8; at + 12 <= file.size();) {
    const size_t length = big_endian(file, at);
    if (length > file.size() - at - 12) break;
    const auto* named = reinterpret_cast<const Bytef*>(file.data() + at + 4);
    const auto crc = static_cast<uint32_t>(crc32(0, named, static_cast<uInt>(length + 4)));
    at += 12 + length;
    for (size_t i = 0; i < 4; ++i) file[at - 4 + i] = static_cast<char>(crc >> (24 - 8 * i));
  }
  return file;
}

void decode_in_all_ways(const std::string& input) {
  const std::span file(reinterpret_cast<const std::byte*>(input.data()), input.size());
  DecodeOptions options = {.max_pixels = 1 << 16};
  decode(file, options);
  options.channels = 1;
  decode(file, options);
  options.accept_damaged = true;
  options.channels = 4;
  options.bits = 16;
  options.orientation = Orientation::upright;
  decode(file, options);
}

}  // namespace
}  // namespace recordpipe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  recordpipe::decode_in_all_ways(input);
  if (input.starts_with("\x89PNG")) {
    recordpipe::decode_in_all_ways(recordpipe::with_right_checksums(input));
  }
  return 0;
}
