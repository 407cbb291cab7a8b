// The options that say how raw pixels lie in a feature: --shape and --layout.
#pragma once

#include <string>
#include <string_view>

#include "recordpipe/toolkit/pixel_guess.h"
#include "tools/tfrecord/command_line/cli_forward.h"

namespace recordpipe {

// --shape: "28x28" or "32x32x3". Throws UsageError where it is neither, or larger than
// 65535 x 65535 x 4.
PixelShape parse_pixel_shape(std::string_view text);

struct PixelArguments {
  std::string shape = {};
  std::string layout = {};
};
// Adds --shape and --layout.
void add_pixel_options(CLI::App& app, PixelArguments& arguments);
// Throws UsageError as parse_pixel_shape() does.
PixelOptions pixel_options(const PixelArguments& arguments);

}  // namespace recordpipe
