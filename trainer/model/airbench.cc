#include "recordpipe/trainer/model/airbench.h"

#include <cmath>
#include <string>

namespace recordpipe {
namespace {

// Factors of the learning rate. airbench94 multiplies the logits by a constant s (head_scale). Here
// s is a part of the head's weights: they begin s times as large, and their rate is s² times as
// high, which trains the same function. Where the rate is higher, the decay is smaller, so that all
// variables decay by the same share.
struct Rates {
  double filters, batch_norm_bias, whitening_bias, head;
};

Rates rates_of(const AirbenchOptions& options, double head_scale) {
  if (options.muon_batch_size == 0) return {1, 64, 1, head_scale * head_scale};
  // airbench94_muon's rates for batches of 2000: 0.24 for the filters, and 0.053 and 0.67 for the
  // sum of the images' gradients, which is a mean here. They are factors of a learning rate of
  // 0.24 · √(images / 2000), which the caller sets.
  const auto images = static_cast<double>(options.muon_batch_size);
  const double filters = 0.24 * std::sqrt(images / 2000);
  const double bias = 0.053 * images / filters;
  return {1, bias, bias, 0.67 * images / filters * head_scale * head_scale};
}

ParameterOptions parameters(const Initializer& initializer, double rate, bool orthogonal = false) {
  return {.initializer = initializer,
          .decay_factor = orthogonal ? 0 : 1 / rate,
          .rate_factor = rate,
          .orthogonal = orthogonal};
}

}  // namespace

Network airbench(const AirbenchOptions& options) {
  Network network(options.input, options.scaling);
  const bool muon = options.muon_batch_size > 0;
  const auto features = static_cast<double>(options.widths.back());
  const double head_scale = muon ? 1 / features : 1.0 / 9;
  const Rates rates = rates_of(options, head_scale);
  const auto batch_norm = [&](NodeId input, const std::string& name) {
    return network.batch_norm(input, name,
                              {.relu = false,
                               .decay = options.batch_norm_decay,
                               .epsilon = options.batch_norm_epsilon,
                               .scale = false,
                               .beta = parameters(ConstantValue{0}, rates.batch_norm_bias)});
  };
  const auto conv2d = [&](NodeId input, const std::string& name, size_t filters) {
    return network.conv2d(
        input, name, {.filters = filters, .weights = parameters(Dirac{}, rates.filters, muon)});
  };
  const auto max_pool = [&](NodeId input, const std::string& name, size_t window) {
    return network.max_pool(input, name,
                            {.window = window, .stride = window, .padding = Padding::valid});
  };

  Conv2dOptions whitening = {
      .filters = 2 * 4 * options.input.channels,
      .kernel = 2,
      .padding = 0,
      .weights = {.initializer = FanInUniform{}, .decay_factor = 0, .rate_factor = 0},
      .biases = parameters(ConstantValue{0}, rates.whitening_bias)};
  // As there, where the rate has fallen to zero by then; here to 5/8. Later steps are faster.
  whitening.biases->trained_share = 3.0 / 8;
  if (!options.whitening.empty()) whitening.weights.initializer = GivenValues{options.whitening};
  NodeId x = network.conv2d(/*input=*/0, "whiten", whitening);
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
  // s is 1/9 in airbench94, and 1 / features in airbench94_muon, whose weights begin with a
  // standard deviation of 1: uniform values up to √3.
  const double limit = head_scale * (muon ? std::sqrt(3 * features) : 1);
  x = network.dense(x, "head", options.classes,
                    {.weights = parameters(FanInUniform{.scale = limit}, rates.head),
                     .biases = parameters(ConstantValue{0}, rates.head)});
  network.softmax_cross_entropy(x, options.label_smoothing);
  return network;
}

}  // namespace recordpipe
