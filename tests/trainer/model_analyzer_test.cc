#include "recordpipe/trainer/model/model_analyzer.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"

namespace recordpipe {
namespace {

const OperationCost& operation(const ModelAnalysis& analysis, std::string_view name) {
  return *std::ranges::find(analysis.operations, name, &OperationCost::name);
}

// Returns a network with every kind of operation except those of the next test.
Network analyzed_network() {
  Network network({1, 4, 4});
  NodeId x = network.conv2d(0, "conv", {.filters = 2, .relu = true, .biases = ParameterOptions{}});
  const NodeId shortcut = network.pool_and_pad(x, "shortcut", 2, 4);
  x = network.conv2d(x, "down", {.filters = 4, .stride = 2});
  x = network.batch_norm(x, "bn", {.residual = shortcut});
  x = network.global_average_pool(x, "mean");
  network.softmax_cross_entropy(network.dense(x, "dense", 3));
  return network;
}

// conv: 16 pixels · 2 channels · 9 taps = 288 multiply-adds, 32 outputs with bias and ReLU; down: 4
// pixels · 4 channels · 2 · 9 taps = 288; bn: 16 values, 4 each.
TEST(ModelAnalyzer, WritesALineForEachVariableAndOperation) {
  EXPECT_EQ(to_text(analyze_model(analyzed_network())), R"(---------
Variables: name (type shape) [size]
---------
conv/weights (float32 2x1x3x3) [18, bytes: 72]
conv/biases (float32 2) [2, bytes: 8]
down/weights (float32 4x2x3x3) [72, bytes: 288]
bn/gamma (float32 4) [4, bytes: 16]
bn/beta (float32 4) [4, bytes: 16]
bn/moving_mean (float32 4) [4, bytes: 16, not trained]
bn/moving_variance (float32 4) [4, bytes: 16, not trained]
dense/weights (float32 3x4) [12, bytes: 48]
dense/biases (float32 3) [3, bytes: 12]
Total size of variables: 123
Total bytes of variables: 492
Total size of trained variables: 115
Total bytes of trained variables: 460
---------
Operations of one image: name (kind) -> (type shape) [size]
---------
input (input) -> (float32 1x4x4) [16, bytes: 64, multiply-adds: 0, FLOPs: 32, parameters: 0]
conv (conv2d) -> (float32 2x4x4) [32, bytes: 128, multiply-adds: 288, FLOPs: 640, parameters: 20]
shortcut (pool_and_pad) -> (float32 4x2x2) [16, bytes: 64, multiply-adds: 0, FLOPs: 32, parameters: 0]
down (conv2d) -> (float32 4x2x2) [16, bytes: 64, multiply-adds: 288, FLOPs: 576, parameters: 72]
bn (batch_norm) -> (float32 4x2x2) [16, bytes: 64, multiply-adds: 0, FLOPs: 64, parameters: 8]
mean (global_average_pool) -> (float32 4x1x1) [4, bytes: 16, multiply-adds: 0, FLOPs: 16, parameters: 0]
dense (dense) -> (float32 3x1x1) [3, bytes: 12, multiply-adds: 12, FLOPs: 27, parameters: 15]
loss (softmax_cross_entropy) -> (float32 1x1x1) [1, bytes: 4, multiply-adds: 0, FLOPs: 12, parameters: 0]
Total bytes of activations: 416
Total multiply-adds: 588
Total FLOPs: 1399
)");
}

TEST(ModelAnalyzer, KnowsTheTutorialCnn) {
  const ModelAnalysis analysis = analyze_model(tutorial_cnn());
  EXPECT_EQ(analysis.totals.parameters, 1'068'298u);
  EXPECT_EQ(analysis.totals.parameter_bytes, 4'273'192u);
  EXPECT_EQ(analysis.totals.variables, 1'068'298u) << "all are trained";
  EXPECT_EQ(analysis.totals.multiply_adds, tutorial_cnn().multiply_adds());
  EXPECT_THAT(to_text(analysis),
              testing::AllOf(
                  testing::HasSubstr("\nconv1/weights (float32 64x3x5x5) [4800, bytes: 19200]\n"),
                  testing::HasSubstr("\nlocal3/biases (float32 384) [384, bytes: 1536]\n"),
                  testing::HasSubstr("\nTotal size of variables: 1068298\n")));
  const OperationCost& conv1 = operation(analysis, "conv1");
  EXPECT_EQ(conv1.multiply_adds, 24u * 24 * 64 * 75);
  EXPECT_EQ(conv1.flops, 2u * 24 * 24 * 64 * 75 + 2 * 24 * 24 * 64);
  EXPECT_EQ(conv1.activation_bytes, 4u * 24 * 24 * 64);
  EXPECT_EQ(conv1.parameters, 4864u);
  EXPECT_EQ(operation(analysis, "pool1").flops, 12u * 12 * 64 * 8);
  EXPECT_EQ(operation(analysis, "norm1").flops, 12u * 12 * 64 * 13);
  EXPECT_EQ(operation(analysis, "input").flops, 0u);
  EXPECT_EQ(operation(analysis, "local3").flops, 2u * 2304 * 384 + 2 * 384);
}

TEST(ModelAnalyzer, KnowsResNet44) {
  const ModelAnalysis analysis = analyze_model(resnet({.layers = 44}));
  EXPECT_EQ(analysis.totals.parameters, 658'651u);
  EXPECT_NEAR(static_cast<double>(analysis.totals.multiply_adds), 97.2e6, 0.05e6);
  // Two moving statistics for each channel of 43 batch norms.
  EXPECT_EQ(analysis.totals.variables - analysis.totals.parameters,
            2u * (16 + 14 * (16 + 32 + 64)));
  size_t parameters = 0;
  uint64_t flops = 0, bytes = 0;
  for (const OperationCost& each : analysis.operations) {
    parameters += each.parameters;
    flops += each.flops;
    bytes += each.activation_bytes;
  }
  EXPECT_EQ(parameters, 658'651u) << "each variable belongs to one operation";
  EXPECT_EQ(flops, analysis.totals.flops);
  EXPECT_EQ(bytes, analysis.totals.activation_bytes);
}

TEST(ModelAnalyzer, SaysTheSameAsJson) {
  const ModelAnalysis analysis = analyze_model(analyzed_network());
  const std::string text = to_json(analysis);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto json = nlohmann::json::parse(text);
  ASSERT_EQ(json["variables"].size(), 9u);
  EXPECT_EQ(json["variables"][2], nlohmann::json::parse(R"({
    "name": "down/weights", "dtype": "float32", "shape": [4, 2, 3, 3], "count": 72, "bytes": 288,
    "trained": true})"));
  EXPECT_EQ(json["variables"][5]["trained"], false);
  ASSERT_EQ(json["operations"].size(), 8u);
  EXPECT_EQ(json["operations"][1], nlohmann::json::parse(R"({
    "name": "conv", "kind": "conv2d", "dtype": "float32", "shape": [2, 4, 4],
    "activation_bytes": 128, "multiply_adds": 288, "flops": 640, "parameters": 20})"));
  EXPECT_EQ(json["totals"], nlohmann::json::parse(R"({
    "variables": 123, "variable_bytes": 492, "parameters": 115, "parameter_bytes": 460,
    "activation_bytes": 416, "multiply_adds": 588, "flops": 1399})"));
}

}  // namespace
}  // namespace recordpipe
