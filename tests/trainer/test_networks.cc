#include "tests/trainer/test_networks.h"

#include <span>
#include <stdexcept>
#include <utility>
#include <variant>

#include "recordpipe/base/philox.h"
#include "recordpipe/trainer/model/airbench.h"
#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"

namespace recordpipe {
namespace {

// input → convolution → the layer under test → dense → loss
template <class AddLayer>
Network around(const FeatureShape& input, size_t channels, AddLayer add_layer) {
  Network network(input);
  const NodeId before =
      network.conv2d(0, "before", {.filters = channels, .kernel = 1, .padding = 0});
  const NodeId layer = add_layer(network, before);
  network.softmax_cross_entropy(network.dense(layer, "after", 5));
  return network;
}

// input → convolution → the layer under test → another layer that reads it → the sum of both →
// dense → loss
template <class AddLayer>
Network read_twice(const FeatureShape& input, size_t channels, AddLayer add_layer) {
  return around(input, channels, [&](Network& network, NodeId x) {
    const NodeId layer = add_layer(network, x);
    const NodeId next = network.conv2d(layer, "next", {.filters = channels});
    return network.batch_norm(next, "sum", {.residual = layer});
  });
}

Network with_convolution(const FeatureShape& input, size_t channels, const Conv2dOptions& options) {
  return around(input, channels,
                [&](Network& network, NodeId x) { return network.conv2d(x, "layer", options); });
}

// A batch norm's residual may be its own input.
Network with_residual_of_itself() {
  return around({3, 4, 4}, 5, [](Network& network, NodeId x) {
    return network.batch_norm(x, "layer", {.residual = x});
  });
}

}  // namespace

ImageBatch random_batch(const Network& network, size_t images, uint64_t seed) {
  const FeatureShape& shape = network.input_shape();
  const InputOp& input = std::get<InputOp>(network.nodes().front().op);
  ImageBatch batch;
  batch.reset({.height = shape.height,
               .width = shape.width,
               .channels = shape.channels,
               .dtype = DType::float32,
               .layout = Layout::nchw},
              images);
  for (size_t image = 0; image < images; ++image) {
    Random random(derive_key(seed, 0), 0, image);
    const std::span<float> values(reinterpret_cast<float*>(batch.image_at(image)), shape.size());
    for (float& value : values) value = (2 * random.uniform() - 1 - input.shift) / input.scale;
    batch.set_label(image,
                    static_cast<int32_t>(random.below(static_cast<uint32_t>(network.classes()))));
  }
  return batch;
}

VariableId id_of(const Network& network, std::string_view name) {
  for (VariableId id = 0; id < network.variables().size(); ++id)
    if (network.variables()[id].name == name) return id;
  throw std::out_of_range(std::string(name));
}

void randomize(Variables& variables, uint64_t seed) {
  initialize(variables, seed);
  for (VariableId id = 0; id < variables.specs().size(); ++id) {
    const VariableSpec& spec = variables.specs()[id];
    if (spec.shape.size() != 1) continue;
    const auto middle = static_cast<float>(std::get<ConstantValue>(spec.initializer).value);
    std::vector<float> values(spec.size());
    Random random(derive_key(seed, id), 0, 0);
    for (float& value : values) value = middle + 0.5f * (2 * random.uniform() - 1);
    variables.write(id, values);
  }
}

std::vector<NamedNetwork> layer_networks(size_t many_rows) {
  std::vector<NamedNetwork> networks;
  const auto add = [&](const std::string& name, Network network) {
    networks.push_back({name, std::move(network)});
  };
  const auto convolution = [&](const std::string& name, const FeatureShape& input, size_t channels,
                               const Conv2dOptions& options) {
    add("Conv2d" + name, with_convolution(input, channels, options));
  };
  convolution("3x3", {3, 8, 8}, 16, {.filters = 16});
  convolution("3x3OddSizes", {3, 7, 5}, 5, {.filters = 7});
  convolution("3x3OneChannel", {1, 6, 6}, 1, {.filters = 1});
  convolution("3x3ManyChannels", {3, 6, 6}, 33, {.filters = 40});
  convolution("3x3Stride2", {3, 8, 8}, 16, {.filters = 32, .stride = 2});
  convolution("3x3Stride2OddSizes", {2, 9, 7}, 3, {.filters = 20, .stride = 2});
  convolution("3x3NoPadding", {2, 5, 6}, 4, {.filters = 3, .padding = 0});
  convolution("1x1", {2, 4, 3}, 6, {.filters = 10, .kernel = 1, .padding = 0});
  convolution("5x5Stride3", {3, 11, 11}, 4, {.filters = 4, .kernel = 5, .stride = 3, .padding = 2});

  const ParameterOptions some = {};
  convolution("Bias", {3, 6, 5}, 4, {.filters = 7, .biases = some});
  convolution("BiasStride2ManyChannels", {3, 7, 6}, 33,
              {.filters = 40, .stride = 2, .biases = some});
  convolution("Relu", {3, 6, 5}, 16, {.filters = 16, .relu = true});
  convolution("BiasRelu", {3, 7, 7}, 16,
              {.filters = 32, .kernel = 5, .padding = 2, .relu = true, .biases = some});
  convolution("BiasReluOddSizes", {2, 7, 9}, 5,
              {.filters = 9, .kernel = 5, .padding = 2, .relu = true, .biases = some});
  // Sums over so many rows that several blocks of threads share them.
  convolution("BiasManyRows", {3, many_rows, many_rows}, 3, {.filters = 8, .biases = some});
  convolution("BiasReluOneChannel", {1, 6, 6}, 1, {.filters = 1, .relu = true, .biases = some});
  add("Conv2dReluReadTwice", read_twice({3, 5, 5}, 6, [&](Network& network, NodeId x) {
        return network.conv2d(x, "layer", {.filters = 6, .relu = true, .biases = some});
      }));

  const auto max_pool = [&](const std::string& name, const FeatureShape& input, size_t channels,
                            const MaxPoolOptions& options) {
    add("MaxPool" + name, around(input, channels, [&](Network& network, NodeId x) {
          return network.max_pool(x, "layer", options);
        }));
  };
  max_pool("", {3, 8, 8}, 16, {});
  max_pool("OddSizes", {3, 7, 5}, 5, {});
  max_pool("OneChannel", {1, 6, 7}, 1, {});
  max_pool("ManyChannels", {2, 4, 6}, 35, {});
  max_pool("PaddedBothSides", {2, 5, 4}, 8, {.window = 3, .stride = 1});
  max_pool("WideWindow", {2, 7, 6}, 4, {.window = 5, .stride = 3});
  max_pool("WithoutOverlap", {2, 6, 4}, 4, {.window = 2, .stride = 2});
  max_pool("WithGaps", {2, 7, 6}, 4, {.window = 2, .stride = 3});
  max_pool("WholeImage", {2, 2, 3}, 4, {.window = 7, .stride = 4});
  max_pool("Valid", {2, 7, 5}, 16, {.window = 2, .stride = 2, .padding = Padding::valid});
  max_pool("ValidOverlap", {2, 7, 8}, 5, {.window = 3, .stride = 2, .padding = Padding::valid});
  add("Conv2dMaxPooled", around({3, 11, 10}, 33, [](Network& network, NodeId x) {
        x = network.conv2d(x, "layer", {.filters = 40});
        return network.max_pool(x, "pool", {.window = 2, .stride = 2, .padding = Padding::valid});
      }));
  add("Conv2dMaxPooledAndRead", around({2, 6, 4}, 4, [](Network& network, NodeId x) {
        x = network.conv2d(x, "layer", {.filters = 4});
        const NodeId pooled = network.max_pool(x, "pool", {.window = 2, .stride = 2});
        return network.batch_norm(pooled, "bn",
                                  {.residual = network.pool_and_pad(x, "skip", 2, 4)});
      }));
  add("MaxPoolReadTwice", read_twice({3, 6, 5}, 6, [](Network& network, NodeId x) {
        return network.max_pool(x, "layer");
      }));
  {
    Network network({3, 5, 5});
    network.softmax_cross_entropy(network.dense(network.max_pool(0, "layer"), "d", 4));
    add("MaxPoolOfImages", std::move(network));
  }

  for (const auto& [name, function] :
       {std::pair("Gelu", Activation::gelu), std::pair("Silu", Activation::silu)}) {
    const auto activation = [&](const FeatureShape& input, size_t channels, auto network_of) {
      return network_of(input, channels, [function = function](Network& network, NodeId x) {
        // Larger values than a convolution's of images: GELU's tails count.
        return network.activation(network.batch_norm(x, "wide", {.relu = false}), "layer",
                                  function);
      });
    };
    const auto one = [](auto... arguments) { return around(arguments...); };
    const auto two = [](auto... arguments) { return read_twice(arguments...); };
    add(name, activation({3, 4, 4}, 16, one));
    add(std::string(name) + "OddSizes", activation({3, 3, 5}, 7, one));
    add(std::string(name) + "ReadTwice", activation({3, 4, 4}, 6, two));
    Network network({3, 4, 4});
    network.softmax_cross_entropy(network.dense(network.activation(0, "layer", function), "d", 4));
    add(std::string(name) + "OfImages", std::move(network));
  }

  // An alpha with a noticeable effect.
  const auto response_norm = [&](const std::string& name, const FeatureShape& input,
                                 size_t channels, const LocalResponseNormOptions& options) {
    add("LocalResponseNorm" + name, around(input, channels, [&](Network& network, NodeId x) {
          return network.local_response_norm(x, "layer", options);
        }));
  };
  response_norm("", {3, 4, 4}, 16, {.alpha = 0.5});
  response_norm("OddSizes", {3, 3, 5}, 7, {.alpha = 0.5});
  response_norm("OneChannel", {1, 3, 3}, 1, {.alpha = 0.5});
  response_norm("ManyChannels", {2, 3, 2}, 43, {.alpha = 0.5});
  response_norm("OtherConstants", {2, 3, 3}, 12,
                {.radius = 1, .bias = 2, .alpha = 0.3, .beta = 0.6});
  response_norm("OfItself", {2, 3, 3}, 6, {.radius = 0, .alpha = 0.5});
  add("LocalResponseNormReadTwice", read_twice({3, 4, 4}, 6, [](Network& network, NodeId x) {
        return network.local_response_norm(x, "layer", {.alpha = 0.5});
      }));
  {
    Network network({3, 4, 4});
    network.softmax_cross_entropy(
        network.dense(network.local_response_norm(0, "layer", {.alpha = 0.5}), "d", 4));
    add("LocalResponseNormOfImages", std::move(network));
  }

  const auto batch_norm = [&](const std::string& name, const FeatureShape& input, size_t channels,
                              bool relu, bool residual) {
    add("BatchNorm" + name, around(input, channels, [&](Network& network, NodeId x) {
          BatchNormOptions options = {.relu = relu};
          // The residual comes from another convolution, and the result has two readers, as between
          // two blocks with an identity shortcut.
          if (residual) options.residual = network.conv2d(0, "beside", {.filters = channels});
          const NodeId first = network.batch_norm(x, "layer", options);
          if (!residual) return first;
          const NodeId next = network.conv2d(first, "next", {.filters = channels});
          return network.batch_norm(next, "layer2", {.relu = relu, .residual = first});
        }));
  };
  batch_norm("", {3, 4, 4}, 16, false, false);
  batch_norm("Relu", {3, 4, 4}, 16, true, false);
  batch_norm("Residual", {3, 4, 4}, 16, false, true);
  batch_norm("ResidualRelu", {3, 4, 4}, 16, true, true);
  batch_norm("OddSizes", {3, 5, 3}, 7, true, true);
  batch_norm("OneChannel", {2, 3, 3}, 1, true, true);
  batch_norm("ManyChannels", {2, 3, 2}, 35, true, true);
  batch_norm("ManyRows", {3, many_rows, many_rows}, 16, false, true);
  batch_norm("ManyRowsAndChannels", {3, many_rows / 2, many_rows / 2}, 160, false, false);

  add("BatchNormWithoutScale", around({3, 5, 3}, 7, [](Network& network, NodeId x) {
        return network.batch_norm(x, "layer", {.scale = false});
      }));

  const auto pool_and_pad = [&](const std::string& name, const FeatureShape& input, size_t channels,
                                size_t stride, size_t out_channels) {
    add("PoolAndPad" + name, around(input, channels, [&](Network& network, NodeId x) {
          return network.pool_and_pad(x, "layer", stride, out_channels);
        }));
  };
  pool_and_pad("", {3, 8, 8}, 16, 2, 32);
  pool_and_pad("WideStage", {3, 4, 4}, 32, 2, 64);
  pool_and_pad("OddSizes", {2, 6, 9}, 5, 3, 11);
  pool_and_pad("OneChannel", {1, 2, 2}, 1, 2, 3);
  pool_and_pad("StrideOne", {1, 3, 3}, 4, 1, 4);
  // Directly from the images.
  {
    Network network({3, 4, 4});
    network.softmax_cross_entropy(network.dense(network.pool_and_pad(0, "layer", 2, 7), "d", 4));
    add("PoolAndPadOfImages", std::move(network));
  }

  const auto global_pool = [&](const std::string& name, const FeatureShape& input,
                               size_t channels) {
    add("GlobalAveragePool" + name, around(input, channels, [&](Network& network, NodeId x) {
          return network.global_average_pool(x, "layer");
        }));
  };
  global_pool("", {3, 4, 4}, 32);
  global_pool("OddSizes", {2, 5, 3}, 9);
  global_pool("OneChannel", {1, 2, 3}, 1);

  // No gradients are computed for the layers before the first one that is trained.
  {
    Network network({3, 5, 5});
    const ParameterOptions fixed = {.initializer = GlorotUniform{}, .rate_factor = 0};
    NodeId x = network.conv2d(
        0, "fixed", {.filters = 6, .weights = fixed, .biases = ParameterOptions{.rate_factor = 0}});
    x = network.activation(x, "gelu", Activation::gelu);
    x = network.max_pool(network.conv2d(x, "trained", {.filters = 7}), "pool");
    network.softmax_cross_entropy(network.dense(x, "after", 4));
    add("FirstLayersFixed", std::move(network));
  }
  {
    const auto muon = [](double rate) {
      return ParameterOptions{
          .initializer = GlorotUniform{}, .rate_factor = rate, .orthogonal = true};
    };
    // Matrices of more columns than rows, of more rows, square, and one between other variables.
    Network network({3, 5, 5});
    NodeId x = network.conv2d(0, "wide", {.filters = 7, .weights = muon(1), .biases = some});
    x = network.activation(x, "gelu", Activation::gelu);
    x = network.conv2d(x, "tall", {.filters = 20, .kernel = 1, .padding = 0, .weights = muon(0.5)});
    x = network.conv2d(x, "square", {.filters = 20, .kernel = 1, .padding = 0, .weights = muon(2)});
    network.softmax_cross_entropy(network.dense(x, "dense", 5));
    add("Muon", std::move(network));
  }
  // Adjacent variables with different factors.
  add("RateFactors", around({2, 3, 3}, 4, [](Network& network, NodeId x) {
        x = network.conv2d(x, "layer",
                           {.filters = 4,
                            .weights = {.initializer = Dirac{}, .rate_factor = 0},
                            .biases = ParameterOptions{.rate_factor = 0.25}});
        x = network.activation(x, "gelu", Activation::gelu);
        return network.batch_norm(x, "bn", {.beta = {.decay_factor = 0.125, .rate_factor = 8}});
      }));

  add("Dense", around({2, 3, 3}, 4,
                      [&](Network& network, NodeId x) { return network.dense(x, "layer", 12); }));
  add("DenseRelu", around({2, 3, 3}, 4, [](Network& network, NodeId x) {
        return network.dense(x, "layer", 12, {.relu = true});
      }));
  add("DenseOneUnit", around({1, 2, 2}, 1, [&](Network& network, NodeId x) {
        return network.dense(x, "layer", 1);
      }));
  {
    Network network({2, 3, 3});
    network.softmax_cross_entropy(network.dense(0, "dense", 6), /*label_smoothing=*/0.1);
    add("LabelSmoothing", std::move(network));
  }
  add("ResidualOfItself", with_residual_of_itself());
  return networks;
}

Network small_cnn() { return tutorial_cnn({.input = {3, 8, 8}}); }
Network small_airbench() { return airbench({.input = {3, 25, 25}, .widths = {4, 9, 8}}); }
Network small_resnet() { return resnet({.layers = 8, .input = {3, 8, 8}}); }

Network branching_network() {
  Network network({3, 4, 4});
  const NodeId three_times = network.batch_norm(network.conv2d(0, "a", {.filters = 4}), "bn_a");
  const NodeId conv = network.conv2d(three_times, "b", {.filters = 4});
  const NodeId other = network.conv2d(three_times, "c", {.filters = 4});
  const NodeId sum_b = network.batch_norm(conv, "bn_b", {.residual = three_times});
  const NodeId sum_c = network.batch_norm(other, "bn_c", {.residual = conv});
  const NodeId pooled = network.pool_and_pad(sum_c, "pool", 2, 8);
  const NodeId shrunk = network.conv2d(sum_b, "d", {.filters = 8, .stride = 2});
  const NodeId sum_d = network.batch_norm(shrunk, "bn_d", {.residual = pooled});
  const NodeId sum_pool = network.batch_norm(pooled, "bn_pool", {.residual = sum_d});
  const NodeId mean = network.global_average_pool(sum_pool, "mean");
  const NodeId dense_a = network.dense(mean, "dense_a", 6);
  const NodeId dense_b = network.dense(mean, "dense_b", 6, {.relu = true});
  const NodeId sum_dense = network.batch_norm(dense_b, "bn_dense", {.residual = dense_a});
  network.softmax_cross_entropy(
      network.batch_norm(sum_dense, "bn_sum", {.relu = false, .residual = dense_b}));
  return network;
}

}  // namespace recordpipe
