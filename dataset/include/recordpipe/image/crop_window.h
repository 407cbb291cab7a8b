// Copies a window of an image into a batch in one pass: the common operation of all crops.
//
// This is the interface between the distortions, which choose the window (pad_crop_flip.h), and the
// implementations, which copy the pixels. Callers must check sizes and formats.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "recordpipe/image/image_batch.h"

namespace recordpipe {

template <class Value>
struct CropWindowOf {
  const Value* image = nullptr;  // [format.channels, image_height, image_width]
  size_t image_height = 0;
  size_t image_width = 0;
  // First row and column of the window in the image, each from -2^30 to 2^30. The window has the
  // size format.height x format.width and may be partly or completely outside the image.
  int64_t top = 0;
  int64_t left = 0;
  bool flip = false;  // horizontally, after the crop
  // The image of the same size that will be read next, if known. It is prefetched into the CPU
  // cache.
  const Value* next = nullptr;
};
using CropWindow = CropWindowOf<uint8_t>;

// A linear function per channel: a value x of channel c becomes (x * multiply[c] + add[c]) /
// divide[c], in float, each operation rounded. Default: the identity.
struct ChannelMap {
  static constexpr size_t kMaxChannels = 4;
  std::array<float, kMaxChannels> multiply = {1, 1, 1, 1};
  std::array<float, kMaxChannels> add = {0, 0, 0, 0};
  std::array<float, kMaxChannels> divide = {1, 1, 1, 1};
  bool operator==(const ChannelMap&) const = default;
};

// Writes the window to `out`: format.bytes_per_image() bytes, aligned for the dtype, in the dtype
// and layout of `format`. Pixels outside the image are 0 before `map` is applied. A map other than
// the default requires a floating-point dtype and at most kMaxChannels channels. Uses the fastest
// implementation for this processor; all implementations write the same bytes.
void write_window(const CropWindow& window, const ImageFormat& format, const ChannelMap& map,
                  std::byte* out);

// The same for images of 16 bits, and for values that were resized to floats. Not to uint8; floats
// are rounded to uint16, half up, and clipped. A plain implementation.
void write_window(const CropWindowOf<uint16_t>& window, const ImageFormat& format,
                  const ChannelMap& map, std::byte* out);
void write_window(const CropWindowOf<float>& window, const ImageFormat& format,
                  const ChannelMap& map, std::byte* out);

// One implementation, for tests and benchmarks.
struct CropImplementation {
  const char* name;  // "portable", "highway"
  void (*write)(const CropWindow& window, const ImageFormat& format, const ChannelMap& map,
                std::byte* out);
};

// Returns the implementations: the portable one first, the one in use last.
const std::vector<CropImplementation>& crop_implementations();

}  // namespace recordpipe
