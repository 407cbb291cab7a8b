// ResNet v1 for small images (He et al. 2015, https://arxiv.org/abs/1512.03385, section 4.2).
#pragma once

#include <cstddef>

#include "recordpipe/trainer/model/network.h"

namespace recordpipe {

struct ResNetOptions {
  size_t layers = 44;  // 6 n + 2, for n residual blocks in each of the three stages
  FeatureShape input = {.channels = 3, .height = 32, .width = 32};
  // One more than CIFAR-10 has, to allow labels that start at 1.
  size_t classes = 11;
  double batch_norm_decay = 0.997;
  double batch_norm_epsilon = 1e-5;
  double label_smoothing = 0;
};

// A 3x3 convolution to 16 channels with batch norm and ReLU; three stages of n blocks with 16, 32
// and 64 channels, the first block of the second and third stage with stride 2; global average
// pooling; a dense layer. A block is conv, batch norm, ReLU, conv, batch norm, plus the shortcut,
// ReLU. The shortcut is the block's input; if the shape changes, it is average-pooled, as in the
// tutorial (He et al. 2015 take every second pixel), and padded with zero channels. All 3x3
// convolutions pad 1 on each side and have no bias. Weights begin with Glorot's initialisation, as
// in the tutorial (He et al. 2015 use He's).
//
// 44 layers: 658,651 parameters, 97.2 million multiply-adds per image. Throws
// Error{invalid_argument} for a number of layers other than 8, 14, 20, ...
Network resnet(const ResNetOptions& options = {});

}  // namespace recordpipe
