// PNG encoding with libpng's simplified API, which returns errors and does not longjmp.
#include <string>

#include <png.h>

#include "recordpipe/error.h"
#include "recordpipe/image/encode_png.h"

namespace recordpipe {
namespace {

constexpr size_t kLongestSide = 0x7fffffff;

png_uint_32 format_of(size_t channels) {
  switch (channels) {
    case 1:
      return PNG_FORMAT_GRAY;
    case 2:
      return PNG_FORMAT_GA;
    case 3:
      return PNG_FORMAT_RGB;
    default:
      return PNG_FORMAT_RGBA;
  }
}

}  // namespace

std::vector<std::byte> encode_png(std::span<const uint8_t> pixels, size_t height, size_t width,
                                  size_t channels) {
  const bool fits = height > 0 && width > 0 && channels > 0 && channels <= 4 &&
                    height <= kLongestSide && width <= kLongestSide &&
                    pixels.size() % (width * channels) == 0 &&
                    pixels.size() / (width * channels) == height;
  if (!fits) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = std::to_string(pixels.size()) + " bytes for an image of " +
                           std::to_string(height) + " x " + std::to_string(width) + " x " +
                           std::to_string(channels)});
  }
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(height);
  image.width = static_cast<png_uint_32>(width);
  image.format = format_of(channels);
  std::vector<std::byte> file(PNG_IMAGE_PNG_SIZE_MAX(image));
  png_alloc_size_t size = file.size();
  if (png_image_write_to_memory(&image, file.data(), &size, /*convert_to_8_bit=*/0, pixels.data(),
                                /*row_stride=*/0, /*colormap=*/nullptr) == 0) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "can't be written as PNG: " + printable(image.message)});
  }
  file.resize(size);
  return file;
}

}  // namespace recordpipe
