// Compares the CUDA backend with the reference in double precision. Compiled twice: as
// cuda_backend_test, which needs a GPU, and as cuda_emulation_test, which runs the same kernels as
// loops on the CPU and replaces cuDNN and cuBLASLt.
#include "trainer/backend/cuda/cuda_backend.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/io/file.h"
#include "recordpipe/trainer/checkpoint/checkpoint.h"
#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"
#include "tests/trainer/backend_comparison.h"
#include "tests/trainer/gradient_comparison.h"
#include "tests/trainer/test_networks.h"
#include "tests/trainer/thread_communicator.h"

namespace recordpipe {
namespace {

struct Precision {
  std::string name;
  CudaPrecision precision;
  Closeness smooth_layer;    // for a few layers
  Closeness deciding_layer;  // the same with ReLU or max pooling
  Closeness network;         // for a whole network
  size_t network_steps;      // the number of compared steps

  friend void PrintTo(const Precision& printed, std::ostream* out) { *out << printed.name; }
};

// One rounding has a relative error of up to 6e-8 in fp32, 5e-4 in fp16 and tf32 (whose activations
// stay fp32), and 4e-3 in bf16; there are a few roundings between a network's input and a gradient.
// If a ReLU's input is close to zero, or two candidates of a pooling are close to each other,
// rounding may redirect a gradient. Such an error is as large as the gradient, and the fraction of
// affected values grows with the number of roundings.
std::vector<Precision> precisions() {
  const auto of = [](const std::string& name, CudaPrecision precision, double outputs,
                     double gradients, double with_decisions) {
    return Precision{.name = name,
                     .precision = precision,
                     .smooth_layer = {mean_error, outputs, gradients, false},
                     .deciding_layer = {mean_error, outputs, with_decisions, false},
                     .network = {mean_error, outputs, 1.5 * with_decisions, false},
                     .network_steps = 1};
  };
  const Closeness exact = {relative_error, 2e-5, 2e-5, true};
  return {{"fp32", CudaPrecision::fp32, exact, exact, {relative_error, 1e-3, 1e-3, true}, 3},
          of("tf32", CudaPrecision::tf32, 5e-3, 8e-3, 0.15),
          of("bf16", CudaPrecision::bf16, 2.5e-2, 2.5e-2, 0.3),
          of("fp16", CudaPrecision::fp16, 4e-3, 5e-3, 0.15)};
}

bool decides(const Network& network) {
  return std::ranges::any_of(network.nodes(), [](const NetworkNode& node) {
    const auto* conv = std::get_if<Conv2dOp>(&node.op);
    const auto* norm = std::get_if<BatchNormOp>(&node.op);
    const auto* dense = std::get_if<DenseOp>(&node.op);
    return std::holds_alternative<MaxPoolOp>(node.op) || (conv && conv->relu) ||
           (norm && norm->relu) || (dense && dense->relu);
  });
}

Closeness closeness(const Precision& precision, const Network& network) {
  return decides(network) ? precision.deciding_layer : precision.smooth_layer;
}

// Returns the backend of a precision. It is made once, because starting CUDA's libraries takes
// longer than most tests, and never destroyed, because those libraries may be unloaded first at the
// program's end.
CudaBackend& backend_of(const Precision& precision) {
  static auto& backends = *new std::map<CudaPrecision, CudaBackend>;
  const CudaBackendOptions options = {.precision = precision.precision, .loss_scale = 64};
  return backends.try_emplace(precision.precision, options).first->second;
}

using LayerCase = std::tuple<Precision, NamedNetwork>;

class CudaLayers : public testing::TestWithParam<LayerCase> {
 protected:
  void compare(size_t images) {
    const auto& [precision, named] = GetParam();
    CudaBackend& backend = backend_of(precision);
    compare_steps(backend, named.network, images, closeness(precision, named.network));
  }
};

TEST_P(CudaLayers, AgreeWithTheReference) { compare(5); }

TEST_P(CudaLayers, AgreeWithTheReferenceForOneImage) { compare(1); }

TEST_P(CudaLayers, AgreeWithTheReferenceInInference) {
  const auto& [precision, named] = GetParam();
  CudaBackend& backend = backend_of(precision);
  compare_inference(backend, named.network, closeness(precision, named.network));
}

INSTANTIATE_TEST_SUITE_P(All, CudaLayers,
                         testing::Combine(testing::ValuesIn(precisions()),
                                          testing::ValuesIn(layer_networks())),
                         [](const auto& param_info) {
                           return std::get<0>(param_info.param).name +
                                  std::get<1>(param_info.param).name;
                         });

class CudaNetworks : public testing::TestWithParam<Precision> {
 protected:
  // Three steps: the first launches kernels one by one, the second captures graphs, the third
  // launches the graphs.
  void compare(const Network& network, size_t images) {
    CudaBackend& backend = backend_of(GetParam());
    compare_steps(backend, network, images, GetParam().network, GetParam().network_steps);
  }
};

TEST_P(CudaNetworks, AgreeWithTheReferenceWhereLayersBranch) { compare(branching_network(), 5); }

TEST_P(CudaNetworks, AgreeWithTheReferenceInTheTutorialCnn) {
  compare(tutorial_cnn({.input = {3, 12, 12}}), 3);
}

TEST_P(CudaNetworks, AgreeWithTheReferenceInAirbench) { compare(small_airbench(), 32); }

TEST_P(CudaNetworks, AgreeWithTheReferenceInResNet) {
  compare(resnet({.layers = 8, .input = {3, 16, 16}, .label_smoothing = 0.1}), 4);
}

INSTANTIATE_TEST_SUITE_P(All, CudaNetworks, testing::ValuesIn(precisions()),
                         [](const auto& param_info) { return param_info.param.name; });

TEST_P(CudaNetworks, GiveTheSameBitsAtEveryRunWithGraphsAndWithout) {
  const Network network = resnet({.layers = 8, .input = {3, 16, 16}});
  std::vector<std::vector<float>> weights;
  for (const bool graphs : {true, true, false}) {
    CudaBackend backend({.precision = GetParam().precision, .graphs = graphs});
    Side side(backend, network, {.batch_size = 6});
    for (uint64_t step = 0; step < 4; ++step) {
      side.runner->load(random_batch(network, 6, step));
      side.runner->forward();
      side.runner->backward();
      side.variables->apply_momentum({});
    }
    weights.push_back(side.variables->read(0));
  }
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_EQ(weights[0], weights[2]) << "without graphs";
}

// In odd numbers of channels, which are padded with zeros, and in a batch that isn't full.
TEST_P(CudaNetworks, CountZeros) {
  Network network({3, 9, 7});
  NodeId x = network.conv2d(0, "conv", {.filters = 5, .relu = true});
  x = network.conv2d(x, "wide", {.filters = 70, .kernel = 1, .padding = 0, .relu = true});
  network.softmax_cross_entropy(network.dense(x, "dense", 3));
  Side side(backend_of(GetParam()), network, {.batch_size = 20, .mode = Mode::inference});
  for (const size_t images : {20u, 5u}) {
    side.runner->load(random_batch(network, images, images));
    side.runner->forward();
    for (NodeId node = 0; node + 1 < network.nodes().size(); ++node) {
      const std::vector<float> output = side.runner->output(node);
      EXPECT_EQ(side.runner->count_zeros(node),
                static_cast<size_t>(std::ranges::count(output, 0.0f)))
          << network.nodes()[node].name;
    }
  }
}

// A batch is uploaded while another one is computed. Batches of any formats must not be mixed up,
// even if a batch was loaded but not used.
TEST(CudaBackend, TakesBatchesOfEachFormatInTurn) {
  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  const RunnerOptions options = {.batch_size = 4, .mode = Mode::inference};
  CudaBackend backend;
  ReferenceBackend<double> reference_backend;
  Side own(backend, network, options), reference(reference_backend, network, options);
  ImageBatch batch;
  for (size_t turn = 0; turn < 24; ++turn) {
    SCOPED_TRACE(turn);
    const bool uint8 = turn % 2 == 0;
    batch.reset({.height = 8,
                 .width = 8,
                 .dtype = uint8 ? DType::uint8 : DType::float32,
                 .layout = turn % 4 < 2 ? Layout::nhwc : Layout::nchw},
                1 + turn % 4);
    Random random(turn, 0, 0);
    for (size_t image = 0; image < batch.size(); ++image) {
      batch.set_label(image, static_cast<int32_t>(random.below(11)));
      std::byte* pixels = batch.image_at(image);
      for (size_t i = 0; i < batch.format().values_per_image(); ++i)
        if (uint8)
          pixels[i] = static_cast<std::byte>(random.below(256));
        else
          reinterpret_cast<float*>(pixels)[i] = 256 * random.uniform();
    }
    own.runner->load(batch);
    reference.runner->load(batch);
    if (turn % 5 != 0) continue;
    EXPECT_LE(relative_error(own.runner->output(0), reference.runner->output(0)), 1e-6);
    const BatchResult got = own.runner->forward(), expected = reference.runner->forward();
    EXPECT_NEAR(got.loss, expected.loss, 1e-5 * std::max(1.0, expected.loss));
    EXPECT_EQ(got.correct, expected.correct);
    EXPECT_EQ(got.images, batch.size());
  }
}

// Zero weights make all outputs zero: the gradient then shows which pixels the pooling chose.
TEST(CudaBackend, PoolsTheFirstOfEqualValuesAsTheReferenceDoes) {
  Network network({3, 7, 6});
  const NodeId x = network.conv2d(0, "conv", {.filters = 5, .kernel = 1, .padding = 0});
  network.softmax_cross_entropy(network.dense(network.max_pool(x, "pool"), "dense", 5));
  const auto gradient_on = [&](Backend& backend) {
    Side side(backend, network, {.batch_size = 2});
    const VariableId weights = id_of(network, "conv/weights");
    side.variables->write(weights, std::vector<float>(15, 0));
    side.runner->load(random_batch(network, 2, 5));
    side.runner->forward();
    side.runner->backward();
    return side.variables->read(weights, Slot::gradient);
  };
  CudaBackend backend;
  ReferenceBackend<double> reference;
  EXPECT_LE(relative_error(gradient_on(backend), gradient_on(reference)), 2e-5);
}

// As long as a gradient overflows in float16, the step is skipped and the loss scale halved.
TEST(CudaBackend, LeavesOutStepsThatOverflowAndScalesLess) {
  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  CudaBackend backend({.precision = CudaPrecision::fp16, .loss_scale = 1 << 24});
  Side side(backend, network, {.batch_size = 4});
  const std::vector<float> before = side.variables->read(0);
  const auto step = [&] {
    side.runner->load(random_batch(network, 4, 1));
    EXPECT_TRUE(std::isfinite(side.runner->forward().loss));
    side.runner->backward();
    side.variables->apply_momentum({.learning_rate = 0.01});
    return side.variables->read(0);
  };
  EXPECT_EQ(step(), before);
  size_t steps = 1;
  while (step() == before && steps < 24) ++steps;
  EXPECT_LT(steps, 20u);
  for (const float value : side.variables->read(0)) EXPECT_TRUE(std::isfinite(value));
}

// The loss scale doubles after a number of successful steps; this must not affect the update.
TEST(CudaBackend, TrainsAlikeWhateverTheLossScale) {
  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  std::vector<std::vector<float>> weights;
  for (const uint32_t interval : {1u, 1000u}) {
    CudaBackend backend({.precision = CudaPrecision::fp16,
                         .loss_scale = 16,
                         .loss_scale_growth_interval = interval});
    Side side(backend, network, {.batch_size = 4});
    for (uint64_t seed = 0; seed < 3; ++seed) {
      side.runner->load(random_batch(network, 4, seed));
      side.runner->forward();
      side.runner->backward();
      side.variables->apply_momentum({.learning_rate = 0.01});
    }
    weights.push_back(side.variables->read(0));
  }
  EXPECT_LE(relative_error(weights[0], weights[1]), 1e-3);
}

// A run resumed from a checkpoint makes the same steps, in which the scale grows or overflows.
TEST(CudaBackend, ContinuesWithTheSavedLossScale) {
  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  CudaBackend backend(
      {.precision = CudaPrecision::fp16, .loss_scale = 4096, .loss_scale_growth_interval = 3});
  const TemporaryDirectory folder;
  const auto train = [&](Side& side, uint64_t from, uint64_t to) {
    for (uint64_t seed = from; seed < to; ++seed) {
      side.runner->load(random_batch(network, 4, seed));
      side.runner->forward();
      side.runner->backward();
      side.runner->update_statistics();
      side.variables->apply_momentum({.learning_rate = 0.01});
    }
  };
  Side whole(backend, network, {.batch_size = 4}), resumed(backend, network, {.batch_size = 4});
  train(whole, 0, 5);
  const std::optional<LossScale> saved = whole.variables->loss_scale();
  ASSERT_TRUE(saved);
  EXPECT_NE(*saved, (LossScale{.scale = 4096}));
  write_checkpoint(posix_file_system(), folder / "checkpoint", *whole.variables, {.step = 5});
  train(whole, 5, 9);

  train(resumed, 20, 21);
  read_checkpoint(posix_file_system(), folder / "checkpoint", *resumed.variables);
  EXPECT_EQ(resumed.variables->loss_scale(), saved);
  train(resumed, 5, 9);
  EXPECT_EQ(resumed.variables->loss_scale(), whole.variables->loss_scale());
  EXPECT_EQ(resumed.variables->read(0), whole.variables->read(0));
}

// As after the steps that measure the speed for --minutes.
TEST(CudaBackend, StartsAgainWithTheInitialLossScale) {
  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  CudaBackend backend({.precision = CudaPrecision::fp16, .loss_scale = 16});
  const auto variables = backend.make_variables(network);
  EXPECT_EQ(variables->loss_scale(), (LossScale{.scale = 16}));
  variables->set_loss_scale(LossScale{.scale = 64, .good_steps = 7});
  EXPECT_EQ(variables->loss_scale(), (LossScale{.scale = 64, .good_steps = 7}));
  EXPECT_EQ(error_of([&] { variables->set_loss_scale(LossScale{.scale = 3}); }).kind(),
            ErrorKind::invalid_argument);
  initialize(*variables, 1);
  EXPECT_EQ(variables->loss_scale(), (LossScale{.scale = 16}));

  variables->set_loss_scale(LossScale{.scale = 64});
  const TemporaryDirectory folder;
  CudaBackend without;  // in float32, which scales nothing
  const auto unscaled = without.make_variables(network);
  write_checkpoint(posix_file_system(), folder / "checkpoint", *unscaled, {.step = 1});
  read_checkpoint(posix_file_system(), folder / "checkpoint", *variables);
  EXPECT_EQ(variables->loss_scale(), (LossScale{.scale = 16}));
  write_checkpoint(posix_file_system(), folder / "scaled", *variables, {.step = 1});
  read_checkpoint(posix_file_system(), folder / "scaled", *unscaled);
  EXPECT_EQ(unscaled->loss_scale(), std::nullopt);
}

TEST(CudaBackend, ProcessesGradientsAsTheReferenceDoes) {
  CudaBackend backend;
  for (const Network& network : {resnet({.layers = 14, .input = {3, 8, 8}}), tutorial_cnn()})
    for (const uint64_t seed : {1u, 2u, 3u, 4u})
      compare_gradient_processing(backend, network, seed);
}

// Each batch norm has its own decay; two decays are equal.
TEST(CudaBackend, MovesStatisticsByEachBatchNormsDecay) {
  Network network({3, 4, 4});
  NodeId x = network.conv2d(0, "conv", {.filters = 5});
  for (const double decay : {0.5, 0.9, 0.9, 0.25})
    x = network.batch_norm(x, "bn" + std::to_string(x), {.decay = decay});
  network.softmax_cross_entropy(network.dense(x, "dense", 3));
  CudaBackend backend;
  compare_steps(backend, network, 4, {relative_error, 2e-5, 2e-4, true}, /*steps=*/2);
}

TEST(CudaBackend, RefusesWhatMakesNoSense) {
  EXPECT_EQ(error_of([] { CudaBackend({.loss_scale = 3}); }).kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(error_of([] { CudaBackend({.loss_scale = 0}); }).kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(error_of([] { CudaBackend({.loss_scale_growth_interval = 0}); }).kind(),
            ErrorKind::invalid_argument);

  // The variables have the same shapes and precision, but a dense layer that reads 2x2x3 values
  // stores its weights in another order than one that reads 1x4x3.
  const auto network_of = [](const FeatureShape& input) {
    Network network(input);
    network.softmax_cross_entropy(network.dense(0, "dense", 3));
    return network;
  };
  CudaBackend backend;
  const auto variables = backend.make_variables(network_of({3, 2, 2}));
  EXPECT_NO_THROW(backend.make_runner(network_of({3, 1, 4}), *variables, {.batch_size = 1}))
      << "the same order";
  const auto refused = [&](Backend& asked, const FeatureShape& input) {
    return error_of([&] { asked.make_runner(network_of(input), *variables, {.batch_size = 1}); })
        .kind();
  };
  EXPECT_EQ(refused(backend, {6, 1, 2}), ErrorKind::invalid_argument) << "another order";
  CudaBackend other;
  EXPECT_EQ(refused(other, {3, 2, 2}), ErrorKind::invalid_argument) << "another backend's";
}

TEST(CudaBackend, RefusesStatisticsOfSeveralProcesses) {
  const Network network = tutorial_cnn();
  CudaBackend backend;
  const auto variables = backend.make_variables(network);
  ThreadCommunicator::Group alone(1);
  ThreadCommunicator communicator(alone, 0);
  EXPECT_EQ(error_of([&] {
              backend.make_runner(network, *variables,
                                  {.batch_size = 1, .shared_statistics = &communicator});
            }).kind(),
            ErrorKind::unsupported);
}

}  // namespace
}  // namespace recordpipe
