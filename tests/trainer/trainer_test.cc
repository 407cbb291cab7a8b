#include "recordpipe/trainer/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/backend/reference/reference_backend.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/test_networks.h"

namespace recordpipe {
namespace {

double constant_rate(uint64_t) { return 0.05; }

std::vector<float> all_values(const Variables& variables) {
  std::vector<float> all;
  for (VariableId id = 0; id < variables.specs().size(); ++id) {
    const std::vector<float> values = variables.read(id);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

template <class T>
class TrainerOnEachBackend : public testing::Test {};
using TrainerBackends = testing::Types<CpuBackend, ReferenceBackend<float>>;
TYPED_TEST_SUITE(TrainerOnEachBackend, TrainerBackends);

// Random images with random labels can only be memorised, which needs the gradients of all layers.
TYPED_TEST(TrainerOnEachBackend, LearnsATinySetByHeart) {
  const Network network = small_resnet();
  TypeParam backend;
  const auto variables = backend.make_variables(network);
  initialize(*variables, 1);
  Trainer trainer(backend, network, *variables, {.batch_size = 8});
  const ImageBatch batch = random_batch(network, 8, 1);

  const StepResult first = trainer.step(batch, constant_rate);
  EXPECT_EQ(first.step, 1u);
  EXPECT_EQ(first.learning_rate, 0.05);
  EXPECT_NEAR(first.batch.loss, std::log(11.0), 1.5);
  StepResult last;
  for (int step = 0; step < 40; ++step) last = trainer.step(batch, constant_rate);
  EXPECT_EQ(trainer.steps_done(), 41u);
  EXPECT_LT(last.batch.loss, 0.1);
  EXPECT_EQ(last.batch.correct, 8u);
}

TYPED_TEST(TrainerOnEachBackend, LearnsATinySetByHeartWithTheTutorialCnn) {
  const Network network = tutorial_cnn({.input = {3, 6, 6}});
  TypeParam backend;
  const auto variables = backend.make_variables(network);
  initialize(*variables, 1);
  Trainer trainer(backend, network, *variables,
                  {.batch_size = 6, .momentum = 0.9, .weight_decay = 0.004});
  const ImageBatch batch = random_batch(network, 6, 1);

  EXPECT_NEAR(trainer.step(batch, constant_rate).batch.loss, std::log(10.0), 0.1);
  StepResult last;
  for (int step = 0; step < 60; ++step) last = trainer.step(batch, constant_rate);
  EXPECT_LT(last.batch.loss, 0.1);
  EXPECT_EQ(last.batch.correct, 6u);
}

TEST(Trainer, UpdatesByItsOptionsAndTheStepsLearningRate) {
  const Network network = small_resnet();
  CpuBackend backend;
  const auto variables = backend.make_variables(network);
  randomize(*variables, 1);
  std::vector<std::vector<float>> before;
  for (VariableId id = 0; id < network.variables().size(); ++id) {
    before.push_back(variables->read(id));
    if (network.variables()[id].trained)
      variables->write(id, std::vector<float>(before[id].size(), 2), Slot::momentum);
  }
  Trainer trainer(backend, network, *variables,
                  {.batch_size = 4, .momentum = 0.75, .weight_decay = 0.125});
  trainer.set_steps_done(6);
  const auto schedule = [](uint64_t steps) { return steps == 6 ? 0.25 : 1e9; };
  EXPECT_EQ(trainer.step(random_batch(network, 4, 1), schedule).learning_rate, 0.25);

  for (VariableId id = 0; id < network.variables().size(); ++id) {
    if (!network.variables()[id].trained) continue;
    const std::vector<float> gradient = variables->read(id, Slot::gradient);
    const std::vector<float> after = variables->read(id);
    for (size_t i = 0; i < after.size(); ++i) {
      const float velocity = 0.75f * 2 + gradient[i] + 0.125f * before[id][i];
      ASSERT_NEAR(after[i], before[id][i] - 0.25f * velocity, 1e-6 * (1 + std::abs(velocity)))
          << network.variables()[id].name;
    }
  }
}

TEST(Trainer, GivesTheSameWeightsAtEveryRun) {
  for (const Network& network : {small_resnet(), tutorial_cnn()})
    for (const size_t threads : {0u, 1u, 3u}) {
      std::vector<std::vector<float>> runs;
      for (int run = 0; run < 2; ++run) {
        CpuBackend backend({.threads = threads});
        const auto variables = backend.make_variables(network);
        initialize(*variables, 1);
        Trainer trainer(backend, network, *variables, {.batch_size = 24});
        for (uint64_t step = 0; step < 5; ++step)
          trainer.step(random_batch(network, 24, step), constant_rate);
        runs.push_back(all_values(*variables));
      }
      EXPECT_EQ(runs[0], runs[1]) << threads << " threads";
    }
}

// A step from restored values equals the step that would have followed.
TEST(Trainer, GoesOnFromValuesAndMomentum) {
  const Network network = small_resnet();
  CpuBackend backend;
  const auto variables = backend.make_variables(network);
  const auto copy = backend.make_variables(network);
  initialize(*variables, 1);
  Trainer trainer(backend, network, *variables, {.batch_size = 8});
  for (uint64_t step = 0; step < 3; ++step)
    trainer.step(random_batch(network, 8, step), constant_rate);

  for (VariableId id = 0; id < network.variables().size(); ++id) {
    copy->write(id, variables->read(id));
    if (network.variables()[id].trained)
      copy->write(id, variables->read(id, Slot::momentum), Slot::momentum);
  }
  Trainer resumed(backend, network, *copy, {.batch_size = 8});
  resumed.set_steps_done(trainer.steps_done());
  const ImageBatch batch = random_batch(network, 8, 99);
  EXPECT_EQ(trainer.step(batch, constant_rate).batch.loss,
            resumed.step(batch, constant_rate).batch.loss);
  EXPECT_EQ(resumed.steps_done(), 4u);
  EXPECT_EQ(all_values(*variables), all_values(*copy));
}

TEST(Trainer, StopsWhereTheLossIsNoNumber) {
  const Network network = small_resnet();
  CpuBackend backend;
  const auto variables = backend.make_variables(network);
  initialize(*variables, 1);
  for (VariableId id = 0; id < network.variables().size(); ++id)
    if (network.variables()[id].name == "dense/biases")
      variables->write(id, std::vector<float>(11, std::numeric_limits<float>::quiet_NaN()));
  const std::vector<float> weights = variables->read(0);
  Trainer trainer(backend, network, *variables, {.batch_size = 4});
  EXPECT_THROW(trainer.step(random_batch(network, 4, 1), constant_rate), Error);
  EXPECT_EQ(trainer.steps_done(), 0u);
  EXPECT_EQ(variables->read(0), weights);
}

// As in the loss that the tutorial logs, all trained variables are penalised, including biases and
// those of batch norm.
TEST(Trainer, AddsThePenaltyOfWeightDecayToTheLoss) {
  const Network network = small_resnet();
  CpuBackend backend;
  const auto variables = backend.make_variables(network);
  for (VariableId id = 0; id < network.variables().size(); ++id)
    variables->write(id, std::vector<float>(network.variables()[id].size(), 2));
  const Trainer trainer(backend, network, *variables, {.batch_size = 4, .weight_decay = 0.25});
  EXPECT_DOUBLE_EQ(trainer.total_loss({.loss = 3}),
                   3 + 0.25 * 0.5 * 4 * static_cast<double>(network.parameter_count()));
}

TEST(Trainer, RefusesBatchesThatDoNotFit) {
  const Network network = small_resnet();
  CpuBackend backend;
  const auto variables = backend.make_variables(network);
  initialize(*variables, 1);
  Trainer trainer(backend, network, *variables, {.batch_size = 4});
  EXPECT_THROW(trainer.step(random_batch(network, 3, 1), constant_rate), Error);
  EXPECT_THROW(trainer.step(random_batch(network, 5, 1), constant_rate), Error);
  EXPECT_THROW(trainer.step(random_batch(Network({3, 9, 8}), 4, 1), constant_rate), Error);
  ImageBatch batch = random_batch(network, 4, 1);
  for (const int32_t label : {-1, 11}) {
    batch.set_label(2, label);
    EXPECT_THROW(trainer.step(batch, constant_rate), Error);
  }
  EXPECT_EQ(trainer.steps_done(), 0u);
}

// Images are scaled to values from -1 to 1, or unscaled.
TEST(Trainer, TakesEveryFormatOfImages) {
  for (const InputOp& op : {InputOp(), InputOp{.scale = 1, .shift = 0}}) {
    Network network({3, 8, 8}, op);
    network.softmax_cross_entropy(network.dense(0, "dense", 2));
    CpuBackend backend;
    ReferenceBackend<float> reference;
    const auto variables = backend.make_variables(network);
    const auto reference_variables = reference.make_variables(network);
    const RunnerOptions options = {.batch_size = 2, .mode = Mode::inference};
    const auto runner = backend.make_runner(network, *variables, options);
    const auto reference_runner = reference.make_runner(network, *reference_variables, options);
    const auto pixel_value = [](size_t image, size_t c, size_t p) {
      return static_cast<uint8_t>(37 * image + 100 * c + p);
    };
    for (const DType dtype : {DType::uint8, DType::float32})
      for (const Layout layout : {Layout::nhwc, Layout::nchw}) {
        ImageBatch batch;
        batch.reset({.height = 8, .width = 8, .dtype = dtype, .layout = layout}, 2);
        for (size_t image = 0; image < 2; ++image) {
          batch.set_label(image, 0);
          for (size_t c = 0; c < 3; ++c)
            for (size_t p = 0; p < 64; ++p) {
              const size_t at = layout == Layout::nhwc ? p * 3 + c : c * 64 + p;
              const uint8_t value = pixel_value(image, c, p);
              if (dtype == DType::uint8)
                batch.image_at(image)[at] = std::byte{value};
              else
                reinterpret_cast<float*>(batch.image_at(image))[at] = value;
            }
        }
        for (Runner* each : {runner.get(), reference_runner.get()}) {
          each->load(batch);
          const std::vector<float> x = each->output(0);
          ASSERT_EQ(x.size(), 2u * 3 * 64);
          for (size_t image = 0; image < 2; ++image)
            for (size_t c = 0; c < 3; ++c)
              for (size_t p = 0; p < 64; ++p) {
                const auto value = static_cast<float>(pixel_value(image, c, p));
                ASSERT_EQ(x[(image * 3 + c) * 64 + p], op.scale == 1 ? value : value / 128 - 1);
              }
        }
      }
  }
}

}  // namespace
}  // namespace recordpipe
