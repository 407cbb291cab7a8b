// Tests guarantees of every backend: batch norm, NaN that reaches the loss, rejected arguments.
#include "recordpipe/trainer/backend/backend.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/test_networks.h"
#include "tests/trainer/tested_backends.h"

namespace recordpipe {
namespace {

template <class Backend>
class EachBackend : public testing::Test {
 protected:
  Backend backend;
};
TYPED_TEST_SUITE(EachBackend, TestedBackends);

// After a 1x1 convolution with weight 1, the input of batch norm is 0, 0, -1, 0. Its mean is -1/4,
// its biased variance 3/16, its unbiased variance 1/4.
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

  runner->backward();
  EXPECT_EQ(variables->read(id_of(network, "bn/moving_mean"))[0], 0) << "not yet";
  EXPECT_EQ(variables->read(id_of(network, "bn/moving_variance"))[0], 1) << "not yet";
  runner->update_statistics();
  EXPECT_FLOAT_EQ(variables->read(id_of(network, "bn/moving_mean"))[0], 0.25f * -0.25f);
  EXPECT_FLOAT_EQ(variables->read(id_of(network, "bn/moving_variance"))[0],
                  0.75f * 1 + 0.25f * 0.25f);
  const double deviation = std::sqrt(3.0 / 16 + 1e-5);
  EXPECT_NEAR(runner->output(normal)[2], -0.75 / deviation, 1e-5);
  EXPECT_NEAR(runner->output(normal)[3], 0.25 / deviation, 1e-5);
}

// If values are close together but far from zero, a variance from sums of squares loses precision.
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

// A runner may keep copies of variables, but must update the copies after a write.
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

// A ReLU that turned NaN into 0, or a pooling that ignored NaN, would hide that a network has
// diverged.
TYPED_TEST(EachBackend, LetsWhatIsNoNumberThroughToTheLoss) {
  const auto check = [&](const Network& network, const std::vector<const char*>& names) {
    for (const char* name : names)
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
  };
  check(small_resnet(), {"conv/weights", "bn/gamma", "bn/beta", "stage1/block0/conv2/weights",
                         "stage2/block0/bn2/beta", "stage3/block0/conv1/weights"});
  check(tutorial_cnn({.input = {3, 8, 8}}),
        {"conv1/weights", "conv1/biases", "conv2/weights", "conv2/biases", "local3/weights",
         "local4/biases", "softmax_linear/weights"});
}

// Each pixel in turn is the only NaN, so that NaN occurs at every position in a window.
TYPED_TEST(EachBackend, PoolsNoNumberAwayThatIsNone) {
  Network network({1, 5, 5}, {.scale = 1, .shift = 0});
  const NodeId pooled = network.max_pool(0, "pool");
  network.softmax_cross_entropy(network.dense(pooled, "dense", 2));
  const auto variables = this->backend.make_variables(network);
  const auto runner =
      this->backend.make_runner(network, *variables, {.batch_size = 1, .mode = Mode::inference});
  for (size_t pixel = 0; pixel < 25; ++pixel) {
    ImageBatch batch = random_batch(network, 1, 1);
    reinterpret_cast<float*>(batch.image_at(0))[pixel] = std::numeric_limits<float>::quiet_NaN();
    runner->load(batch);
    runner->forward();
    // Windows are centred at rows and columns 0, 2 and 4: two of them cover an odd row or column.
    const std::vector<float> y = runner->output(pooled);
    const auto lost = std::ranges::count_if(y, [](float value) { return std::isnan(value); });
    EXPECT_EQ(lost, (1 + pixel / 5 % 2) * (1 + pixel % 5 % 2)) << pixel;
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
    void process_gradients(const GradientOptions&) override {}
    std::span<const double> gradient_norms() const override { return {}; }
    void start_averages() override {}
    void stop_averages() override {}
    bool has_averages() const override { return false; }
    void update_averages(double) override {}
    void reset_to_averages() override {}
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
  EXPECT_THROW(runner->update_statistics(), Error);
}

TYPED_TEST(EachBackend, SaysThatMemoryRanOut) {
#ifdef RECORDPIPE_SANITIZED
  GTEST_SKIP() << "AddressSanitizer ends programs that request so much memory";
#endif
  // This exceeds the address space, so that nothing is allocated on any machine.
  const Network network = resnet({.layers = 8, .input = {3, 256, 256}});
  const auto variables = this->backend.make_variables(network);
  const Error error = error_of(
      [&] { this->backend.make_runner(network, *variables, {.batch_size = size_t{1} << 30}); });
  EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded) << error.what();
}

}  // namespace
}  // namespace recordpipe
