#include "tools/tfrecord/command_line/pixel_options.h"

#include <array>
#include <charconv>

#include <CLI/App.hpp>

#include "recordpipe/error.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {
namespace {

std::optional<PixelShape> parse(std::string_view text) {
  std::array<size_t, 3> sides = {0, 0, 1};
  size_t count = 0;
  while (true) {
    if (count == sides.size()) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sides[count]);
    if (error != std::errc() || sides[count] < 1 || sides[count] > kLongestSide)
      return std::nullopt;
    ++count;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != 'x') return std::nullopt;
    text.remove_prefix(1);
  }
  if (count < 2 || sides[2] > kMostChannels) return std::nullopt;
  return PixelShape{sides[0], sides[1], sides[2]};
}

}  // namespace

PixelShape parse_pixel_shape(std::string_view text) {
  if (const auto shape = parse(text)) return *shape;
  throw UsageError("--shape: " + printable(text) +
                   " is not HEIGHTxWIDTH or HEIGHTxWIDTHxCHANNELS, 32x32x3 for one");
}

void add_pixel_options(CLI::App& app, PixelArguments& arguments) {
  app.add_option("--shape", arguments.shape, "The shape of raw pixels: 32x32x3, 28x28; see above")
      ->type_name("HxW[xC]");
  app.add_option("--layout", arguments.layout,
                 "The layout of raw pixels: planar (chw) or interleaved (hwc); see above")
      ->check(CLI::IsMember({"chw", "hwc"}).description(""))
      ->type_name("chw|hwc");
}

PixelOptions pixel_options(const PixelArguments& arguments) {
  PixelOptions options = {.shape_called = "--shape"};
  if (!arguments.shape.empty()) options.shape = parse_pixel_shape(arguments.shape);
  if (arguments.layout == "chw") options.layout = PixelLayout::planar;
  if (arguments.layout == "hwc") options.layout = PixelLayout::interleaved;
  return options;
}

}  // namespace recordpipe
