// Changes colours in scalar loops.
#include "dataset/image/color_jitter_implementations.h"

namespace recordpipe::internal {
namespace {

struct Portable {
  // Each value becomes value * factor + with * (1 - factor).
  static void blend(std::span<uint8_t> planes, float with, float factor) {
    const float add = with * (1.0f - factor);
    for (uint8_t& value : planes) value = byte_of(static_cast<float>(value) * factor + add);
  }

  static uint64_t sum_of_greys(const uint8_t* red, const uint8_t* green, const uint8_t* blue,
                               size_t size) {
    uint64_t sum = 0;
    for (size_t i = 0; i < size; ++i) {
      sum += static_cast<uint64_t>(grey_of(red[i], green[i], blue[i]));
    }
    return sum;
  }

  static void blend_with_grey(uint8_t* red, uint8_t* green, uint8_t* blue, size_t size,
                              float factor) {
    for (size_t i = 0; i < size; ++i) {
      const float add = grey_of(red[i], green[i], blue[i]) * (1.0f - factor);
      red[i] = byte_of(static_cast<float>(red[i]) * factor + add);
      green[i] = byte_of(static_cast<float>(green[i]) * factor + add);
      blue[i] = byte_of(static_cast<float>(blue[i]) * factor + add);
    }
  }

  static void turn_hues(uint8_t* red, uint8_t* green, uint8_t* blue, size_t size, float turn) {
    for (size_t i = 0; i < size; ++i) turn_hue(red[i], green[i], blue[i], turn);
  }
};

}  // namespace

void color_jitter_portable(std::span<uint8_t> planes, size_t channels, const ColorJitter& jitter) {
  apply_changes<Portable>(planes, channels, jitter);
}

}  // namespace recordpipe::internal
