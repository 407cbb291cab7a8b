// Tests options of a training step: clipping, multipliers, frozen variables, averages, checks.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"
#include "recordpipe/trainer/training/trainer.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/test_networks.h"
#include "tests/trainer/tested_backends.h"

namespace recordpipe {
namespace {

using Floats = std::vector<float>;
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

double constant(uint64_t) { return 0.05; }

// All values, momenta and averages of a network.
struct State {
  explicit State(const Variables& variables) {
    for (VariableId id = 0; id < variables.specs().size(); ++id) {
      slots.push_back(variables.read(id));
      if (!variables.specs()[id].trained) continue;
      slots.push_back(variables.read(id, Slot::momentum));
      if (variables.has_averages()) slots.push_back(variables.read(id, Slot::average));
    }
  }
  bool operator==(const State&) const = default;

  std::vector<Floats> slots;
};

template <class BackendType>
struct Training {
  explicit Training(const TrainerOptions& options)
      : variables(backend.make_variables(network)), trainer(backend, network, *variables, options) {
    initialize(*variables, 1);
  }
  StepResult step(uint64_t seed = 1) {
    return trainer.step(random_batch(network, 4, seed), constant);
  }
  Floats read(const std::string& name, Slot slot = Slot::value) const {
    return variables->read(id_of(network, name), slot);
  }
  void write(const std::string& name, float value) {
    const VariableId id = id_of(network, name);
    variables->write(id, Floats(network.variables()[id].size(), value));
  }

  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  BackendType backend;
  const std::unique_ptr<Variables> variables;
  Trainer trainer;
};

template <class BackendType>
class TrainerOptionsOnEachBackend : public testing::Test {};
TYPED_TEST_SUITE(TrainerOptionsOnEachBackend, TestedFloatBackends);

// Checks of gradients, and limits that are never reached, don't change a single bit of the result.
TYPED_TEST(TrainerOptionsOnEachBackend, WatchingChangesNoBit) {
  const auto after_three = [](const TrainerOptions& options) {
    Training<TypeParam> run(options);
    for (const uint64_t seed : {1u, 2u, 3u}) run.step(seed);
    return State(*run.variables);
  };
  const State plain = after_three({.batch_size = 4});
  EXPECT_EQ(after_three({.batch_size = 4, .gradient_norm = true}), plain);
  EXPECT_EQ(after_three({.batch_size = 4, .check_numerics = true}), plain);
  EXPECT_EQ(after_three({.batch_size = 4, .clip_gradient_norm = 1e6, .clip_global_norm = 1e6}),
            plain);
  EXPECT_NE(after_three({.batch_size = 4, .clip_global_norm = 1e-3}), plain);
}

TYPED_TEST(TrainerOptionsOnEachBackend, TellsTheNormOfTheGradient) {
  Training<TypeParam> run({.batch_size = 4, .weight_decay = 0.01, .gradient_norm = true});
  std::vector<Floats> before;
  for (VariableId id = 0; id < run.network.variables().size(); ++id)
    before.push_back(run.variables->read(id));
  const StepResult result = run.step();
  // Without gradient_norm, the gradient doesn't include the weight decay.
  Training<TypeParam> other({.batch_size = 4, .weight_decay = 0.01});
  EXPECT_EQ(other.step().gradient_norm, std::nullopt) << "nobody asked";
  double squares = 0;
  for (VariableId id = 0; id < before.size(); ++id) {
    if (!run.network.variables()[id].trained) continue;
    const Floats gradient = other.variables->read(id, Slot::gradient);
    for (size_t i = 0; i < gradient.size(); ++i)
      squares += std::pow(static_cast<double>(gradient[i] + 0.01f * before[id][i]), 2);
  }
  ASSERT_TRUE(result.gradient_norm);
  EXPECT_NEAR(*result.gradient_norm, std::sqrt(squares), 1e-5 * std::sqrt(squares));
}

// Without momentum, the length of the first step is the learning rate times the gradient norm.
TYPED_TEST(TrainerOptionsOnEachBackend, ClipsAStepsLength) {
  const auto length_of_step = [](const TrainerOptions& options, double* norm = nullptr) {
    Training<TypeParam> run(options);
    std::vector<Floats> before;
    for (VariableId id = 0; id < run.network.variables().size(); ++id)
      before.push_back(run.variables->read(id));
    const StepResult result = run.step();
    if (norm) *norm = result.gradient_norm.value();
    double squares = 0, longest = 0;
    for (VariableId id = 0; id < before.size(); ++id) {
      if (!run.network.variables()[id].trained) continue;
      double own = 0;
      const Floats after = run.variables->read(id);
      for (size_t i = 0; i < after.size(); ++i)
        own += std::pow(static_cast<double>(after[i]) - static_cast<double>(before[id][i]), 2);
      squares += own;
      longest = std::max(longest, std::sqrt(own));
    }
    return std::pair(std::sqrt(squares) / 0.05, longest / 0.05);
  };
  double norm = 0;
  EXPECT_NEAR(length_of_step({.batch_size = 4, .clip_global_norm = 0.01}, &norm).first, 0.01, 1e-4);
  EXPECT_GT(norm, 0.1) << "before clipping";
  const auto [all, longest] = length_of_step({.batch_size = 4, .clip_gradient_norm = 0.01});
  EXPECT_NEAR(longest, 0.01, 1e-4);
  EXPECT_GT(all, 0.02) << "each by itself";
}

TYPED_TEST(TrainerOptionsOnEachBackend, TrainsOnlyWhatIsNamed) {
  Training<TypeParam> run({.batch_size = 4,
                           .momentum = 0.5,
                           .weight_decay = 0.1,
                           .variables_to_train = {"dense", "stage3/block0", "bn/gamma"}});
  for (VariableId id = 0; id < run.network.variables().size(); ++id)
    if (const VariableSpec& spec = run.network.variables()[id]; spec.trained)
      run.variables->write(id, Floats(spec.size(), 0.01f), Slot::momentum);
  std::vector<Floats> values;
  for (VariableId id = 0; id < run.network.variables().size(); ++id)
    values.push_back(run.variables->read(id));
  run.step();
  for (VariableId id = 0; id < run.network.variables().size(); ++id) {
    const VariableSpec& spec = run.network.variables()[id];
    const bool moves = !spec.trained || spec.name == "bn/gamma" ||
                       spec.name.starts_with("dense/") || spec.name.starts_with("stage3/block0/");
    EXPECT_EQ(run.variables->read(id) != values[id], moves) << spec.name;
    if (spec.trained && !moves) {
      EXPECT_EQ(run.variables->read(id, Slot::momentum), Floats(spec.size(), 0.01f)) << spec.name;
    }
  }
}

TYPED_TEST(TrainerOptionsOnEachBackend, MultipliesGradientsByName) {
  const TrainerOptions plain = {.batch_size = 4, .momentum = 0, .weight_decay = 0.1};
  TrainerOptions doubled = plain;
  doubled.gradient_multipliers = {{"dense/biases", 2}, {"conv/weights", 0}};
  Training<TypeParam> one(plain), two(doubled);
  const Floats before = one.read("dense/biases"), weights = one.read("conv/weights");
  one.step();
  two.step();
  const Floats once = one.read("dense/biases"), twice = two.read("dense/biases");
  for (size_t i = 0; i < once.size(); ++i)
    EXPECT_NEAR(twice[i] - before[i], 2 * (once[i] - before[i]), 1e-7);
  EXPECT_EQ(two.read("conv/weights"), weights) << "the multiplier includes its decay";
  EXPECT_EQ(two.read("dense/weights"), one.read("dense/weights"));
}

// d = min(0.25, (1 + t) / (10 + t)): 2/11, 3/12; 4/13 is limited to 0.25.
TYPED_TEST(TrainerOptionsOnEachBackend, KeepsAverages) {
  Training<TypeParam> run({.batch_size = 4, .average_decay = 0.25});
  Floats average = run.read("conv/weights");
  EXPECT_EQ(run.read("conv/weights", Slot::average), average) << "the initial value";
  for (const double decay : {2.0 / 11, 0.25, 0.25}) {
    run.step(run.trainer.steps_done());
    const Floats values = run.read("conv/weights");
    const Floats got = run.read("conv/weights", Slot::average);
    for (size_t i = 0; i < values.size(); ++i) {
      average[i] = static_cast<float>(decay * static_cast<double>(average[i]) +
                                      (1 - decay) * static_cast<double>(values[i]));
      ASSERT_NEAR(got[i], average[i], 1e-6);
    }
  }
  EXPECT_NE(run.read("conv/weights"), run.read("conv/weights", Slot::average));
}

// Averages that already exist, for example from a checkpoint, continue.
TEST(TrainerOptions, StartsNoAveragesAnewThatAreThere) {
  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  CpuBackend backend;
  const auto variables = backend.make_variables(network);
  initialize(*variables, 1);
  variables->start_averages();
  variables->write(0, Floats(network.variables()[0].size(), 3), Slot::average);
  const Trainer trainer(backend, network, *variables, {.average_decay = 0.9});
  EXPECT_EQ(variables->read(0, Slot::average)[0], 3);
}

// After steps 2 and 4 of 4, by (1/2)³ and 1 of the decay.
TYPED_TEST(TrainerOptionsOnEachBackend, ContinuesFromItsLookaheadAverages) {
  Training<TypeParam> plain({.batch_size = 4}),
      run({.batch_size = 4, .lookahead = LookaheadOptions{.every = 2, .decay = 0.5}});
  run.trainer.set_total_steps(4);
  const Floats initial = run.read("conv/weights");
  plain.step();
  run.step();
  EXPECT_EQ(run.read("conv/weights"), plain.read("conv/weights"));
  EXPECT_EQ(run.read("conv/weights", Slot::average), initial);
  plain.step();
  run.step();
  const Floats fast = plain.read("conv/weights"), slow = run.read("conv/weights");
  EXPECT_EQ(run.read("conv/weights", Slot::average), slow);
  for (size_t i = 0; i < fast.size(); ++i)
    ASSERT_NEAR(slow[i], initial[i] + (1 - 0.5f / 8) * (fast[i] - initial[i]), 1e-6);
  run.step();
  run.step();
  EXPECT_EQ(run.read("conv/weights"), run.read("conv/weights", Slot::average));
  EXPECT_NE(run.read("conv/weights"), slow);
}

// After half of four steps, as if a trainer of the others went on.
TYPED_TEST(TrainerOptionsOnEachBackend, FreezesVariablesAfterAShareOfTheSteps) {
  Network network({3, 6, 6});
  const ParameterOptions half = {.initializer = GlorotUniform{}, .trained_share = 0.5};
  NodeId x = network.conv2d(0, "first", {.filters = 5, .weights = half});
  x = network.activation(x, "gelu", Activation::gelu);
  x = network.conv2d(x, "second", {.filters = 6});
  network.softmax_cross_entropy(network.dense(x, "head", 4));
  TypeParam backend;
  const auto after = [&](uint64_t steps, bool selected) {
    const auto variables = backend.make_variables(network);
    initialize(*variables, 1);
    Trainer whole(backend, network, *variables, {.batch_size = 4});
    Trainer rest(backend, network, *variables,
                 {.batch_size = 4, .variables_to_train = {"second", "head"}});
    if (!selected) whole.set_total_steps(4);
    for (uint64_t step = 0; step < steps; ++step) {
      if (step == 2) variables->write(0, Floats(5 * 27, 3), Slot::gradient);
      Trainer& trainer = selected && step >= 2 ? rest : whole;
      trainer.step(random_batch(network, 4, step), constant);
    }
    if (steps > 2 && backend.name() != "reference") {
      EXPECT_EQ(variables->read(0, Slot::gradient), Floats(5 * 27, 3)) << "was computed";
    }
    return State(*variables);
  };
  for (const uint64_t steps : {2u, 4u}) EXPECT_EQ(after(steps, false), after(steps, true));
  EXPECT_EQ(after(4, false).slots[0], after(2, false).slots[0]);
}

// Otherwise these averages would not be updated, and an evaluation would use them.
TEST(TrainerOptions, DropsAveragesOfARunBeforeThatItDoesNotKeep) {
  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  CpuBackend backend;
  const auto variables = backend.make_variables(network);
  for (const bool keeps : {true, false}) {
    variables->start_averages();
    TrainerOptions options;
    if (keeps) options.average_decay = 0.9;
    Trainer(backend, network, *variables, options).set_steps_done(7);
    EXPECT_EQ(variables->has_averages(), keeps);
  }
}

// The error names the first layer with non-finite outputs. A run that catches the error can save
// the state after the previous step, including batch norm's statistics.
TYPED_TEST(TrainerOptionsOnEachBackend, ALossThatIsNoNumberChangesNothing) {
  Training<TypeParam> run({.batch_size = 4, .average_decay = 0.9});
  run.step();
  ImageBatch batch = random_batch(run.network, 4, 2);
  reinterpret_cast<float*>(batch.image_at(1))[7] = not_a_number;
  const State before(*run.variables);
  const Error error = error_of([&] { run.trainer.step(batch, constant); });
  EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
  EXPECT_THAT(error.reason(),
              testing::EndsWith("at step 2: the first layer with non-finite outputs "
                                "is input"));
  EXPECT_TRUE(State(*run.variables) == before);
  EXPECT_EQ(run.trainer.steps_done(), 1u);
  run.step();

  run.write("stage2/block0/conv2/weights", not_a_number);
  EXPECT_THAT(error_of([&] { run.step(); }).reason(), testing::EndsWith("is stage2/block0/conv2"));
  EXPECT_THROW(run.step(), NotFiniteError);
}

// They run between the checks and the update, in order. Those given replace the default.
TYPED_TEST(TrainerOptionsOnEachBackend, RunsTheUpdateOpsItIsGiven) {
  const std::string weights = "stage1/block0/conv1/weights", moving_mean = "bn/moving_mean";
  Training<TypeParam> usual({.batch_size = 4});
  usual.step();

  std::vector<std::string> calls;
  Floats weights_before_update;
  Training<TypeParam> run(
      {.batch_size = 4,
       .update_ops = {[&](Runner&, Variables& variables) {
                        calls.push_back("first");
                        weights_before_update = variables.read(id_of(usual.network, weights));
                      },
                      [&](Runner&, Variables&) { calls.push_back("second"); }}});
  const Floats initial_weights = run.read(weights), initial_mean = run.read(moving_mean);
  run.step();
  EXPECT_THAT(calls, testing::ElementsAre("first", "second"));
  EXPECT_EQ(weights_before_update, initial_weights);
  EXPECT_EQ(run.read(weights), usual.read(weights)) << "the update doesn't read the statistics";
  EXPECT_EQ(run.read(moving_mean), initial_mean);
  EXPECT_NE(usual.read(moving_mean), initial_mean);

  run.write("stage2/block0/conv2/weights", not_a_number);
  EXPECT_THROW(run.step(), NotFiniteError);
  EXPECT_EQ(calls.size(), 2u);
}

// With hidden = 0 and four equal logits, the loss is finite. The gradient at hidden is -¾ · 3e38 +
// 3 · ¼ · -3e38, which overflows in float.
TYPED_TEST(TrainerOptionsOnEachBackend, AGradientThatIsNotFiniteIsNamedAndChangesNothing) {
  Network network({1, 1, 1}, {.scale = 1, .shift = 0});
  network.softmax_cross_entropy(network.dense(network.dense(0, "hidden", 1), "logits", 4));
  ImageBatch batch;
  batch.reset({.height = 1, .width = 1, .channels = 1, .dtype = DType::float32}, 1);
  batch.set_label(0, 0);
  *reinterpret_cast<float*>(batch.image_at(0)) = 1;
  TypeParam backend;
  const auto variables = backend.make_variables(network);
  variables->write(id_of(network, "logits/weights"), Floats{3e38f, -3e38f, -3e38f, -3e38f});

  const State before(*variables);
  for (const TrainerOptions& options :
       {TrainerOptions{.batch_size = 1, .weight_decay = 0, .check_numerics = true},
        TrainerOptions{.batch_size = 1, .weight_decay = 0, .clip_gradient_norm = 1},
        TrainerOptions{.batch_size = 1, .weight_decay = 0, .clip_global_norm = 1}}) {
    Trainer trainer(backend, network, *variables, options);
    EXPECT_THAT(error_of([&] { trainer.step(batch, constant); }).reason(),
                testing::StartsWith("the gradient of hidden/weights is not finite at step 1"));
    EXPECT_THROW(trainer.step(batch, constant), NotFiniteError);
    EXPECT_TRUE(State(*variables) == before);
    EXPECT_EQ(trainer.steps_done(), 0u);
  }
  // Without checks, the next loss reveals it.
  Trainer trainer(backend, network, *variables, {.batch_size = 1, .weight_decay = 0});
  trainer.step(batch, constant);
  EXPECT_THROW(trainer.step(batch, constant), NotFiniteError);
}

TEST(TrainerOptions, RefuseWhatMakesNoSense) {
  const auto reason = [](const TrainerOptions& options) {
    const Error error = error_of([&] { const Training<CpuBackend> training(options); });
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.reason();
  };
  EXPECT_THAT(reason({.variables_to_train = {"dense", "conv9"}}), testing::HasSubstr("conv9"));
  EXPECT_THAT(reason({.variables_to_train = {"stage"}}), testing::HasSubstr("stage"))
      << "no part of a name";
  EXPECT_THAT(reason({.variables_to_train = {"bn/moving_mean"}}),
              testing::HasSubstr("moving_mean"));
  EXPECT_THAT(reason({.variables_to_train = {""}}), testing::HasSubstr("named"));
  EXPECT_THAT(reason({.gradient_multipliers = {{"conv/biases", 1}}}),
              testing::HasSubstr("conv/biases"));
  EXPECT_THAT(reason({.gradient_multipliers = {{"bn/moving_mean", 1}}}),
              testing::HasSubstr("bn/moving_mean"));
  EXPECT_THAT(reason({.gradient_multipliers = {{"bn/gamma", std::nan("")}}}),
              testing::HasSubstr("bn/gamma"));
  for (const double limit : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(reason({.clip_gradient_norm = limit}), testing::HasSubstr("clipping")) << limit;
    EXPECT_THAT(reason({.clip_global_norm = limit}), testing::HasSubstr("clipping")) << limit;
  }
  for (const double number : {-0.1, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(reason({.momentum = number}), testing::HasSubstr("momentum")) << number;
    EXPECT_THAT(reason({.weight_decay = number}), testing::HasSubstr("weight decay")) << number;
  }
  for (const double decay : {-0.1, 1.0, std::nan("")})
    EXPECT_THAT(reason({.average_decay = decay}), testing::HasSubstr("averages")) << decay;
  EXPECT_THAT(reason({.average_decay = 0.5, .lookahead = LookaheadOptions{}}),
              testing::HasSubstr("lookahead"));
  EXPECT_THAT(reason({.lookahead = LookaheadOptions{.every = 0}}), testing::HasSubstr("lookahead"));
}

}  // namespace
}  // namespace recordpipe
