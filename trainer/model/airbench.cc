#include "recordpipe/trainer/model/airbench.h"

#include <string>

namespace recordpipe {

Network airbench(const AirbenchOptions& options) {
  Network network(options.input, options.scaling);
  const auto batch_norm = [&](NodeId input, const std::string& name) {
    return network.batch_norm(input, name,
                              {.relu = false,
                               .decay = options.batch_norm_decay,
                               .epsilon = options.batch_norm_epsilon,
                               .scale = false,
                               .beta = {.decay_factor = 1.0 / 64, .rate_factor = 64}});
  };
  const auto conv2d = [&](NodeId input, const std::string& name, size_t filters) {
    return network.conv2d(input, name, {.filters = filters, .weights = {.initializer = Dirac{}}});
  };
  const auto max_pool = [&](NodeId input, const std::string& name, size_t window) {
    return network.max_pool(input, name,
                            {.window = window, .stride = window, .padding = Padding::valid});
  };

  Initializer whitening = FanInUniform{};
  if (!options.whitening.empty()) whitening = GivenValues{options.whitening};
  NodeId x = network.conv2d(/*input=*/0, "whiten",
                            {.filters = 2 * 4 * options.input.channels,
                             .kernel = 2,
                             .padding = 0,
                             .weights = {.initializer = whitening, .rate_factor = 0},
                             .biases = ParameterOptions{}});
  x = network.activation(x, "whiten/gelu", Activation::gelu);
  for (size_t block = 0; block < options.widths.size(); ++block) {
    const std::string name = "block" + std::to_string(block + 1) + "/";
    x = conv2d(x, name + "conv1", options.widths[block]);
    x = max_pool(x, name + "pool", 2);
    x = batch_norm(x, name + "bn1");
    x = network.activation(x, name + "gelu1", Activation::gelu);
    x = conv2d(x, name + "conv2", options.widths[block]);
    x = batch_norm(x, name + "bn2");
    x = network.activation(x, name + "gelu2", Activation::gelu);
  }
  x = max_pool(x, "pool", 3);
  // airbench94 divides these logits by 9. Weights that begin 9 times smaller and have 81 times
  // smaller gradients, of the same decay, are the same without the division.
  constexpr double scale = 1.0 / 9;
  const auto head = [&](const Initializer& initializer) {
    return ParameterOptions{.initializer = initializer,
                            .decay_factor = 1 / (scale * scale),
                            .rate_factor = scale * scale};
  };
  x = network.dense(
      x, "head", options.classes,
      {.weights = head(FanInUniform{.scale = scale}), .biases = head(ConstantValue{0})});
  network.softmax_cross_entropy(x, options.label_smoothing);
  return network;
}

}  // namespace recordpipe
