// Where the numbers of a variable lie in the device's memory.
//
// Convolutions [out][in][height][width] become [out][height][width][in] and dense layers
// [out][channels · height · width of their input] [out][height][width][channels], since tensors
// have their channels last; both with `out` and the channels filled up by zeros (see element.h).
// What is one number a channel is filled up likewise.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "recordpipe/trainer/model/network.h"
#include "trainer/backend/cuda/element.h"

namespace recordpipe::cuda {

struct VariableLayout {
  size_t out = 1, channels = 1, pixels = 1;
  size_t padded_out = 1, padded_channels = 1;
  bool is_weights = false;  // what convolutions and dense layers multiply with

  size_t size() const { return out * channels * pixels; }
  size_t padded_size() const { return padded_out * channels_and_pixels(); }
  size_t channels_and_pixels() const { return padded_channels * pixels; }
  bool operator==(const VariableLayout&) const = default;
};

// Of each of the network's variables, by id.
std::vector<VariableLayout> variable_layouts(const Network& network, Element element);

// Between the order of VariableSpec::shape and the device's. `device` has padded_size() numbers;
// those that fill up become 0.
void to_device_order(const VariableLayout& layout, std::span<const float> values,
                     std::span<float> device);
std::vector<float> from_device_order(const VariableLayout& layout, std::span<const float> device);

}  // namespace recordpipe::cuda
