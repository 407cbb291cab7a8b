#include "trainer/backend/cuda/variable_layout.h"

#include <algorithm>
#include <variant>

namespace recordpipe::cuda {
namespace {

VariableLayout weights_layout(size_t out, size_t channels, size_t pixels, Element element) {
  return {.out = out,
          .channels = channels,
          .pixels = pixels,
          .padded_out = padded(out, element),
          .padded_channels = padded(channels, element),
          .is_weights = true};
}

// Calls visit(index in the row-major shape, index on the device).
template <class Visit>
void for_each_number(const VariableLayout& layout, Visit visit) {
  size_t index = 0;
  for (size_t o = 0; o < layout.out; ++o)
    for (size_t c = 0; c < layout.channels; ++c)
      for (size_t p = 0; p < layout.pixels; ++p)
        visit(index++, (o * layout.pixels + p) * layout.padded_channels + c);
}

}  // namespace

std::vector<VariableLayout> variable_layouts(const Network& network, Element element) {
  std::vector<VariableLayout> layouts;
  for (const VariableSpec& spec : network.variables())
    layouts.push_back({.channels = spec.size(), .padded_channels = padded(spec.size(), element)});
  for (const NetworkNode& node : network.nodes()) {
    if (const auto* conv = std::get_if<Conv2dOp>(&node.op)) {
      layouts[conv->weights] =
          weights_layout(node.shape.channels, network.nodes()[conv->input].shape.channels,
                         conv->kernel * conv->kernel, element);
    } else if (const auto* dense = std::get_if<DenseOp>(&node.op)) {
      const FeatureShape& input = network.nodes()[dense->input].shape;
      layouts[dense->weights] =
          weights_layout(node.shape.channels, input.channels, input.pixels(), element);
    }
  }
  return layouts;
}

void to_device_order(const VariableLayout& layout, std::span<const float> values,
                     std::span<float> device) {
  std::ranges::fill(device, 0.0f);
  for_each_number(layout, [&](size_t from, size_t to) { device[to] = values[from]; });
}

std::vector<float> from_device_order(const VariableLayout& layout, std::span<const float> device) {
  std::vector<float> values(layout.size());
  for_each_number(layout, [&](size_t to, size_t from) { values[to] = device[from]; });
  return values;
}

}  // namespace recordpipe::cuda
