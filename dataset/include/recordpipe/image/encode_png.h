// Encodes PNG files in memory, with libpng. CMake target: recordpipe::image_codecs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace recordpipe {

// `pixels`: [height, width, channels]; uint16 makes a file of 16 bits per channel. Channels: 1
// grey, 2 grey and alpha, 3 RGB, 4 RGBA. The output is deterministic for given versions of libpng
// and zlib. Throws Error{invalid_argument} if the sizes do not match, if the image is empty, or if
// a side exceeds PNG's limit of 2^31 - 1.
std::vector<std::byte> encode_png(std::span<const uint8_t> pixels, size_t height, size_t width,
                                  size_t channels);
std::vector<std::byte> encode_png(std::span<const uint16_t> pixels, size_t height, size_t width,
                                  size_t channels);

}  // namespace recordpipe
