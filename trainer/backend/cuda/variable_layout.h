// The layout of a variable in device memory.
//
// Tensors have their channels last. Convolutions [out][in][height][width] therefore become
// [out][height][width][in], and dense layers [out][channels · height · width of their input] become
// [out][height][width][channels]. `out` and the channels are padded with zeros (see element.h), and
// so are variables with one value per channel.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "recordpipe/trainer/model/network.h"
#include "trainer/backend/cuda/kernels/element.h"

namespace recordpipe::cuda {

struct VariableLayout {
  size_t out = 1, channels = 1, pixels = 1;
  size_t padded_out = 1, padded_channels = 1;
  bool is_weights = false;  // of a convolution or dense layer

  size_t size() const { return out * channels * pixels; }
  size_t padded_size() const { return padded_out * channels_and_pixels(); }
  size_t channels_and_pixels() const { return padded_channels * pixels; }
  bool operator==(const VariableLayout&) const = default;
};

// The layouts of the network's variables, by id.
std::vector<VariableLayout> variable_layouts(const Network& network, Element element);

// Convert between the order of VariableSpec::shape and the device's. `device` has padded_size()
// values; the padding becomes 0.
void to_device_order(const VariableLayout& layout, std::span<const float> values,
                     std::span<float> device);
std::vector<float> from_device_order(const VariableLayout& layout, std::span<const float> device);

}  // namespace recordpipe::cuda
