// The network of TensorFlow's CIFAR-10 tutorial, after Krizhevsky et al. 2012.
#pragma once

#include <cstddef>

#include "recordpipe/trainer/model/network.h"

namespace recordpipe {

struct TutorialCnnOptions {
  FeatureShape input = {.channels = 3, .height = 24, .width = 24};
  size_t classes = 10;
  double label_smoothing = 0;  // in [0, 1); default: none, as in the tutorial
};

// conv1 5x5 to 64 channels, max pooling 3x3 stride 2, local response normalisation; conv2 5x5 to 64
// channels, normalisation, max pooling; dense layers to 384, 192 and the classes. A ReLU follows
// each layer but the last; all have biases. Convolutions and pooling use SAME padding.
//
// The network doesn't scale images: the pipeline standardises each one. Only the weights of the two
// hidden dense layers decay; the tutorial's factor is 0.004 (MomentumOptions::weight_decay).
//
// 1,068,298 parameters, 18.5 million multiply-adds per image.
Network tutorial_cnn(const TutorialCnnOptions& options = {});

}  // namespace recordpipe
