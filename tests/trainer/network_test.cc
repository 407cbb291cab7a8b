#include "recordpipe/trainer/model/network.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

TEST(ResNet, HasThePublishedSize) {
  const Network network = resnet({.layers = 44});
  EXPECT_EQ(network.parameter_count(), 658'651u);
  EXPECT_NEAR(static_cast<double>(network.multiply_adds()), 97.2e6, 0.05e6);
}

// Conv 3x3x3x16, n blocks of two 3x3 convolutions in each stage, and a dense layer 64 -> 11. Each
// batch norm has two parameters per channel (gamma and beta).
TEST(ResNet, ParameterCountFollowsFromTheLayers) {
  for (const size_t n : {1u, 2u, 3u, 5u, 18u}) {
    const size_t convolutions = 9 * (3 * 16 + 2 * n * 16 * 16 +         //
                                     16 * 32 + (2 * n - 1) * 32 * 32 +  //
                                     32 * 64 + (2 * n - 1) * 64 * 64);
    const size_t batch_norms = 2 * (16 + 2 * n * (16 + 32 + 64));
    EXPECT_EQ(resnet({.layers = 6 * n + 2}).parameter_count(),
              convolutions + batch_norms + 64 * 11 + 11);
  }
}

TEST(ResNet, ShrinksTheImageTwiceAndGrowsChannels) {
  const Network network = resnet({.layers = 14});
  const auto shape_of = [&](std::string_view name) {
    for (const NetworkNode& node : network.nodes())
      if (node.name == name) return node.shape;
    return FeatureShape{0, 0, 0};
  };
  EXPECT_EQ(shape_of("bn"), (FeatureShape{16, 32, 32}));
  EXPECT_EQ(shape_of("stage1/block1/bn2"), (FeatureShape{16, 32, 32}));
  EXPECT_EQ(shape_of("stage2/block0/shortcut"), (FeatureShape{32, 16, 16}));
  EXPECT_EQ(shape_of("stage2/block1/bn2"), (FeatureShape{32, 16, 16}));
  EXPECT_EQ(shape_of("stage3/block0/conv1"), (FeatureShape{64, 8, 8}));
  EXPECT_EQ(shape_of("stage3/block1/bn2"), (FeatureShape{64, 8, 8}));
  EXPECT_EQ(shape_of("global_pool"), (FeatureShape{64, 1, 1}));
  EXPECT_EQ(network.classes(), 11u);
}

// Checks the parts of a block, their inputs, batch norm's constants and the padding.
TEST(ResNet, IsVersionOneWithoutParametersInItsShortcuts) {
  const Network network = resnet({.layers = 14});
  const auto node = [&](const std::string& name) {
    for (NodeId id = 0; id < network.nodes().size(); ++id)
      if (network.nodes()[id].name == name) return id;
    ADD_FAILURE() << "no node " << name;
    return NodeId{0};
  };
  const auto expect_conv = [&](const std::string& name, NodeId input, size_t stride) {
    const auto& conv = std::get<Conv2dOp>(network.nodes()[node(name)].op);
    EXPECT_EQ(conv.input, input) << name;
    EXPECT_EQ(conv.kernel, 3u) << name;
    EXPECT_EQ(conv.stride, stride) << name;
    EXPECT_EQ(conv.padding, 1u) << name;
  };
  const auto expect_batch_norm = [&](const std::string& name, const std::string& conv,
                                     std::optional<NodeId> residual) {
    const auto& batch_norm = std::get<BatchNormOp>(network.nodes()[node(name)].op);
    EXPECT_EQ(batch_norm.input, node(conv)) << name;
    EXPECT_EQ(batch_norm.residual, residual) << name;
    EXPECT_TRUE(batch_norm.relu) << name;
    EXPECT_EQ(batch_norm.decay, 0.997) << name;
    EXPECT_EQ(batch_norm.epsilon, 1e-5) << name;
  };
  expect_conv("conv", 0, 1);
  expect_batch_norm("bn", "conv", {});
  NodeId x = node("bn");
  for (const std::string stage : {"stage1/", "stage2/", "stage3/"})
    for (const std::string block : {"block0/", "block1/"}) {
      const std::string name = stage + block;
      const bool shrinks = stage != "stage1/" && block == "block0/";
      NodeId shortcut = x;
      if (shrinks) {
        shortcut = node(name + "shortcut");
        const auto& pool = std::get<PoolAndPadOp>(network.nodes()[shortcut].op);
        EXPECT_EQ(pool.input, x);
        EXPECT_EQ(pool.stride, 2u);
      }
      expect_conv(name + "conv1", x, shrinks ? 2 : 1);
      expect_batch_norm(name + "bn1", name + "conv1", {});
      expect_conv(name + "conv2", node(name + "bn1"), 1);
      expect_batch_norm(name + "bn2", name + "conv2", shortcut);
      x = node(name + "bn2");
    }
  EXPECT_EQ(std::get<GlobalAveragePoolOp>(network.nodes()[node("global_pool")].op).input, x);
  EXPECT_EQ(std::get<DenseOp>(network.nodes()[node("dense")].op).input, node("global_pool"));
  EXPECT_EQ(network.nodes().size(), 1u + 2 + 6 * 4 + 2 + 3);
}

TEST(ResNet, NamesItsVariables) {
  std::vector<std::string> names;
  const Network network = resnet({.layers = 8});
  for (const VariableSpec& variable : network.variables()) names.push_back(variable.name);
  EXPECT_EQ(names.front(), "conv/weights");
  EXPECT_THAT(names, testing::IsSupersetOf({"bn/gamma", "stage1/block0/conv1/weights",
                                            "stage3/block0/bn2/moving_variance", "dense/weights",
                                            "dense/biases"}));
}

TEST(ResNet, RefusesOtherNumbersOfLayers) {
  for (const size_t layers : {0u, 2u, 7u, 9u, 45u, 46u})
    EXPECT_THROW(resnet({.layers = layers}), Error) << layers;
}

TEST(TutorialCnn, HasThePublishedSize) {
  const Network network = tutorial_cnn();
  EXPECT_EQ(network.parameter_count(), 1'068'298u);
  EXPECT_EQ(network.multiply_adds(), 18'470'784u);
  EXPECT_EQ(network.classes(), 10u);
}

// The variables have the tutorial's names. Weight decay applies only to the weights of the fully
// connected hidden layers local3 and local4.
TEST(TutorialCnn, HasTheTutorialsVariables) {
  const auto weights = [](const char* name, std::vector<size_t> shape, double deviation,
                          double decay_factor) {
    return VariableSpec{.name = name,
                        .shape = std::move(shape),
                        .initializer = TruncatedNormal{deviation},
                        .decay_factor = decay_factor};
  };
  const auto biases = [](const char* name, size_t size, double value) {
    return VariableSpec{
        .name = name, .shape = {size}, .initializer = ConstantValue{value}, .decay_factor = 0};
  };
  const Network network = tutorial_cnn();
  const std::vector<VariableSpec> expected = {
      weights("conv1/weights", {64, 3, 5, 5}, 0.05, 0),
      biases("conv1/biases", 64, 0),
      weights("conv2/weights", {64, 64, 5, 5}, 0.05, 0),
      biases("conv2/biases", 64, 0.1),
      weights("local3/weights", {384, 2304}, 0.04, 1),
      biases("local3/biases", 384, 0.1),
      weights("local4/weights", {192, 384}, 0.04, 1),
      biases("local4/biases", 192, 0.1),
      weights("softmax_linear/weights", {10, 192}, 1.0 / 192, 0),
      biases("softmax_linear/biases", 10, 0)};
  ASSERT_EQ(network.variables().size(), expected.size());
  for (VariableId id = 0; id < expected.size(); ++id)
    EXPECT_TRUE(network.variables()[id] == expected[id]) << expected[id].name;
}

TEST(TutorialCnn, SmoothsLabelsWhereAskedTo) {
  const auto smoothing_of = [](const Network& network) {
    return std::get<SoftmaxCrossEntropyOp>(network.nodes().back().op).label_smoothing;
  };
  EXPECT_EQ(smoothing_of(tutorial_cnn()), 0);
  EXPECT_EQ(smoothing_of(tutorial_cnn({.label_smoothing = 0.1})), 0.1);
  EXPECT_THROW(tutorial_cnn({.label_smoothing = 1}), Error);
}

TEST(TutorialCnn, IsALineOfLayers) {
  const Network network = tutorial_cnn();
  const std::vector<std::pair<std::string, FeatureShape>> expected = {
      {"input", {3, 24, 24}},         {"conv1", {64, 24, 24}}, {"pool1", {64, 12, 12}},
      {"norm1", {64, 12, 12}},        {"conv2", {64, 12, 12}}, {"norm2", {64, 12, 12}},
      {"pool2", {64, 6, 6}},          {"local3", {384, 1, 1}}, {"local4", {192, 1, 1}},
      {"softmax_linear", {10, 1, 1}}, {"loss", {10, 1, 1}}};
  ASSERT_EQ(network.nodes().size(), expected.size());
  for (NodeId id = 0; id < expected.size(); ++id) {
    const NetworkNode& node = network.nodes()[id];
    EXPECT_EQ(node.name, expected[id].first);
    EXPECT_EQ(node.shape, expected[id].second) << node.name;
    if (id > 0) {
      EXPECT_THAT(inputs_of(node), testing::ElementsAre(id - 1)) << node.name;
    }
    if (const auto* input = std::get_if<InputOp>(&node.op)) {
      EXPECT_EQ(input->scale, 1);
      EXPECT_EQ(input->shift, 0);
    }
    if (const auto* conv = std::get_if<Conv2dOp>(&node.op)) {
      EXPECT_TRUE(conv->relu) << node.name;
      EXPECT_EQ(conv->stride, 1u) << node.name;
    }
    if (const auto* pool = std::get_if<MaxPoolOp>(&node.op)) {
      EXPECT_EQ(pool->window, 3u) << node.name;
      EXPECT_EQ(pool->stride, 2u) << node.name;
    }
    if (const auto* norm = std::get_if<LocalResponseNormOp>(&node.op)) {
      EXPECT_EQ(norm->radius, 4u) << node.name;
      EXPECT_EQ(norm->bias, 1) << node.name;
      EXPECT_EQ(norm->alpha, 0.001 / 9) << node.name;
      EXPECT_EQ(norm->beta, 0.75) << node.name;
    }
    if (const auto* dense = std::get_if<DenseOp>(&node.op)) {
      EXPECT_EQ(dense->relu, node.name != "softmax_linear") << node.name;
    }
  }
}

// TensorFlow's SAME has ceil(length / stride) windows. If the padding is odd, the additional pixel
// is at the end.
TEST(Network, PadsMaxPoolingAsTensorFlowsSame) {
  const auto pooled = [](size_t length, size_t window, size_t stride) {
    Network network({1, length, 1});
    const NodeId pool = network.max_pool(0, "pool", {.window = window, .stride = stride});
    const auto& op = std::get<MaxPoolOp>(network.nodes()[pool].op);
    return std::pair(network.nodes()[pool].shape.height, op.padding_top);
  };
  EXPECT_EQ(pooled(24, 3, 2), std::pair(size_t{12}, size_t{0})) << "0 before, 1 after";
  EXPECT_EQ(pooled(12, 3, 2), std::pair(size_t{6}, size_t{0})) << "0 before, 1 after";
  EXPECT_EQ(pooled(7, 3, 2), std::pair(size_t{4}, size_t{1})) << "1 before, 1 after";
  EXPECT_EQ(pooled(7, 3, 1), std::pair(size_t{7}, size_t{1})) << "1 before, 1 after";
  EXPECT_EQ(pooled(8, 2, 2), std::pair(size_t{4}, size_t{0})) << "none";
  EXPECT_EQ(pooled(7, 2, 3), std::pair(size_t{3}, size_t{0})) << "0 before, 1 after";
  EXPECT_EQ(pooled(6, 1, 2), std::pair(size_t{3}, size_t{0})) << "no window covers the last pixel";
  EXPECT_EQ(pooled(2, 7, 4), std::pair(size_t{1}, size_t{2})) << "2 before, 3 after";
}

TEST(Network, RefusesShapesThatDoNotFit) {
  Network network({3, 6, 6});
  const NodeId x = network.conv2d(0, "a", {.filters = 4});
  EXPECT_THROW(network.conv2d(0, "b", {.kernel = 9}), Error);
  EXPECT_THROW(network.conv2d(0, "a"), Error) << "two variables with the same name";
  EXPECT_THROW(network.conv2d(17, "b"), Error) << "no such node";
  EXPECT_THROW(network.batch_norm(x, "b", {.residual = 0}), Error);
  EXPECT_THROW(network.pool_and_pad(x, "b", 4, 8), Error);
  EXPECT_THROW(network.pool_and_pad(x, "b", 2, 5), Error) << "zero channels are split equally";
  EXPECT_THROW(network.max_pool(x, "b", {.window = 0}), Error);
  EXPECT_THROW(network.max_pool(x, "b", {.stride = 0}), Error);
  EXPECT_THROW(network.max_pool(x, "b", {.window = 7, .padding = Padding::valid}), Error);
  EXPECT_THROW(network.dense(x, "b", 3, {.weights = {.initializer = Dirac{}}}), Error);
  EXPECT_THROW(network.dense(x, "b", 3, {.biases = {.initializer = GivenValues{{1, 2}}}}), Error);
  EXPECT_THROW(network.local_response_norm(x, "b", {.bias = 0}), Error);
  EXPECT_THROW(network.local_response_norm(x, "b", {.alpha = -1}), Error);
  EXPECT_THROW(network.softmax_cross_entropy(x), Error);
  network.softmax_cross_entropy(network.dense(x, "d", 3));
  EXPECT_THROW(network.conv2d(x, "c"), Error) << "nothing follows the loss";
}

TEST(Network, RefusesALayerThatNobodyReads) {
  Network network({3, 6, 6});
  network.conv2d(0, "forgotten");
  const NodeId logits = network.dense(0, "dense", 3);
  EXPECT_THAT(error_of([&] { network.softmax_cross_entropy(logits); }).what(),
              testing::HasSubstr("forgotten"));
}

}  // namespace
}  // namespace recordpipe
