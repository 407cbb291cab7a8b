// Sums per row, so that they fit in 32 bits and the loop is vectorised.
#include "dataset/image/channel_sums.h"

#include <algorithm>

namespace recordpipe {
namespace {

// 65,025 * 65,536 is the largest multiple of 255 squared below 2^32.
constexpr int64_t kMostAtOnce = 65'536;

}  // namespace

ChannelSums sum_channel(const CropWindow& window, const ImageFormat& format, size_t channel) {
  const auto image_height = static_cast<int64_t>(window.image_height);
  const auto image_width = static_cast<int64_t>(window.image_width);
  // The part of the image that the window shows.
  const int64_t top = std::clamp<int64_t>(window.top, 0, image_height);
  const int64_t bottom =
      std::clamp<int64_t>(window.top + static_cast<int64_t>(format.height), top, image_height);
  const int64_t left = std::clamp<int64_t>(window.left, 0, image_width);
  const int64_t right =
      std::clamp<int64_t>(window.left + static_cast<int64_t>(format.width), left, image_width);
  ChannelSums sums;
  for (int64_t y = top; y < bottom; ++y) {
    const uint8_t* row =
        window.image + (static_cast<int64_t>(channel) * image_height + y) * image_width;
    for (int64_t begin = left; begin < right; begin += kMostAtOnce) {
      const int64_t end = std::min(begin + kMostAtOnce, right);
      uint32_t values = 0, squares = 0;
      for (int64_t x = begin; x < end; ++x) {
        const uint32_t value = row[x];
        values += value;
        squares += value * value;
      }
      sums.values += values;
      sums.squares += squares;
    }
  }
  return sums;
}

}  // namespace recordpipe
