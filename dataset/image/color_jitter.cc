#include "recordpipe/image/color_jitter.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dataset/image/color_jitter_implementations.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

using internal::color_jitter_highway;
using internal::color_jitter_portable;

constexpr std::array<ColorJitterImplementation, 2> kColorJitterImplementations = {{
    {"portable", color_jitter_portable},
    {"highway", color_jitter_highway},
}};

void check_bounds(const char* name, float low, float high, float least, float most) {
  if (low >= least && low <= high && high <= most) return;
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = std::string("the bounds of ") + name + " are not in order, or not " +
                         (most < 1 ? "-0.5 to 0.5" : "at least 0 and finite")});
}

float between(Random& random, float low, float high) {
  return low + random.uniform() * (high - low);
}

}  // namespace

ColorJitterRanges ColorJitterRanges::around(float brightness, float contrast, float saturation,
                                            float hue) {
  const auto low = [](float range) { return std::max(0.0f, 1 - range); };
  return {low(brightness), 1 + brightness, low(contrast), 1 + contrast,
          low(saturation), 1 + saturation, -hue,          hue};
}

void check(const ColorJitterRanges& ranges) {
  constexpr float kMax = 1e6f;
  check_bounds("brightness", ranges.min_brightness, ranges.max_brightness, 0, kMax);
  check_bounds("contrast", ranges.min_contrast, ranges.max_contrast, 0, kMax);
  check_bounds("saturation", ranges.min_saturation, ranges.max_saturation, 0, kMax);
  check_bounds("hue", ranges.min_hue, ranges.max_hue, -0.5f, 0.5f);
}

ColorJitter ColorJitter::draw(Random& random, const ColorJitterRanges& ranges) {
  ColorJitter jitter;
  for (uint32_t left = 4; left > 1; --left) {
    std::swap(jitter.order[left - 1], jitter.order[random.below(left)]);
  }
  jitter.brightness = between(random, ranges.min_brightness, ranges.max_brightness);
  jitter.contrast = between(random, ranges.min_contrast, ranges.max_contrast);
  jitter.saturation = between(random, ranges.min_saturation, ranges.max_saturation);
  jitter.hue = between(random, ranges.min_hue, ranges.max_hue);
  return jitter;
}

void color_jitter(std::span<uint8_t> planes, size_t channels, const ColorJitter& jitter) {
  if ((channels != 1 && channels != 3) || planes.size() % channels != 0) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "color_jitter needs images of 1 or 3 channels, not of " +
                           std::to_string(channels)});
  }
  kColorJitterImplementations.back().apply(planes, channels, jitter);
}

std::span<const ColorJitterImplementation> color_jitter_implementations() {
  return kColorJitterImplementations;
}

}  // namespace recordpipe
