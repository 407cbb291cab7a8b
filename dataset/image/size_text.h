// Sizes of images as text.
#pragma once

#include <cstddef>
#include <string>

#include "recordpipe/image/image_size.h"

namespace recordpipe {

// "480x640": the height first. With channels "480x640x3".
inline std::string size_text(const ImageSize& size) {
  return std::to_string(size.height) + "x" + std::to_string(size.width);
}
inline std::string size_text(const ImageSize& size, size_t channels) {
  return size_text(size) + "x" + std::to_string(channels);
}

}  // namespace recordpipe
