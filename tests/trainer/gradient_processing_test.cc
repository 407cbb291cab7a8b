// Compares multiplying, clipping and averaging in each backend with values computed by hand.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/test_networks.h"
#include "tests/trainer/tested_backends.h"

namespace recordpipe {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();
using Floats = std::vector<float>;

// Returns a network with the variables a/weights [2][2], a/biases [2], b/weights [1][2], b/biases
// [1].
Network two_layers() {
  Network network({2, 1, 1});
  const NodeId a = network.dense(0, "a", 2);
  network.softmax_cross_entropy(network.dense(a, "b", 1));
  return network;
}

template <class Backend>
class GradientsOfEachBackend : public testing::Test {
 protected:
  GradientsOfEachBackend() : variables(backend.make_variables(network)) {}

  void SetUp() override {
    set({3, 0, 0, 4}, {0, 0}, {6, 8}, {0});  // norms: 5, 0, 10, 0
    for (VariableId id = 0; id < 4; ++id)
      variables->write(id, Floats(network.variables()[id].size(), 2));
  }
  void set(const Floats& a_weights, const Floats& a_biases, const Floats& b_weights,
           const Floats& b_biases) {
    VariableId id = 0;
    for (const Floats& values : {a_weights, a_biases, b_weights, b_biases})
      variables->write(id++, values, Slot::gradient);
  }
  void expect(VariableId id, const Floats& expected) {
    const Floats got = variables->read(id, Slot::gradient);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_FLOAT_EQ(got[i], expected[i]) << network.variables()[id].name << "[" << i << "]";
  }
  void expect_norms(const std::vector<double>& expected) {
    const auto norms = variables->gradient_norms();
    ASSERT_EQ(norms.size(), expected.size());
    for (VariableId id = 0; id < norms.size(); ++id)
      EXPECT_DOUBLE_EQ(norms[id], expected[id]) << network.variables()[id].name;
  }

