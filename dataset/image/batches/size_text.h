// Sizes of images, as text.
#pragma once

#include <cstddef>
#include <string>

#include "recordpipe/image/image_size.h"

namespace recordpipe {

// For example 32x48, and 32x48x3 with channels.
inline std::string text(const ImageSize& size) {
  return std::to_string(size.height) + "x" + std::to_string(size.width);
}
inline std::string text(const ImageSize& size, size_t channels) {
  return text(size) + "x" + std::to_string(channels);
}

}  // namespace recordpipe
