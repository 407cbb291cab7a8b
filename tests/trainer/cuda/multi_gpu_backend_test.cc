// Compares several GPUs in one process with one runner for the whole batch. Skipped if there are
// too few GPUs; the emulation has any number of them.
#include "trainer/backend/cuda/replicated/multi_gpu_backend.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/trainer/backend/replicated/replicated_backend.h"
#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/backend_comparison.h"
#include "tests/trainer/replica_training.h"
#include "tests/trainer/test_networks.h"

namespace recordpipe {
namespace {

constexpr size_t images_per_step = 12;

class MultiGpu : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    try {
      backend_ =
          std::make_unique<MultiGpuBackend>(alone_, MultiGpuBackendOptions{.gpus = GetParam()});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      GTEST_SKIP() << error.what();
    }
  }

  static Trained train_on(Backend& backend, const Network& network) {
    return train(backend, network, images_per_step,
                 [&](uint64_t step) { return random_batch(network, images_per_step, step); });
  }

  SingleProcess alone_;
  std::unique_ptr<MultiGpuBackend> backend_;
};

TEST_P(MultiGpu, LearnWhatOneLearnsFromTheWholeBatch) {
  const Network network = tutorial_cnn({.input = {3, 8, 8}});
  ReferenceBackend<float> reference;
  const Trained got = train_on(*backend_, network);
  EXPECT_LE(greatest_error(got, train_on(reference, network)), 1e-4);
  EXPECT_EQ(train_on(*backend_, network), got) << "other bits at the second run";
}

// Batch norm uses each GPU's own statistics; those of the first GPU are kept.
TEST_P(MultiGpu, TrainResNetAsTowersDo) {
  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  ReplicatedBackend towers(std::make_unique<ReferenceBackend<float>>(), alone_,
                           {.towers = GetParam()});
  EXPECT_LE(greatest_error(train_on(*backend_, network), train_on(towers, network)), 1e-3);
}

TEST_P(MultiGpu, CanBeLookedInto) {
  const Network network = tutorial_cnn({.input = {3, 8, 8}});
  compare_steps(*backend_, network, images_per_step, {relative_error, 2e-5, 1e-4, true});
}

TEST_P(MultiGpu, EvaluateOnOne) {
  const Network network = tutorial_cnn({.input = {3, 8, 8}});
  ReferenceBackend<float> reference;
  const auto loss_on = [&](Backend& backend) {
    const Side side(backend, network, {.batch_size = 7, .mode = Mode::inference});
    side.runner->load(random_batch(network, 5, 1));
    return side.runner->forward().loss;
  };
  EXPECT_NEAR(loss_on(*backend_), loss_on(reference), 1e-5);
}

TEST_P(MultiGpu, RefuseWhatCantBeDealtOut) {
  const Network network = tutorial_cnn({.input = {3, 8, 8}});
  const auto refused = [&](Variables& variables, size_t batch_size) {
    return error_of([&] { backend_->make_runner(network, variables, {.batch_size = batch_size}); })
        .kind();
  };
  const auto variables = backend_->make_variables(network);
  if (GetParam() > 1) {
    EXPECT_EQ(refused(*variables, 2 * GetParam() + 1), ErrorKind::invalid_argument);
  }
  const auto others = ReferenceBackend<float>().make_variables(network);
  EXPECT_EQ(refused(*others, images_per_step), ErrorKind::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Gpus, MultiGpu, testing::Values(1, 2, 3));

}  // namespace
}  // namespace recordpipe
