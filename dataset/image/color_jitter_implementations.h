// The implementations of color_jitter(), and the arithmetic of a pixel. They are compiled without
// contraction into fused multiply-adds, so that they round alike.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "recordpipe/image/color_jitter.h"

namespace recordpipe::internal {

void color_jitter_portable(std::span<uint8_t> planes, size_t channels, const ColorJitter& jitter);
void color_jitter_highway(std::span<uint8_t> planes, size_t channels, const ColorJitter& jitter);

// The weights of grey values.
constexpr float kRed = 0.2989f, kGreen = 0.587f, kBlue = 0.114f;
// torchvision's factor from 0..1 to bytes, which are rounded down.
constexpr float kToByte = 255.999f;

inline uint8_t byte_of(float value) {
  return static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f));
}

inline float grey_of(float red, float green, float blue) {
  return std::floor(red * kRed + green * kGreen + blue * kBlue);
}

// Changes the hue of one pixel: to HSV and back, as torchvision does.
inline void turn_hue(uint8_t& red, uint8_t& green, uint8_t& blue, float turn) {
  const float r = static_cast<float>(red) / 255.0f;
  const float g = static_cast<float>(green) / 255.0f;
  const float b = static_cast<float>(blue) / 255.0f;
  const float most = std::max({r, g, b});
  const float range = most - std::min({r, g, b});
  const float saturation = range / (range == 0 ? 1.0f : most);
  const float divisor = range == 0 ? 1.0f : range;
  const float rc = (most - r) / divisor;
  const float gc = (most - g) / divisor;
  const float bc = (most - b) / divisor;
  const float sixths = most == r ? bc - gc : most == g ? rc + 2.0f - bc : gc + 4.0f - rc;
  float hue = sixths * (1.0f / 6.0f) + 1.0f;
  hue = hue - std::floor(hue);
  hue = hue + turn;
  hue = hue - std::floor(hue);
  const float h6 = hue * 6.0f;
  const float sector = std::floor(h6);
  const float fraction = h6 - sector;
  const float sf = saturation * fraction;
  const float grey = 1.0f - saturation;
  const float q = std::clamp((1.0f - sf) * most, 0.0f, 1.0f);
  const float t = std::clamp((sf + grey) * most, 0.0f, 1.0f);
  const float p = std::clamp(grey * most, 0.0f, 1.0f);
  const auto byte = [](float value) { return static_cast<uint8_t>(value * kToByte); };
  const bool is0 = sector == 0 || sector == 6, is1 = sector == 1, is2 = sector == 2;
  const bool is3 = sector == 3, is4 = sector == 4;
  red = byte(is0 ? most : is1 ? q : is2 || is3 ? p : is4 ? t : most);
  green = byte(is0 ? t : is1 || is2 ? most : is3 ? q : p);
  blue = byte(is0 || is1 ? p : is2 ? t : is3 || is4 ? most : q);
}

inline uint64_t sum_of(std::span<const uint8_t> values) {
  uint64_t sum = 0;
  for (const uint8_t value : values) sum += value;
  return sum;
}

// Applies the changes in their order, by the operations of `Operations`: whole planes at a time.
template <class Operations>
void apply_changes(std::span<uint8_t> planes, size_t channels, const ColorJitter& jitter) {
  const size_t size = planes.size() / channels;
  uint8_t* const red = planes.data();
  uint8_t* const green = red + (channels == 3 ? size : 0);
  uint8_t* const blue = red + (channels == 3 ? 2 * size : 0);
  for (const ColorChange change : jitter.order) {
    switch (change) {
      case ColorChange::brightness:
        if (jitter.brightness != 1) Operations::blend(planes, 0, jitter.brightness);
        break;
      case ColorChange::contrast: {
        if (jitter.contrast == 1 || planes.empty()) break;
        const uint64_t sum =
            channels == 3 ? Operations::sum_of_greys(red, green, blue, size) : sum_of(planes);
        const auto mean = static_cast<float>(static_cast<double>(sum) / static_cast<double>(size));
        Operations::blend(planes, mean, jitter.contrast);
        break;
      }
      case ColorChange::saturation:
        if (jitter.saturation == 1 || channels != 3) break;
        Operations::blend_with_grey(red, green, blue, size, jitter.saturation);
        break;
      case ColorChange::hue:
        if (jitter.hue == 0 || channels != 3) break;
        Operations::turn_hues(red, green, blue, size, jitter.hue);
        break;
    }
  }
}

}  // namespace recordpipe::internal
