// The size of an image, and a part of an image.
#pragma once

#include <cstddef>

namespace recordpipe {

struct ImageSize {
  size_t height = 32;
  size_t width = 32;
  bool operator==(const ImageSize&) const = default;
};

// Rows [top, top + height) and columns [left, left + width) of an image.
struct ImagePart {
  size_t top = 0;
  size_t left = 0;
  size_t height = 0;
  size_t width = 0;

  ImageSize size() const { return {height, width}; }
  // Whether the part is not empty, and inside of an image of this size.
  bool is_inside(const ImageSize& image) const {
    return height > 0 && width > 0 && height <= image.height && width <= image.width &&
           top <= image.height - height && left <= image.width - width;
  }
  bool operator==(const ImagePart&) const = default;
};

}  // namespace recordpipe
