#include "recordpipe/trainer/model/tutorial_cnn.h"

#include <string>

namespace recordpipe {
namespace {

ParameterOptions weights(double deviation, bool decay = false) {
  return {.initializer = TruncatedNormal{deviation}, .decay_factor = decay ? 1.0 : 0.0};
}

ParameterOptions biases(double value) {
  return {.initializer = ConstantValue{value}, .decay_factor = 0};
}

}  // namespace

Network tutorial_cnn(const TutorialCnnOptions& options) {
  Network network(options.input, {.scale = 1, .shift = 0});
  const auto convolution = [&](NodeId input, const std::string& name, double bias) {
    return network.conv2d(input, name,
                          {.filters = 64,
                           .kernel = 5,
                           .padding = 2,
                           .relu = true,
                           .weights = weights(0.05),
                           .biases = biases(bias)});
  };
  const auto hidden = [&](NodeId input, const std::string& name, size_t units) {
    return network.dense(
        input, name, units,
        {.relu = true, .weights = weights(0.04, /*decay=*/true), .biases = biases(0.1)});
  };

  NodeId x = convolution(0, "conv1", 0);
  x = network.max_pool(x, "pool1");
  x = network.local_response_norm(x, "norm1");
  x = convolution(x, "conv2", 0.1);
  x = network.local_response_norm(x, "norm2");
  x = network.max_pool(x, "pool2");
  x = hidden(x, "local3", 384);
  x = hidden(x, "local4", 192);
  x = network.dense(x, "softmax_linear", options.classes,
                    {.weights = weights(1.0 / 192), .biases = biases(0)});
  network.softmax_cross_entropy(x, options.label_smoothing);
  return network;
}

}  // namespace recordpipe
