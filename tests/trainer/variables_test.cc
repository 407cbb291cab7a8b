// Tests the variables of a network in each backend: initial values, and updates against values
// computed by hand.
#include "recordpipe/trainer/backend/variables.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"
#include "tests/trainer/test_networks.h"
#include "tests/trainer/tested_backends.h"

namespace recordpipe {
namespace {

template <class Backend>
class VariablesOfEachBackend : public testing::Test {
 protected:
  Backend backend;
};
TYPED_TEST_SUITE(VariablesOfEachBackend, TestedBackends);

// v = 0.9 v + g + 0.5 w, w = w - 0.25 v: for weights, gamma, beta and biases alike.
TYPED_TEST(VariablesOfEachBackend, DescendsWithMomentumAndDecaysAllTrainedVariables) {
  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  const auto variables = this->backend.make_variables(network);
  const auto fill = [&](VariableId id, Slot slot, float value) {
    variables->write(id, std::vector<float>(network.variables()[id].size(), value), slot);
  };
  size_t trained = 0;
  for (VariableId id = 0; id < network.variables().size(); ++id) {
    fill(id, Slot::value, 2);
    if (!network.variables()[id].trained) continue;
    trained += network.variables()[id].size();
    fill(id, Slot::gradient, 3);
    fill(id, Slot::momentum, -10);
  }
  EXPECT_DOUBLE_EQ(variables->half_squared_norm(), 2.0 * static_cast<double>(trained));

  variables->apply_momentum({.learning_rate = 0.25, .momentum = 0.9, .weight_decay = 0.5});
  for (VariableId id = 0; id < network.variables().size(); ++id) {
    const VariableSpec& spec = network.variables()[id];
    for (const float value : variables->read(id))
      ASSERT_FLOAT_EQ(value, spec.trained ? 2 - 0.25f * -5 : 2) << spec.name;
    if (!spec.trained) continue;
    for (const float value : variables->read(id, Slot::momentum))
      ASSERT_FLOAT_EQ(value, -5) << spec.name;
  }
}

// Each variable's decay_factor multiplies the weight decay. In the tutorial's network only the
// weights of local3 and local4 have a factor other than 0.
TYPED_TEST(VariablesOfEachBackend, DecaysEachVariableByItsFactor) {
  Network network({1, 2, 2});
  const NodeId hidden =
      network.dense(0, "hidden", 3,
                    {.weights = {.initializer = GlorotUniform{}, .decay_factor = 1},
                     .biases = {.decay_factor = 0}});
  const NodeId twice =
      network.dense(hidden, "twice", 5,
                    {.weights = {.initializer = GlorotUniform{}, .decay_factor = 2},
                     .biases = {.decay_factor = 2}});
  network.softmax_cross_entropy(twice);
  const auto variables = this->backend.make_variables(network);
  double penalty = 0;
  for (VariableId id = 0; id < network.variables().size(); ++id) {
    const VariableSpec& spec = network.variables()[id];
    const std::vector<float> twos(spec.size(), 2), zeros(spec.size(), 0);
    variables->write(id, twos);
    variables->write(id, zeros, Slot::gradient);
    variables->write(id, zeros, Slot::momentum);
    penalty += spec.decay_factor * 0.5 * 4 * static_cast<double>(spec.size());
  }
  EXPECT_DOUBLE_EQ(variables->half_squared_norm(), penalty);

  variables->apply_momentum({.learning_rate = 0.5, .momentum = 0.9, .weight_decay = 0.25});
  for (VariableId id = 0; id < network.variables().size(); ++id) {
    const VariableSpec& spec = network.variables()[id];
    for (const float value : variables->read(id))
      ASSERT_FLOAT_EQ(value, 2 - 0.5f * 0.25f * static_cast<float>(spec.decay_factor) * 2)
          << spec.name;
  }
}

// v = 0.9 v + g + 0.5 w, w = w - 0.25 (g + 0.5 w + 0.9 v), for one variable at 8 times this rate,
// for another one never.
TYPED_TEST(VariablesOfEachBackend, DescendsWithNesterovsMomentumAtEachVariablesRate) {
  Network network({1, 2, 2});
  const NodeId hidden =
      network.dense(0, "hidden", 3, {.weights = {.rate_factor = 8}, .biases = {.rate_factor = 0}});
  network.softmax_cross_entropy(network.dense(hidden, "dense", 5));
  const auto variables = this->backend.make_variables(network);
  for (VariableId id = 0; id < network.variables().size(); ++id) {
    const auto values = [&](float value) {
      return std::vector<float>(network.variables()[id].size(), value);
    };
    variables->write(id, values(2));
    variables->write(id, values(3), Slot::gradient);
    variables->write(id, values(-10), Slot::momentum);
  }
  variables->apply_momentum(
      {.learning_rate = 0.25, .momentum = 0.9, .nesterov = true, .weight_decay = 0.5});
  for (VariableId id = 0; id < network.variables().size(); ++id) {
    const VariableSpec& spec = network.variables()[id];
    const float update = 0.25f * (4 + 0.9f * -5) * static_cast<float>(spec.rate_factor);
    for (const float value : variables->read(id)) ASSERT_FLOAT_EQ(value, 2 - update) << spec.name;
    for (const float value : variables->read(id, Slot::momentum))
      ASSERT_FLOAT_EQ(value, -5) << spec.name;
  }
}

// Of a diagonal matrix, each singular value is mapped by itself.
TYPED_TEST(VariablesOfEachBackend, UpdatesMatricesByMuon) {
  Network network({1, 1, 3});
  network.softmax_cross_entropy(network.dense(
      0, "dense", 2,
      {.weights = {.initializer = GlorotUniform{}, .rate_factor = 2, .orthogonal = true}}));
  const auto variables = this->backend.make_variables(network);
  variables->write(0, std::vector<float>{0, 3, 0, 0, 0, 4});
  variables->write(0, std::vector<float>{2, 0, 0, 0, 1, 0}, Slot::gradient);
  variables->write(0, std::vector<float>{4, 0, 0, 0, 2, 0}, Slot::momentum);
  variables->apply_momentum({.learning_rate = 0.25, .muon_momentum = 0.5, .weight_decay = 9});
  const auto orthogonalized = [](double s) {
    for (int step = 0; step < 3; ++step)
      s = 3.4445 * s - 4.775 * std::pow(s, 3) + 2.0315 * std::pow(s, 5);
    return s;
  };
  // v = 0.5 v + g = (4, 2), g + 0.5 v = (4, 2), whose norm is √20; ‖w‖ is 5.
  const double w = std::sqrt(2.0) / 5, a = orthogonalized(4 / std::sqrt(20.0)),
               b = orthogonalized(2 / std::sqrt(20.0));
  const std::vector<double> expected = {-0.5 * a, 3 * w, 0, 0, -0.5 * b, 4 * w};
  const std::vector<float> got = variables->read(0);
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << i;
  EXPECT_EQ(variables->read(0, Slot::momentum), (std::vector<float>{4, 0, 0, 0, 2, 0}));
  EXPECT_GT(a, 0.6);
  EXPECT_LT(b, 1.3);

  const VariableId frozen[] = {0};
  variables->apply_momentum({.frozen = frozen});
  EXPECT_EQ(variables->read(0), got);
}

// The filters that pass a channel on, the uniform ones, and given values.
TYPED_TEST(VariablesOfEachBackend, StartsFromIdentitiesAndGivenValues) {
  Network network({2, 3, 3});
  const std::vector<float> given = {1, -2, 3, 0.5f, 5};
  NodeId x = network.conv2d(0, "dirac",
                            {.filters = 5,
                             .weights = {.initializer = Dirac{}},
                             .biases = ParameterOptions{.initializer = GivenValues{given}}});
  network.softmax_cross_entropy(
      network.dense(x, "dense", 50, {.weights = {.initializer = FanInUniform{.scale = 3}}}));
  const auto variables = this->backend.make_variables(network);
  initialize(*variables, 1);
  const std::vector<float> dirac = variables->read(0);
  for (size_t i = 0; i < 2 * 18; ++i) ASSERT_EQ(dirac[i], i == 4 || i == 18 + 9 + 4 ? 1 : 0) << i;
  const auto within = [](std::span<const float> values, double limit) {
    double greatest = 0;
    for (const float value : values) greatest = std::max(greatest, std::abs(double{value}));
    EXPECT_LE(greatest, limit * (1 + 1e-6));
    EXPECT_GT(greatest, 0.9 * limit);
  };
  within(std::span(dirac).subspan(36), 1 / std::sqrt(18.0));
  within(variables->read(id_of(network, "dense/weights")), 3 / std::sqrt(45.0));
  EXPECT_EQ(variables->read(1), given);
}

TYPED_TEST(VariablesOfEachBackend, GoesBackToItsAverages) {
  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  const auto variables = this->backend.make_variables(network);
  EXPECT_THROW(variables->reset_to_averages(), Error);
  randomize(*variables, 1);
  const std::vector<float> first = variables->read(0);
  variables->start_averages();
  randomize(*variables, 2);
  variables->write(0, first, Slot::average);
  variables->reset_to_averages();
  for (VariableId id = 0; id < network.variables().size(); ++id)
    if (network.variables()[id].trained) {
      ASSERT_EQ(variables->read(id), variables->read(id, Slot::average));
    }
  EXPECT_EQ(variables->read(0), first);
}

// N(0, σ²) truncated at 2σ: the variance is 0.774 σ², and 71.5% of the values are within σ.
TYPED_TEST(VariablesOfEachBackend, StartsFromTheTutorialsTruncatedNormal) {
  const Network network = tutorial_cnn();
  const auto variables = this->backend.make_variables(network);
  initialize(*variables, 1);
  const auto check = [&](const char* name, double deviation) {
    const std::vector<float> values = variables->read(id_of(network, name));
    const auto n = static_cast<double>(values.size());
    double sum = 0, squares = 0, greatest = 0, within = 0;
    for (const float value : values) {
      const double x = static_cast<double>(value) / deviation;
      sum += x;
      squares += x * x;
      greatest = std::max(greatest, std::abs(x));
      within += std::abs(x) < 1 ? 1 : 0;
    }
    EXPECT_LE(greatest, 2 * (1 + 1e-6)) << name;
    EXPECT_GT(greatest, 1.95) << name;
    EXPECT_NEAR(sum / n, 0, 4 / std::sqrt(n)) << name;
    EXPECT_NEAR(squares / n, 0.774, 4 / std::sqrt(n)) << name;
    EXPECT_NEAR(within / n, 0.715, 4 / std::sqrt(n)) << name;
  };
  check("conv1/weights", 0.05);
  check("conv2/weights", 0.05);
  check("local3/weights", 0.04);
  check("local4/weights", 0.04);
  check("softmax_linear/weights", 1.0 / 192);
  const auto all_are = [&](const char* name, float expected) {
    for (const float value : variables->read(id_of(network, name))) ASSERT_EQ(value, expected);
  };
  all_are("conv1/biases", 0);
  all_are("conv2/biases", 0.1f);
  all_are("local3/biases", 0.1f);
  all_are("local4/biases", 0.1f);
  all_are("softmax_linear/biases", 0);
}

// U(-a, a) with a = sqrt(6 / (fan in + fan out)), different for each variable; batch norm is
// neutral.
TYPED_TEST(VariablesOfEachBackend, StartsFromGlorotsUniformDistribution) {
  const Network network = resnet({.layers = 8});
  const auto variables = this->backend.make_variables(network);
  initialize(*variables, 1);
  const auto check = [&](const char* name, double fan_in, double fan_out) {
    const std::vector<float> values = variables->read(id_of(network, name));
    const double limit = std::sqrt(6 / (fan_in + fan_out));
    double sum = 0, squares = 0, greatest = 0;
    for (const auto value : values) {
      sum += value;
      squares += static_cast<double>(value) * value;
      greatest = std::max(greatest, std::abs(static_cast<double>(value)));
    }
    const auto n = static_cast<double>(values.size());
    EXPECT_LE(greatest, limit * (1 + 1e-6)) << name;
    EXPECT_GT(greatest, 0.95 * limit) << name;
    EXPECT_NEAR(sum / n, 0, 4 * limit / std::sqrt(3 * n)) << name;
    EXPECT_NEAR(squares / n, limit * limit / 3, 0.15 * limit * limit / 3) << name;
  };
  check("conv/weights", 9 * 3, 9 * 16);
  check("stage2/block0/conv1/weights", 9 * 16, 9 * 32);
  check("dense/weights", 64, 11);
  const auto all_are = [&](const char* name, float expected) {
    for (const float value : variables->read(id_of(network, name))) ASSERT_EQ(value, expected);
  };
  all_are("bn/gamma", 1);
  all_are("bn/beta", 0);
  all_are("bn/moving_mean", 0);
  all_are("bn/moving_variance", 1);
  all_are("dense/biases", 0);
  // No two variables draw the same values.
  std::set<float> draws;
  size_t random = 0;
  for (VariableId id = 0; id < network.variables().size(); ++id) {
    const VariableSpec& spec = network.variables()[id];
    if (!std::holds_alternative<GlorotUniform>(spec.initializer)) continue;
    ++random;
    const std::vector<float> values = variables->read(id);
    draws.insert(values[0] / *std::ranges::max_element(values));
  }
  EXPECT_EQ(draws.size(), random);

  const std::vector<float> first = variables->read(0);
  variables->write(0, first, Slot::momentum);
  initialize(*variables, 2);
  EXPECT_EQ(variables->read(0, Slot::momentum), std::vector<float>(first.size(), 0));
  EXPECT_NE(variables->read(0), first);
  initialize(*variables, 1);
  EXPECT_EQ(variables->read(0), first);
}

}  // namespace
}  // namespace recordpipe
