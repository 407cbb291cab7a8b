// Compares the CPU backend, which uses oneDNN, with the reference in double precision.
#include "recordpipe/trainer/backend/cpu/cpu_backend.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"
#include "tests/trainer/backend_comparison.h"
#include "tests/trainer/test_networks.h"

namespace recordpipe {
namespace {

void compare_steps(const Network& network, size_t images, double tolerance,
                   const CpuBackendOptions& options = {}) {
  CpuBackend backend(options);
  compare_steps(backend, network, images, {relative_error, tolerance, tolerance, true});
}

// Padding must not count: some outputs have additional channels that fill a vector register.
TEST(CpuBackend, CountsTheZerosOfWhatANodeGave) {
  size_t most = 0;
  for (const auto& [name, network] : layer_networks()) {
    const RunnerOptions options = {.batch_size = 4, .mode = Mode::inference};
    CpuBackend cpu_backend;
    ReferenceBackend<double> reference_backend;
    const Side cpu(cpu_backend, network, options), reference(reference_backend, network, options);
    for (Runner* runner : {cpu.runner.get(), reference.runner.get()})
      for (const size_t images : {4u, 3u}) {
        runner->load(random_batch(network, images, images));
        runner->forward();
        for (NodeId node = 0; node + 1 < network.nodes().size(); ++node) {
          const std::vector<float> output = runner->output(node);
          const auto zeros = static_cast<size_t>(std::ranges::count(output, 0.0f));
          EXPECT_EQ(runner->count_zeros(node), zeros) << name << ", node " << node;
          most = std::max(most, zeros);
        }
      }
  }
  EXPECT_GT(most, 100u);
}

class CpuLayers : public testing::TestWithParam<NamedNetwork> {};

TEST_P(CpuLayers, AgreeWithTheReference) { compare_steps(GetParam().network, 5, 2e-5); }

TEST_P(CpuLayers, AgreeWithTheReferenceForOneImage) { compare_steps(GetParam().network, 1, 2e-5); }

TEST_P(CpuLayers, AgreeWithTheReferenceInInference) {
  CpuBackend backend;
  compare_inference(backend, GetParam().network, {relative_error, 1e-5, 1e-5, true});
}

INSTANTIATE_TEST_SUITE_P(All, CpuLayers, testing::ValuesIn(layer_networks()),
                         [](const auto& param_info) { return param_info.param.name; });

TEST(CpuBackend, AgreesWithTheReferenceWhereLayersBranch) {
  compare_steps(branching_network(), 5, 5e-5);
}

// The convolutions are so large that oneDNN 2 trains them with Winograd's algorithm, which has
// larger rounding errors.
TEST(CpuBackend, AgreesWithTheReferenceInConvolutionsOfATrainingsSize) {
  for (const FeatureShape& shape : {FeatureShape{32, 16, 16}, FeatureShape{64, 8, 8}}) {
    SCOPED_TRACE(shape.channels);
    Network network({3, shape.height, shape.width});
    NodeId x = network.conv2d(0, "before", {.filters = shape.channels});
    x = network.conv2d(x, "layer", {.filters = shape.channels});
    x = network.global_average_pool(network.batch_norm(x, "bn"), "pool");
    network.softmax_cross_entropy(network.dense(x, "dense", 11));
    compare_steps(network, 16, 5e-5);
  }
}

// The division of work between threads must not change the result.
TEST(CpuBackend, AgreesWithTheReferenceWithAnyNumberOfThreads) {
  const std::string by_default = CpuBackend().name();
  for (const size_t threads : {1u, 3u, 8u}) {
    SCOPED_TRACE(threads);
    EXPECT_THAT(CpuBackend({.threads = threads}).name(),
                testing::HasSubstr(", " + std::to_string(threads) + " threads,"));
    compare_steps(resnet({.layers = 8, .input = {3, 8, 8}}), 5, 1e-4, {.threads = threads});
    compare_steps(tutorial_cnn({.input = {3, 7, 9}}), 5, 1e-4, {.threads = threads});
    compare_steps(small_airbench(), 5, 1e-4, {.threads = threads});
  }
  EXPECT_EQ(CpuBackend().name(), by_default);
  EXPECT_THROW(CpuBackend({.threads = 1025}), Error);
}

// Zero weights make all outputs zero: the gradient then shows which pixels the pooling chose.
TEST(CpuBackend, PoolsTheFirstOfEqualValuesAsTheReferenceDoes) {
  for (const size_t channels : {1u, 16u}) {
    Network network({3, 7, 6});
    const NodeId x = network.conv2d(0, "conv", {.filters = channels, .kernel = 1, .padding = 0});
    network.softmax_cross_entropy(network.dense(network.max_pool(x, "pool"), "dense", 5));
    const auto gradient_on = [&](Backend& backend) {
      Side side(backend, network, {.batch_size = 2});
      const VariableId weights = id_of(network, "conv/weights");
      side.variables->write(weights, std::vector<float>(3 * channels, 0));
      side.runner->load(random_batch(network, 2, 5));
      side.runner->forward();
      side.runner->backward();
      return side.variables->read(weights, Slot::gradient);
    };
    CpuBackend cpu;
    ReferenceBackend<double> reference;
    EXPECT_LE(relative_error(gradient_on(cpu), gradient_on(reference)), 2e-5);
  }
}

TEST(CpuBackend, AgreesWithTheReferenceInAStepOfTheTutorialCnn) {
  compare_steps(tutorial_cnn(), 3, 5e-5);
}

TEST(CpuBackend, AgreesWithTheReferenceInAStepOfAirbench) {
  compare_steps(small_airbench(), 4, 1e-4);
}

TEST(CpuBackend, AgreesWithTheReferenceInAStepOfResNet) {
  compare_steps(resnet({.layers = 8}), 4, 1e-4);
}

TEST(CpuBackend, AgreesWithTheReferenceInAStepOfADeeperResNet) {
  compare_steps(resnet({.layers = 20, .input = {3, 16, 16}, .label_smoothing = 0.1}), 4, 1e-3);
}

}  // namespace
}  // namespace recordpipe
