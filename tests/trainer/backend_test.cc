// What every backend promises, asked of each: the numbers of an update by hand, and what is
// refused.
#include "trainer/backend/backend.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/trainer/test_networks.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/reference/reference_backend.h"
#include "trainer/model/resnet.h"

namespace recordpipe {
namespace {

Network small_resnet() { return resnet({.layers = 8, .input = {3, 8, 8}}); }

VariableId id_of(const Network& network, std::string_view name) {
  for (VariableId id = 0; id < network.variables().size(); ++id)
    if (network.variables()[id].name == name) return id;
  throw std::out_of_range(std::string(name));
}

template <class Backend>
class EachBackend : public testing::Test {
 protected:
  Backend backend;
};
using Backends = testing::Types<CpuBackend, ReferenceBackend<float>, ReferenceBackend<double>>;
TYPED_TEST_SUITE(EachBackend, Backends);

// v = 0.9 v + g + 0.5 w, w = w - 0.25 v: for weights, gamma, beta and biases alike.
TYPED_TEST(EachBackend, DescendsWithMomentumAndDecaysAllTrainedVariables) {
  const Network network = small_resnet();
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

// A 1x1 convolution with weight 1: batch norm sees 0, 0, -1 and 0, whose mean is -1/4, whose biased
// variance is 3/16 and whose unbiased one is 1/4.
TYPED_TEST(EachBackend, MovesItsStatisticsTowardsTheBatchs) {
  Network network({1, 1, 2});
  const NodeId x = network.conv2d(0, "conv", {.filters = 1, .kernel = 1, .padding = 0});
  const NodeId normal = network.batch_norm(x, "bn", {.relu = false, .decay = 0.75});
  network.softmax_cross_entropy(network.dense(normal, "dense", 2));
  const auto variables = this->backend.make_variables(network);
  initialize(*variables, 1);
  variables->write(id_of(network, "conv/weights"), std::vector<float>{1});
  const auto runner = this->backend.make_runner(network, *variables, {.batch_size = 2});
  ImageBatch batch;
  batch.reset({.height = 1, .width = 2, .channels = 1, .dtype = DType::uint8}, 2);
  for (const size_t image : {0u, 1u}) {
    batch.set_label(image, 0);
    for (const size_t pixel : {0u, 1u}) batch.image_at(image)[pixel] = std::byte{128};  // 0
  }
  batch.image_at(1)[0] = std::byte{0};  // -1
  runner->load(batch);
  runner->forward();

  EXPECT_FLOAT_EQ(variables->read(id_of(network, "bn/moving_mean"))[0], 0.25f * -0.25f);
  EXPECT_FLOAT_EQ(variables->read(id_of(network, "bn/moving_variance"))[0],
                  0.75f * 1 + 0.25f * 0.25f);
  const double deviation = std::sqrt(3.0 / 16 + 1e-5);
  EXPECT_NEAR(runner->output(normal)[2], -0.75 / deviation, 1e-5);
  EXPECT_NEAR(runner->output(normal)[3], 0.25 / deviation, 1e-5);
}

// Values that lie close together but far from zero, where sums of squares lose their digits.
TYPED_TEST(EachBackend, NormalisesWhatVariesLittle) {
  Network network({1, 8, 8});
  const NodeId x = network.conv2d(0, "conv", {.filters = 1, .kernel = 1, .padding = 0});
  const NodeId normal = network.batch_norm(x, "bn", {.relu = false});
  network.softmax_cross_entropy(network.dense(normal, "dense", 2));
  const auto variables = this->backend.make_variables(network);
  initialize(*variables, 1);
  variables->write(id_of(network, "conv/weights"), std::vector<float>{100});
  const auto runner = this->backend.make_runner(network, *variables, {.batch_size = 3});
  ImageBatch batch = random_batch(network, 3, 1);
  const std::span<float> pixels(reinterpret_cast<float*>(batch.image_at(0)), 3 * 64);
  for (float& pixel : pixels) pixel = 200 + 0.3f * (pixel / 256);
  runner->load(batch);
  runner->forward();

  const std::vector<float> inputs = runner->output(x), outputs = runner->output(normal);
  double mean = 0, variance = 0;
  for (const float value : inputs) mean += static_cast<double>(value) / 192;
  for (const float value : inputs)
    variance += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean) / 192;
  ASSERT_GT(mean, 500 * std::sqrt(variance));
  for (size_t i = 0; i < outputs.size(); ++i)
    ASSERT_NEAR(outputs[i], (static_cast<double>(inputs[i]) - mean) / std::sqrt(variance + 1e-5),
                2e-3);
}

// A runner may keep copies of variables, but not past a write.
TYPED_TEST(EachBackend, SeesWhatIsWrittenBetweenTwoBatches) {
  const Network network = small_resnet();
  const auto variables = this->backend.make_variables(network);
  initialize(*variables, 1);
  const RunnerOptions options = {.batch_size = 2, .mode = Mode::inference};
  const auto runner = this->backend.make_runner(network, *variables, options);
  const ImageBatch batch = random_batch(network, 2, 1);
  runner->load(batch);
  const double before = runner->forward().loss;
  initialize(*variables, 2);
  const double after = runner->forward().loss;
  EXPECT_NE(after, before);
  const auto anew = this->backend.make_runner(network, *variables, options);
  anew->load(batch);
  EXPECT_EQ(anew->forward().loss, after);
}

// A ReLU that made zeros of them would hide that a network has lost its numbers.
TYPED_TEST(EachBackend, LetsWhatIsNoNumberThroughToTheLoss) {
  const Network network = small_resnet();
  for (const char* name : {"conv/weights", "bn/gamma", "bn/beta", "stage1/block0/conv2/weights",
                           "stage2/block0/bn2/beta", "stage3/block0/conv1/weights"})
    for (const Mode mode : {Mode::training, Mode::inference}) {
      const auto variables = this->backend.make_variables(network);
      initialize(*variables, 1);
      const VariableId id = id_of(network, name);
      std::vector<float> values = variables->read(id);
      values[0] = std::numeric_limits<float>::quiet_NaN();
      variables->write(id, values);
      const auto runner =
          this->backend.make_runner(network, *variables, {.batch_size = 2, .mode = mode});
      runner->load(random_batch(network, 2, 1));
      EXPECT_TRUE(std::isnan(runner->forward().loss)) << name;
    }
}

TYPED_TEST(EachBackend, RefusesWhatMakesNoSense) {
  const Network network = small_resnet();
  const auto own = this->backend.make_variables(network);
  const auto refused = [&](const Network& asked, Variables& variables, size_t batch_size) {
    return error_of(
               [&] { this->backend.make_runner(asked, variables, {.batch_size = batch_size}); })
        .kind();
  };
  EXPECT_EQ(refused(network, *own, 0), ErrorKind::invalid_argument);
  EXPECT_EQ(refused(network, *own, size_t{1} << 62), ErrorKind::invalid_argument);
  EXPECT_EQ(refused(resnet({.layers = 14, .input = {3, 8, 8}}), *own, 2),
            ErrorKind::invalid_argument)
      << "another network's variables";
  class Others final : public Variables {
   public:
    using Variables::Variables;
    std::vector<float> read(VariableId, Slot) const override { return {}; }
    void write(VariableId, std::span<const float>, Slot) override {}
    void apply_momentum(const MomentumOptions&) override {}
    double half_squared_norm() const override { return 0; }
  } others(network.variables());
  EXPECT_EQ(refused(network, others, 2), ErrorKind::invalid_argument) << "another backend's";
  Network without_loss({3, 8, 8});
  without_loss.dense(0, "dense", 3);
  const auto its_own = this->backend.make_variables(without_loss);
  EXPECT_EQ(refused(without_loss, *its_own, 2), ErrorKind::invalid_argument) << "no loss";

  EXPECT_THROW(own->write(0, std::vector<float>(7)), Error);
  EXPECT_THROW(own->read(id_of(network, "bn/moving_mean"), Slot::gradient), Error);

  const auto runner =
      this->backend.make_runner(network, *own, {.batch_size = 2, .mode = Mode::inference});
  runner->load(random_batch(network, 2, 1));
  runner->forward();
  EXPECT_THROW(runner->backward(), Error);
}

TYPED_TEST(EachBackend, SaysThatMemoryRanOut) {
#ifdef RECORDPIPE_SANITIZED
  GTEST_SKIP() << "AddressSanitizer ends the program where so much memory is asked for";
#endif
  // More than there are addresses: the attempt takes nothing on any machine.
  const Network network = resnet({.layers = 8, .input = {3, 256, 256}});
  const auto variables = this->backend.make_variables(network);
  const Error error = error_of(
      [&] { this->backend.make_runner(network, *variables, {.batch_size = size_t{1} << 30}); });
  EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded) << error.what();
}

// U(-a, a) with a = sqrt(6 / (fan in + fan out)), each variable another; batch norm neutral.
TYPED_TEST(EachBackend, StartsFromGlorotsUniformDistribution) {
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
  // No two of them draw the same numbers.
  std::set<float> draws;
  size_t random = 0;
  for (VariableId id = 0; id < network.variables().size(); ++id) {
    const VariableSpec& spec = network.variables()[id];
    if (spec.initializer != Initializer::glorot_uniform) continue;
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
