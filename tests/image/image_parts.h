// Images to decode, and parts of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recordpipe/base/philox.h"
#include "recordpipe/image/decode_image.h"
#include "recordpipe/image/image_size.h"

namespace recordpipe {

// Smooth colours with noise, as in photographs.
inline std::vector<uint8_t> scene(const ImageSize& size, size_t channels) {
  Random random(derive_key(6, 0), 0, size.height * 1000 + size.width);
  std::vector<uint8_t> pixels;
  for (size_t y = 0; y < size.height; ++y) {
    for (size_t x = 0; x < size.width; ++x) {
      for (size_t c = 0; c < channels; ++c) {
        pixels.push_back(static_cast<uint8_t>(x * (c + 1) * 3 + y * (4 - c) + random.below(40)));
      }
    }
  }
  return pixels;
}

inline std::vector<uint8_t> cut(const DecodedImage& image, const ImagePart& part) {
  std::vector<uint8_t> pixels;
  for (size_t y = part.top; y < part.top + part.height; ++y) {
    const auto row = image.pixels.begin() +
                     static_cast<std::ptrdiff_t>((y * image.width + part.left) * image.channels);
    pixels.insert(pixels.end(), row,
                  row + static_cast<std::ptrdiff_t>(part.width * image.channels));
  }
  return pixels;
}

inline std::vector<ImagePart> parts_of(const ImageSize& size, uint64_t index) {
  std::vector<ImagePart> parts = {{0, 0, size.height, size.width},
                                  {0, 0, 1, 1},
                                  {size.height - 1, size.width - 1, 1, 1},
                                  {0, size.width / 2, size.height, 1},
                                  {size.height / 2, 0, 1, size.width}};
  Random random(derive_key(7, 0), 0, index);
  for (int i = 0; i < 30; ++i) {
    const size_t height = 1 + random.below(static_cast<uint32_t>(size.height));
    const size_t width = 1 + random.below(static_cast<uint32_t>(size.width));
    parts.push_back({random.below(static_cast<uint32_t>(size.height - height + 1)),
                     random.below(static_cast<uint32_t>(size.width - width + 1)), height, width});
  }
  return parts;
}

}  // namespace recordpipe
