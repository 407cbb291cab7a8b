// A network that trains fast: that of airbench94 (Jordan 2024, https://arxiv.org/abs/2404.00498).
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "recordpipe/image/image_batch.h"
#include "recordpipe/trainer/model/network.h"

namespace recordpipe {

struct AirbenchOptions {
  FeatureShape input = {.channels = 3, .height = 32, .width = 32};
  // The images' values as about standard normal ones. These numbers are CIFAR-10's.
  InputOp scaling = {.scale = 1.0f / 64, .shift = -1.89f};
  size_t classes = 10;
  std::array<size_t, 3> widths = {64, 256, 256};  // channels of the three blocks
  // The first convolution's weights: whitening_weights(). Empty: random ones, for tests.
  std::vector<float> whitening = {};
  double batch_norm_decay = 0.6;
  double batch_norm_epsilon = 1e-12;
  double label_smoothing = 0.2;
  // Above 0: the convolutions but the first are updated by Muon, as in airbench94_muon, and the
  // rates of the other variables are those for batches of this size. 0: gradient descent, as in
  // airbench94.
  size_t muon_batch_size = 0;
};

// A 2x2 convolution without padding to 24 channels, whose weights are frozen and whose biases are
// trained for the first 3/8 of the steps, and GELU; three blocks; max pooling 3x3; a dense layer. A
// block is a 3x3 convolution, max pooling 2x2, batch norm, GELU, a convolution, batch norm, GELU.
// Convolutions begin with the identity (Dirac) and have no bias, but for the first one; batch norm
// has no scale. The rate of batch norm's bias is many times that of the weights.
//
// 118 million multiply-adds per image.
Network airbench(const AirbenchOptions& options = {});

// The weights [2 · channels · 4][channels][2][2] of a convolution. The first half of its outputs is
// uncorrelated, with a mean square of about 1, on patches like those of `images`: the filters are
// the eigenvectors of the patches' second moments, those of the largest eigenvalues first, each
// divided by the square root of its eigenvalue + epsilon. The second half is the first with the
// other sign. `images` are uint8 or float32.
std::vector<float> whitening_weights(const ImageBatch& images,
                                     const InputOp& scaling = AirbenchOptions().scaling,
                                     double epsilon = 5e-4);

}  // namespace recordpipe
