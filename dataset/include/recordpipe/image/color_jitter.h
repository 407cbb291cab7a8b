// Random brightness, contrast, saturation and hue: torchvision's ColorJitter for uint8 tensors, the
// changes in an order drawn at random.
//
// Each change rounds its result down to uint8, as in torchvision, in the same float operations.
// With the same factors, one change of a photograph differs by
//
//                from uint8 tensors (torchvision 0.29)   from PIL images
//   brightness   0                                       0
//   contrast     0                                       1
//   saturation   1, in up to 6 % of the values           2
//   hue          1, in 0.01 % of the values              12: PIL's hue and saturation have 8 bits
//
// at most, as torchvision's tensors and PIL images differ from each other
// (tests/python/peers/photos_test.py).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "recordpipe/base/philox.h"

namespace recordpipe {

// The factors are drawn uniformly between the bounds. Default: no change.
struct ColorJitterRanges {
  float min_brightness = 1, max_brightness = 1;  // at least 0, in order
  float min_contrast = 1, max_contrast = 1;      // likewise
  float min_saturation = 1, max_saturation = 1;  // likewise
  float min_hue = 0, max_hue = 0;                // -0.5 to 0.5, in order

  // torchvision's ColorJitter(brightness, contrast, saturation, hue): factors of max(0, 1 - x) to
  // 1 + x, hue of -hue to hue.
  static ColorJitterRanges around(float brightness, float contrast, float saturation, float hue);
  bool operator==(const ColorJitterRanges&) const = default;
};

// Throws Error{invalid_argument} for ranges that are not as described.
void check(const ColorJitterRanges& ranges);

enum class ColorChange { brightness, contrast, saturation, hue };

// The changes of one image.
struct ColorJitter {
  std::array<ColorChange, 4> order = {ColorChange::brightness, ColorChange::contrast,
                                      ColorChange::saturation, ColorChange::hue};
  float brightness = 1;  // multiplies values
  float contrast = 1;    // multiplies the distance from the mean of the grey image
  float saturation = 1;  // multiplies the distance from the pixel's grey value
  float hue = 0;         // added to the hue, where 1 is a whole turn

  // Draws the order, uniform over all 24, then the four factors in the order of the members, also
  // those whose bounds are equal.
  static ColorJitter draw(Random& random, const ColorJitterRanges& ranges);
};

// Changes an image in place: uint8, [channels, height, width], with 1 or 3 (RGB) channels.
// Saturation and hue change nothing in images of 1 channel. Grey values are 0.2989 R + 0.587 G +
// 0.114 B, rounded down. Throws Error{invalid_argument} for another number of channels, or a number
// of values that the channels don't divide. Uses the fastest implementation for this processor; all
// compute the same bytes.
void color_jitter(std::span<uint8_t> planes, size_t channels, const ColorJitter& jitter);

// One implementation, for tests and benchmarks.
struct ColorJitterImplementation {
  const char* name;  // "portable", "highway"
  void (*apply)(std::span<uint8_t> planes, size_t channels, const ColorJitter& jitter);
};

// Returns the implementations: the portable one first, the one in use last.
std::span<const ColorJitterImplementation> color_jitter_implementations();

}  // namespace recordpipe
