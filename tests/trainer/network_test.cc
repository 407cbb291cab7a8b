#include "trainer/model/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/base/error.h"
#include "trainer/model/resnet.h"

namespace recordpipe {
namespace {

TEST(ResNet, HasThePublishedSize) {
  const Network network = resnet({.layers = 44});
  EXPECT_EQ(network.parameter_count(), 658'651u);
  EXPECT_NEAR(static_cast<double>(network.multiply_adds()), 97.2e6, 0.05e6);
}

// Conv 3x3x3x16, n blocks of two 3x3 convolutions in each stage, a dense layer 64 → 11; two numbers
// a channel for each batch norm.
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

TEST(Network, RefusesShapesThatDoNotFit) {
  Network network({3, 6, 6});
  const NodeId x = network.conv2d(0, "a", {.filters = 4});
  EXPECT_THROW(network.conv2d(0, "b", {.kernel = 9}), Error);
  EXPECT_THROW(network.conv2d(0, "a"), Error) << "two variables of one name";
  EXPECT_THROW(network.conv2d(17, "b"), Error) << "no such node";
  EXPECT_THROW(network.batch_norm(x, "b", {.residual = 0}), Error);
  EXPECT_THROW(network.pool_and_pad(x, "b", 4, 8), Error);
  EXPECT_THROW(network.pool_and_pad(x, "b", 2, 5), Error) << "zeros go equally on both sides";
  EXPECT_THROW(network.softmax_cross_entropy(x), Error);
  network.softmax_cross_entropy(network.dense(x, "d", 3));
  EXPECT_THROW(network.conv2d(x, "c"), Error) << "nothing follows the loss";
}

}  // namespace
}  // namespace recordpipe
