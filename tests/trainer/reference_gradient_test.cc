// Compares the reference's gradients, in double precision, with finite differences of its loss.
#include <cmath>

#include <gtest/gtest.h>

#include "recordpipe/base/philox.h"
#include "recordpipe/trainer/backend/reference/reference_backend.h"
#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"
#include "tests/trainer/test_networks.h"

namespace recordpipe {
namespace {

// Compares up to `samples` values of each variable's gradient with (loss(w + h) - loss(w - h)) /
// 2h, whose error is about h² from curvature and 1e-16 / h from rounding. A ReLU that switches
// within h would fail the test; with these seeds none does.
void check_gradients(const Network& network, size_t images, size_t samples) {
  ReferenceVariables<double> variables(network.variables());
  randomize(variables, 3);
  const auto runner =
      ReferenceBackend<double>().make_runner(network, variables, {.batch_size = images});
  runner->load(random_batch(network, images, 5));
  runner->forward();
  runner->backward();

  const double h = 1e-6;
  for (VariableId id = 0; id < network.variables().size(); ++id) {
    const VariableSpec& spec = network.variables()[id];
    if (!spec.trained || spec.rate_factor == 0) continue;
    const std::span<const double> gradient = variables.at(id, Slot::gradient);
    const std::vector<double> expected(gradient.begin(), gradient.end());
    Random random(derive_key(7, id), 0, 0);
    for (size_t sample = 0; sample < std::min(samples, spec.size()); ++sample) {
      const size_t i =
          samples >= spec.size() ? sample : random.below(static_cast<uint32_t>(spec.size()));
      double& value = variables.at(id)[i];
      const double before = value;
      value = before + h;
      const double above = runner->forward().loss;
      value = before - h;
      const double below = runner->forward().loss;
      value = before;
      const double difference = (above - below) / (2 * h);
      EXPECT_NEAR(difference, expected[i], 1e-8 + 1e-6 * std::abs(expected[i]))
          << spec.name << "[" << i << "]";
    }
  }
}

class ReferenceGradient : public testing::TestWithParam<NamedNetwork> {};

TEST_P(ReferenceGradient, IsThatOfFiniteDifferences) { check_gradients(GetParam().network, 3, 12); }

TEST_P(ReferenceGradient, IsThatOfFiniteDifferencesForOneImage) {
  // With one image, batch norm normalises over the image's pixels. There must be more than one.
  check_gradients(GetParam().network, 1, 12);
}

// The reference sums in one loop, however many rows there are.
INSTANTIATE_TEST_SUITE_P(Layers, ReferenceGradient,
                         testing::ValuesIn(layer_networks(/*many_rows=*/8)),
                         [](const auto& param_info) { return param_info.param.name; });

TEST(ReferenceGradientOfBranches, IsThatOfFiniteDifferences) {
  check_gradients(branching_network(), 3, 12);
}

TEST(ReferenceGradientOfTutorialCnn, IsThatOfFiniteDifferences) {
  check_gradients(tutorial_cnn({.input = {3, 8, 8}}), 2, 2);
}

TEST(ReferenceGradientOfAirbench, IsThatOfFiniteDifferences) {
  check_gradients(small_airbench(), 3, 4);
}

TEST(ReferenceGradientOfResNet, IsThatOfFiniteDifferences) {
  check_gradients(resnet({.layers = 8, .input = {3, 8, 8}}), 3, 3);
}

TEST(ReferenceGradientOfResNet, IsThatOfFiniteDifferencesWithTwoBlocksAStage) {
  check_gradients(resnet({.layers = 14, .input = {3, 8, 8}, .label_smoothing = 0.1}), 2, 2);
}

}  // namespace
}  // namespace recordpipe
