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

// Returns `images` random images of the network's input shape with random labels. The network sees
// values in [-1, 1).
ImageBatch random_batch(const Network& network, size_t images, uint64_t seed);

// Throws std::out_of_range if there is no variable of this name.
VariableId id_of(const Network& network, std::string_view name);

// Sets initial values, but with gamma, beta, biases and moving statistics that are not neutral.
void randomize(Variables& variables, uint64_t seed);

// One network for each layer and each of its relevant shapes: odd sizes, one channel, strides,
// padding, channels that don't fill a vector register. Each ends in a dense layer, so that the
// gradient at the layer under test varies, and starts with a convolution, so that the layer's input
// gradient affects the convolution's weights.
struct NamedNetwork {
  std::string name;
  Network network;

  friend void PrintTo(const NamedNetwork& named, std::ostream* out) { *out << named.name; }
};
// Images of the networks named ManyRows have this width and height: by default so many rows that
// several blocks of threads share them.
std::vector<NamedNetwork> layer_networks(size_t many_rows = 32);

// The tutorials' networks for 3 x 8 x 8 images; the ResNet has 8 layers.
Network small_cnn();
Network small_resnet();
// For images of 25 x 25, which end as 3 x 3.
Network small_airbench();

// The output of each kind of layer has two readers, the output of a batch norm three, so that
// gradients add up. Needs at least two images: batch norm of a single value has nothing to
// normalise.
Network branching_network();

}  // namespace recordpipe
