// Sizes of images in the reasons of errors.
#pragma once

#include <string>

#include "recordpipe/image/image_size.h"

namespace recordpipe {

// "480x640": the height first.
inline std::string size_text(const ImageSize& size) {
  return std::to_string(size.height) + "x" + std::to_string(size.width);
}

}  // namespace recordpipe
