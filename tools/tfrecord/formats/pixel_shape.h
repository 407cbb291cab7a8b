// How raw pixels lie in a feature.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tools/tfrecord/command_line/cli_forward.h"

namespace recordpipe {

enum class PixelLayout {
  interleaved,  // [height, width, channels]
  planar,       // [channels, height, width]
};

inline constexpr size_t kLongestSide = 65535;
inline constexpr size_t kMostChannels = 4;

struct PixelShape {
  size_t height = 0;
  size_t width = 0;
  size_t channels = 0;  // 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha

  size_t bytes() const { return height * width * channels; }
};

// --shape: "28x28" or "32x32x3". Throws UsageError where it is neither, or larger than
// 65535 x 65535 x 4.
PixelShape parse_pixel_shape(std::string_view text);

// What was said of raw pixels; what wasn't is to be guessed (pixel_guess.h).
struct PixelOptions {
  std::optional<PixelShape> shape = {};
  std::optional<PixelLayout> layout = {};
};

struct PixelArguments {
  std::string shape = {};
  std::string layout = {};
};
// Adds --shape and --layout.
void add_pixel_options(CLI::App& app, PixelArguments& arguments);
// Throws UsageError as parse_pixel_shape() does.
PixelOptions pixel_options(const PixelArguments& arguments);

}  // namespace recordpipe
