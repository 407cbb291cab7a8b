// What all crops come down to: a window on an image, copied to its place in a batch in one pass.
//
// The seam between the distortions, which decide what is to be seen (pad_crop_flip.h), and the
// implementations, which move the bytes. Sizes and formats are checked by the callers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "recordpipe/image/image_batch.h"

namespace recordpipe {

struct CropWindow {
  const uint8_t* image = nullptr;  // [format.channels, image_height, image_width]
  size_t image_height = 0;
  size_t image_width = 0;
  // The window's first row and column in the image's coordinates; format.height by format.width
  // large, it may lie outside in part or as a whole. At most 2^30 either way.
  int64_t top = 0;
  int64_t left = 0;
  bool flip = false;  // left to right, after the crop
  // An image as large that will be read next, if known: fetched to the cache meanwhile.
  const uint8_t* next = nullptr;
};

// What becomes of a value x of channel c: (x * multiply[c] + add[c]) / divide[c], in float, each
// operation rounded for itself. The default changes nothing.
struct ChannelMap {
  static constexpr size_t kMaxChannels = 4;
  std::array<float, kMaxChannels> multiply = {1, 1, 1, 1};
  std::array<float, kMaxChannels> add = {0, 0, 0, 0};
  std::array<float, kMaxChannels> divide = {1, 1, 1, 1};
  bool operator==(const ChannelMap&) const = default;
};

// Writes the window to `out`: format.bytes_per_image() bytes, aligned for the dtype, in format's
// dtype and layout. Pixels outside the image are 0 before `map` is applied. A map other than the
// default needs a floating-point dtype and at most kMaxChannels channels.
// Uses the fastest implementation this processor has; all give the same bytes.
void write_window(const CropWindow& window, const ImageFormat& format, const ChannelMap& map,
                  std::byte* out);

// One way to do it, for tests and benchmarks.
struct CropImplementation {
  const char* name;  // "portable", "highway"
  void (*write)(const CropWindow& window, const ImageFormat& format, const ChannelMap& map,
                std::byte* out);
};

// The plain one first and the one in use last.
const std::vector<CropImplementation>& crop_implementations();

}  // namespace recordpipe
