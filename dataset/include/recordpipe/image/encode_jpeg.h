// Encodes JPEG files in memory, with libjpeg-turbo. CMake target: recordpipe::image_codecs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace recordpipe {

struct JpegOptions {
  int quality = 90;     // 1 to 100; the quantisation tables of libjpeg, as in PIL
  int orientation = 1;  // 1 to 8, as ImageInfo::orientation; all but 1 are written as EXIF
};

// `pixels`: uint8, [height, width, channels]. Channels: 1 grey, 3 RGB.
// Colour is stored at half the resolution in both directions (4:2:0), as PIL and libjpeg do by
// default. Baseline, with a JFIF header. The output is deterministic for a given version of
// libjpeg-turbo.
//
// Throws Error{invalid_argument} if the sizes do not match, if the image is empty, if a side
// exceeds JPEG's limit of 65,500 pixels, or for another quality, orientation or number of channels.
std::vector<std::byte> encode_jpeg(std::span<const uint8_t> pixels, size_t height, size_t width,
                                   size_t channels, const JpegOptions& options = {});

}  // namespace recordpipe