  Backend backend;
  const Network network = two_layers();
  const std::unique_ptr<Variables> variables;
};
TYPED_TEST_SUITE(GradientsOfEachBackend, TestedBackends);

TYPED_TEST(GradientsOfEachBackend, StayAsTheyAreWhereNothingIsAskedFor) {
  this->expect_norms({0, 0, 0, 0});
  this->variables->process_gradients({});
  this->expect_norms({5, 0, 10, 0});
  this->expect(0, {3, 0, 0, 4});
  this->expect(2, {6, 8});
}

TYPED_TEST(GradientsOfEachBackend, AreClippedEachByItself) {
  this->variables->process_gradients({.clip_norm = 5});
  this->expect_norms({5, 0, 10, 0});
  this->expect(0, {3, 0, 0, 4});
  this->expect(1, {0, 0});
  this->expect(2, {3, 4});
}

// The global norm is √(5² + 10²) = √125.
TYPED_TEST(GradientsOfEachBackend, AreClippedAllTogether) {
  this->variables->process_gradients({.clip_global_norm = std::sqrt(5.0)});
  this->expect_norms({5, 0, 10, 0});
  this->expect(0, {0.6f, 0, 0, 0.8f});
  this->expect(2, {1.2f, 1.6f});

  this->SetUp();
  this->variables->process_gradients({.clip_global_norm = 12});
  this->expect(0, {3, 0, 0, 4});
  this->expect(2, {6, 8});
}

// The first is doubled (10), the third multiplied by -1/4 (2.5); each is clipped to 5; the global
// norm √(5² + 2.5²) = 5.590... is twice the limit.
TYPED_TEST(GradientsOfEachBackend, AreMultipliedThenClippedThenClippedTogether) {
  const std::vector<double> multipliers = {2, 1, -0.25, 1};
  this->variables->process_gradients(
      {.multipliers = multipliers, .clip_norm = 5, .clip_global_norm = std::sqrt(25 + 6.25) / 2});
  this->expect_norms({10, 0, 2.5, 0});
  this->expect(0, {1.5f, 0, 0, 2});
  this->expect(2, {-0.75f, -1});
}

// The decay adds 0.5 · 2 = 1 to the gradient of each weight.
TYPED_TEST(GradientsOfEachBackend, HaveTheDecayInTheirNorm) {
  this->set({2, -1, -1, 3}, {-1, -1}, {5, 7}, {-1});
  this->variables->process_gradients({.weight_decay = 0.5, .clip_norm = 5});
  this->expect_norms({5, 0, 10, 0});
  this->expect(0, {3, 0, 0, 4});
  this->expect(2, {3, 4});
}

TYPED_TEST(GradientsOfEachBackend, DoNotCountWhereTheyAreFrozen) {
  const std::vector<VariableId> frozen = {2, 3};
  const std::vector<double> multipliers = {1, 1, 7, 7};
  this->set({3, 0, 0, 4}, {0, 0}, {6, nan}, {0});
  this->variables->process_gradients({.weight_decay = 0,
                                      .multipliers = multipliers,
                                      .clip_norm = 4,
                                      .clip_global_norm = 2.5,
                                      .frozen = frozen});
  this->expect_norms({5, 0, 0, 0});
  this->expect(0, {1.5f, 0, 0, 2});
  EXPECT_EQ(this->variables->read(2, Slot::gradient)[0], 6);
}

// Dividing by an infinite norm would turn the other values into zeros.
TYPED_TEST(GradientsOfEachBackend, StayNoNumbersInClipping) {
  const auto all_nan = [&](VariableId id) {
    return std::ranges::all_of(this->variables->read(id, Slot::gradient),
                               [](float g) { return std::isnan(g); });
  };
  for (const float lost : {nan, infinity, -infinity}) {
    this->set({3, 0, 0, 4}, {0, 0}, {6, lost}, {0});
    this->variables->process_gradients({.clip_norm = 1});
    EXPECT_TRUE(all_nan(2)) << lost;
    this->expect(0, {0.6f, 0, 0, 0.8f});
    EXPECT_TRUE(std::isfinite(this->variables->gradient_norms()[0]));
    EXPECT_FALSE(std::isfinite(this->variables->gradient_norms()[2])) << lost;

    this->set({3, 0, 0, 4}, {0, 0}, {6, lost}, {0});
    this->variables->process_gradients({.clip_global_norm = 1});
    for (VariableId id = 0; id < 4; ++id) EXPECT_TRUE(all_nan(id)) << lost;
  }
  // Zero times infinity is NaN.
  this->set({3, 0, 0, 4}, {0, 0}, {6, infinity}, {0});
  const std::vector<double> multipliers = {1, 1, 0, 1};
  this->variables->process_gradients({.multipliers = multipliers});
  EXPECT_TRUE(std::isnan(this->variables->gradient_norms()[2]));
}

// Squares of large values would overflow in float.
TYPED_TEST(GradientsOfEachBackend, MayBeLarge) {
  this->set({3e30f, 0, 0, 4e30f}, {0, 0}, {0, 0}, {0});
  this->variables->process_gradients({.clip_global_norm = 5});
  EXPECT_NEAR(this->variables->gradient_norms()[0] / 5e30, 1, 1e-6);
  this->expect(0, {3, 0, 0, 4});
}

TYPED_TEST(GradientsOfEachBackend, MoveOnlyWhatIsNotFrozen) {
  for (VariableId id = 0; id < 4; ++id)
    this->variables->write(id, Floats(this->network.variables()[id].size(), 1), Slot::momentum);
  const std::vector<VariableId> frozen = {0, 3};
  this->variables->apply_momentum(
      {.learning_rate = 0.5, .momentum = 1, .weight_decay = 0, .frozen = frozen});
  EXPECT_EQ(this->variables->read(0), Floats(4, 2));
  EXPECT_EQ(this->variables->read(0, Slot::momentum), Floats(4, 1));
  EXPECT_EQ(this->variables->read(1), Floats(2, 1.5f));
  EXPECT_EQ(this->variables->read(2), (Floats{2 - 3.5f, 2 - 4.5f}));
  EXPECT_EQ(this->variables->read(2, Slot::momentum), (Floats{7, 9}));
  EXPECT_EQ(this->variables->read(3), Floats(1, 2));
}

// The first average moves from 2 a quarter of the way to 6: to 3; then a quarter of the way to 1:
// to 2.5.
TYPED_TEST(GradientsOfEachBackend, AveragesFollowTheValues) {
  EXPECT_FALSE(this->variables->has_averages());
  EXPECT_THROW(this->variables->read(0, Slot::average), Error);
  EXPECT_THROW(this->variables->update_averages(0.5), Error);
  this->variables->start_averages();
  EXPECT_TRUE(this->variables->has_averages());
  EXPECT_EQ(this->variables->read(0, Slot::average), Floats(4, 2)) << "the value";
  this->variables->write(0, Floats{6, 2, 10, -2});
  EXPECT_EQ(this->variables->read(0, Slot::average), Floats(4, 2));
  this->variables->update_averages(0.75);
  EXPECT_EQ(this->variables->read(0, Slot::average), (Floats{3, 2, 4, 1}));
  EXPECT_EQ(this->variables->read(0), (Floats{6, 2, 10, -2}));
  this->variables->write(0, Floats(4, 1));
  this->variables->update_averages(0.75);
  EXPECT_EQ(this->variables->read(0, Slot::average), (Floats{2.5f, 1.75f, 3.25f, 1}));
  this->variables->write(1, Floats{7, 8}, Slot::average);
  EXPECT_EQ(this->variables->read(1, Slot::average), (Floats{7, 8}));
  EXPECT_EQ(this->variables->read(1), Floats(2, 2));

  initialize(*this->variables, 3);
  for (VariableId id = 0; id < 4; ++id)
    EXPECT_EQ(this->variables->read(id, Slot::average), this->variables->read(id));

  this->variables->stop_averages();
  EXPECT_FALSE(this->variables->has_averages());
  EXPECT_THROW(this->variables->read(0, Slot::average), Error);
  this->variables->write(0, Floats(4, 5));
  this->variables->start_averages();
  EXPECT_EQ(this->variables->read(0, Slot::average), Floats(4, 5));
}

TYPED_TEST(GradientsOfEachBackend, AveragesAreCopiedForAnEvaluation) {
  const Network normalised = resnet({.layers = 8, .input = {3, 8, 8}});
  const auto trained = this->backend.make_variables(normalised);
  const auto averaged = this->backend.make_variables(normalised);
  EXPECT_THROW(copy_averages(*trained, *averaged), Error) << "there are none";
  randomize(*trained, 1);
  trained->start_averages();
  std::vector<Floats> expected;
  for (VariableId id = 0; id < normalised.variables().size(); ++id) {
    expected.push_back(trained->read(id));
    if (normalised.variables()[id].trained)
      trained->write(id, Floats(normalised.variables()[id].size(), 9));
  }
  copy_averages(*trained, *averaged);
  for (VariableId id = 0; id < normalised.variables().size(); ++id) {
    EXPECT_EQ(averaged->read(id), expected[id]) << normalised.variables()[id].name;
    if (normalised.variables()[id].trained) {
      EXPECT_EQ(trained->read(id)[0], 9) << "the trained values stay";
    }
  }
  EXPECT_THROW(trained->read(id_of(normalised, "bn/moving_mean"), Slot::average), Error);
  EXPECT_THROW(copy_averages(*trained, *this->variables), Error) << "another network";
}

TEST(ClipFactor, IsWhatTheNormExceedsTheLimitBy) {
  EXPECT_EQ(clip_factor(10, 2.5), 0.25);
  EXPECT_EQ(clip_factor(2.5, 2.5), 1);
  EXPECT_EQ(clip_factor(0, 2.5), 1);
  EXPECT_EQ(clip_factor(10, std::nullopt), 1);
  EXPECT_TRUE(std::isnan(clip_factor(static_cast<double>(infinity), 2.5)));
  EXPECT_TRUE(std::isnan(clip_factor(static_cast<double>(nan), 2.5)));
}

}  // namespace
}  // namespace recordpipe
