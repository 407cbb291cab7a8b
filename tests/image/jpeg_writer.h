// Writes JPEG files of all kinds that decoders distinguish.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "recordpipe/image/image_size.h"

namespace recordpipe {

struct JpegKind {
  size_t channels = 3;  // 1: grey; 3: RGB, stored as YCbCr; 4: CMYK
  int horizontal = 2;   // the sampling factors of luminance; those of colour are 1
  int vertical = 2;
  bool progressive = false;
  unsigned restart_rows = 0;  // restart markers every so many rows of blocks
  bool arithmetic = false;
  bool is_ycck = false;  // CMYK is stored as YCCK; K is sampled as luminance
};

// `pixels`: [height, width, channels].
std::string write_jpeg(std::span<const uint8_t> pixels, const ImageSize& size,
                       const JpegKind& kind = {});

}  // namespace recordpipe
