// Small networks and batches for the trainer's tests.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/image/image_batch.h"
#include "recordpipe/trainer/backend/variables.h"
#include "recordpipe/trainer/model/network.h"

namespace recordpipe {

// `images` random images of the network's input shape with random labels. The network sees values
// in
// [-1, 1).
ImageBatch random_batch(const Network& network, size_t images, uint64_t seed);

// Throws std::out_of_range where there is no variable of this name.
VariableId id_of(const Network& network, std::string_view name);

// Initial values, but with gamma, beta, biases and moving statistics that aren't the neutral ones.
void randomize(Variables& variables, uint64_t seed);

// One network for each layer and each of its interesting shapes: odd sizes, one channel, strides,
// paddings, channels that fill no vector register. Each ends in a dense layer, so that the gradient
// that reaches the layer in question differs from value to value, and starts with a convolution,
// so that the layer's gradient with respect to its input shows in the convolution's weights.
struct NamedNetwork {
  std::string name;
  Network network;

  friend void PrintTo(const NamedNetwork& named, std::ostream* out) { *out << named.name; }
};
std::vector<NamedNetwork> layer_networks();

// The tutorials' networks, for images of 3 x 8 x 8; this ResNet has 8 layers.
Network small_cnn();
Network small_resnet();

// The output of each kind of layer is read twice, that of a batch norm three times: gradients add
// up. For two images or more: batch norm of one number has nothing to normalise.
Network branching_network();

}  // namespace recordpipe
