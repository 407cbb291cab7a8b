// Compares towers in one process with one runner for the whole batch.
#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "recordpipe/pipeline/chrome_trace.h"
#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/backend/reference/reference_backend.h"
#include "recordpipe/trainer/backend/replicated/replicated_backend.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/relative_error.h"
#include "tests/trainer/replica_training.h"
#include "tests/trainer/test_networks.h"

namespace recordpipe {
namespace {

template <class Inner>
class Towers : public testing::Test {
 protected:
  ReplicatedBackend towers(size_t count) {
    return ReplicatedBackend(std::make_unique<Inner>(), alone, {.towers = count});
  }
  Inner plain;
  SingleProcess alone;
};
using TowerBackends = testing::Types<CpuBackend, ReferenceBackend<float>>;
TYPED_TEST_SUITE(Towers, TowerBackends);

TYPED_TEST(Towers, GiveWhatTheWholeBatchGives) {
  const Network network = small_cnn();
  const ImageBatch batch = random_batch(network, 8, 5);
  const auto expected_variables = this->plain.make_variables(network);
  randomize(*expected_variables, 3);
  const auto expected_runner =
      this->plain.make_runner(network, *expected_variables, {.batch_size = 8});
  expected_runner->load(batch);
  const BatchResult expected = expected_runner->forward();
  expected_runner->backward();

  for (const size_t count : {1u, 2u, 4u, 8u}) {
    SCOPED_TRACE(count);
    ReplicatedBackend backend = this->towers(count);
    const auto variables = backend.make_variables(network);
    randomize(*variables, 3);
    const auto runner = backend.make_runner(network, *variables, {.batch_size = 8});
    runner->load(batch);
    const BatchResult got = runner->forward();
    EXPECT_NEAR(got.loss, expected.loss, 1e-6 * expected.loss);
    EXPECT_EQ(got.correct, expected.correct);
    EXPECT_EQ(got.images, 8u);
    for (NodeId node = 0; node + 1 < network.nodes().size(); ++node)
      EXPECT_LE(relative_error(runner->output(node), expected_runner->output(node)), 1e-5)
          << network.nodes()[node].name;
    runner->backward();
    for (VariableId id = 0; id < network.variables().size(); ++id)
      EXPECT_LE(relative_error(variables->read(id, Slot::gradient),
                               expected_variables->read(id, Slot::gradient)),
                1e-5)
          << network.variables()[id].name;
  }
}

// The gradient is the mean over the towers; the moving statistics are those of tower 0.
TYPED_TEST(Towers, NormaliseByThemselves) {
  const Network network = small_resnet();
  const ImageBatch batch = random_batch(network, 12, 5);
  for (const size_t count : {2u, 4u}) {
    SCOPED_TRACE(count);
    ReplicatedBackend backend = this->towers(count);
    const auto variables = backend.make_variables(network);
    randomize(*variables, 3);
    const auto runner = backend.make_runner(network, *variables, {.batch_size = 12});
    runner->load(batch);
    runner->forward();
    runner->backward();
    runner->update_statistics();

    std::vector<std::unique_ptr<Variables>> separate;
    for (size_t tower = 0; tower < count; ++tower) {
      separate.push_back(this->plain.make_variables(network));
      randomize(*separate.back(), 3);
      const auto single =
          this->plain.make_runner(network, *separate.back(), {.batch_size = 12 / count});
      single->load(share_of(batch, tower, count));
      single->forward();
      single->backward();
      single->update_statistics();
    }
    for (VariableId id = 0; id < network.variables().size(); ++id) {
      SCOPED_TRACE(network.variables()[id].name);
      EXPECT_EQ(variables->read(id), separate[0]->read(id));
      if (!network.variables()[id].trained) {
        EXPECT_NE(variables->read(id), separate[1]->read(id));
        continue;
      }
      std::vector<float> mean(network.variables()[id].size());
      for (const auto& each : separate) {
        const std::vector<float> gradient = each->read(id, Slot::gradient);
        for (size_t i = 0; i < mean.size(); ++i) mean[i] += gradient[i] / static_cast<float>(count);
      }
      EXPECT_LE(relative_error(variables->read(id, Slot::gradient), mean), 1e-6);
    }
  }
}

TYPED_TEST(Towers, LearnWhatTheWholeBatchTeaches) {
  const Network network = small_cnn();
  const auto batch_of = [&](uint64_t step) { return random_batch(network, 8, step); };
  const Trained expected = train(this->plain, network, 8, batch_of);
  for (const size_t count : {2u, 4u}) {
    ReplicatedBackend backend = this->towers(count);
    const Trained got = train(backend, network, 8, batch_of);
    EXPECT_LE(greatest_error(got, expected), 4e-6) << count;
    EXPECT_EQ(got, train(backend, network, 8, batch_of)) << count << ": other bits";
  }
}

TYPED_TEST(Towers, LeaveBatchesWholeWhereStatisticsAreShared) {
  const Network network = small_resnet();
  ReplicatedBackend backend(std::make_unique<TypeParam>(), this->alone,
                            {.towers = 2, .sync_batch_norm = true});
  const auto batch_of = [&](uint64_t step) { return random_batch(network, 6, step); };
  EXPECT_EQ(train(backend, network, 6, batch_of), train(this->plain, network, 6, batch_of));
}

TYPED_TEST(Towers, LeaveBatchesWholeInInference) {
  const Network network = small_resnet();
  ReplicatedBackend backend = this->towers(4);
  const auto variables = backend.make_variables(network);
  randomize(*variables, 3);
  const RunnerOptions options = {.batch_size = 7, .mode = Mode::inference};
  const auto runner = backend.make_runner(network, *variables, options);
  const auto expected_runner = this->plain.make_runner(network, *variables, options);
  for (const size_t images : {7u, 3u}) {
    for (Runner* each : {runner.get(), expected_runner.get()})
      each->load(random_batch(network, images, 1));
    EXPECT_EQ(runner->forward().loss, expected_runner->forward().loss);
  }
}

TYPED_TEST(Towers, CanBeLookedInto) {
  const Network network = small_cnn();
  ReplicatedBackend backend = this->towers(2);
  const auto variables = backend.make_variables(network);
  randomize(*variables, 3);
  const auto runner = backend.make_runner(network, *variables, {.batch_size = 6});
  const auto trace = std::make_shared<ChromeTrace>();
  runner->trace_to(trace);
  runner->load(random_batch(network, 6, 1));
  runner->forward();
  for (NodeId node = 0; node + 1 < network.nodes().size(); ++node) {
    const std::vector<float> output = runner->output(node);
    EXPECT_EQ(runner->count_zeros(node), static_cast<size_t>(std::ranges::count(output, 0.0f)))
        << node;
  }
  size_t convolutions = 0;
  const auto timeline = nlohmann::json::parse(trace->json());
  for (const auto& event : timeline.at("traceEvents"))
    if (event.at("name") == "conv1") ++convolutions;
  EXPECT_EQ(convolutions, 2u) << "one in each tower";
}

TEST(ReplicatedTowers, RefuseWhatCanNotBeDealtOut) {
  SingleProcess alone;
  const Network network = small_cnn();
  ReplicatedBackend backend(std::make_unique<ReferenceBackend<>>(), alone, {.towers = 3});
  const auto variables = backend.make_variables(network);
  const Error error =
      error_of([&] { backend.make_runner(network, *variables, {.batch_size = 8}); });
  EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(error.reason(), "a batch of 8 images can't be divided into 3 towers of equal size");
  EXPECT_THROW(backend.make_runner(network, *variables, {.batch_size = 0}), Error);
  EXPECT_THROW(ReplicatedBackend(std::make_unique<CpuBackend>(), alone, {.towers = 0}), Error);

  const auto runner = backend.make_runner(network, *variables, {.batch_size = 6});
  EXPECT_EQ(error_of([&] { runner->load(random_batch(network, 9, 1)); }).reason(),
            "a batch of 9 images where 6 were expected");
  EXPECT_EQ(backend.name(), "3 towers on reference");
  EXPECT_EQ(ReplicatedBackend(std::make_unique<ReferenceBackend<>>(), alone).name(), "reference");
}

}  // namespace
}  // namespace recordpipe
