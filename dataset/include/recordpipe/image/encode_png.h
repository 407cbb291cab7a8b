// Pixels to a PNG file in memory. By libpng; target recordpipe::image_codecs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace recordpipe {

// `pixels` are [height, width, channels], 8 bits each; 1 channel is grey, 2 grey and alpha, 3 RGB,
// 4 RGB and alpha. The same pixels give the same bytes with the same libpng and zlib. Throws
// Error{invalid_argument} where the sizes don't fit, or there is no pixel, or a side is longer than
// PNG's limit, 2^31 - 1.
std::vector<std::byte> encode_png(std::span<const uint8_t> pixels, size_t height, size_t width,
                                  size_t channels);

}  // namespace recordpipe
