// Tests data parallelism over a communicator, with threads instead of processes.
// mpi_training_test.cc has similar tests with processes; replicated_towers_test.cc tests towers.
#include "recordpipe/trainer/backend/replicated/replicated_backend.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/pipeline/chrome_trace.h"
#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/backend/reference/reference_backend.h"
#include "recordpipe/trainer/training/trainer.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/relative_error.h"
#include "tests/trainer/replica_training.h"
#include "tests/trainer/test_networks.h"
#include "tests/trainer/thread_communicator.h"

namespace recordpipe {
namespace {

std::unique_ptr<Backend> one_thread() {
  return std::make_unique<CpuBackend>(CpuBackendOptions{.threads = 1});
}
std::unique_ptr<Backend> reference() { return std::make_unique<ReferenceBackend<>>(); }

// Trains in all processes, each on its share of batches of 12 images.
template <class MakeBackend>
std::vector<Trained> train_together(size_t processes, const Network& network,
                                    MakeBackend make_backend, size_t towers = 1) {
  std::vector<Trained> trained(processes);
  in_threads(processes, [&](Communicator& communicator) {
    ReplicatedBackend backend(make_backend(), communicator, {.towers = towers});
    trained[communicator.rank()] = train(backend, network, 12 / processes, [&](uint64_t step) {
      return share_of(random_batch(network, 12, step), communicator.rank(), processes);
    });
  });
  return trained;
}

TEST(ReplicatedBackend, LearnsWhatOneProcessLearnsFromAllImages) {
  const Network network = small_cnn();
  for (const auto make_backend : {one_thread, reference}) {
    const auto backend = make_backend();
    const Trained expected = train(*backend, network, 12,
                                   [&](uint64_t step) { return random_batch(network, 12, step); });
    for (const size_t processes : {1u, 2u, 3u, 4u})
      for (const Trained& got : train_together(processes, network, make_backend))
        EXPECT_LE(greatest_error(got, expected), 4e-6) << processes << " on " << backend->name();
  }
}

TEST(ReplicatedBackend, MayHaveTowersInEachProcess) {
  const Network network = small_cnn();
  const Trained expected = train(*reference(), network, 12,
                                 [&](uint64_t step) { return random_batch(network, 12, step); });
  for (const size_t processes : {2u, 3u}) {
    const std::vector<Trained> got = train_together(processes, network, reference, /*towers=*/2);
    for (const Trained& each : got) EXPECT_LE(greatest_error(each, expected), 4e-6) << processes;
    EXPECT_EQ(got.front(), got.back());
    EXPECT_NE(got, train_together(processes, network, reference)) << "other sums";
  }
  in_threads(2, [](Communicator& communicator) {
    EXPECT_EQ(ReplicatedBackend(reference(), communicator, {.towers = 3}).name(),
              "2 processes, each on 3 towers on reference");
  });
}

// The result is bit for bit that of as many towers: each process normalises by its own batch, and
// the moving statistics are those of the first process.
TEST(ReplicatedBackend, TrainsAsTowersDo) {
  for (const Network& network : {small_cnn(), small_resnet()})
    for (const size_t processes : {2u, 4u}) {
      SingleProcess alone;
      ReplicatedBackend towers(one_thread(), alone, {.towers = processes});
      const Trained expected = train(
          towers, network, 12, [&](uint64_t step) { return random_batch(network, 12, step); });
      for (const Trained& got : train_together(processes, network, one_thread))
        EXPECT_EQ(got, expected) << processes;
    }
}

// With shared statistics, training in several processes equals training in one, even with batch
// norm. Gradients are exchanged as floats, even if they are computed in double precision.
template <class Inner>
void compare_with_shared_statistics(double tolerance) {
  for (const Network& network : {small_resnet(), branching_network()}) {
    const ImageBatch whole = random_batch(network, 12, 1);
    const auto step = [&](Backend& backend, const ImageBatch& batch) {
      auto variables = backend.make_variables(network);
      randomize(*variables, 3);
      const auto runner = backend.make_runner(network, *variables, {.batch_size = batch.size()});
      runner->load(batch);
      runner->forward();
      runner->backward();
      runner->update_statistics();
      return variables;
    };
    Inner plain;
    const auto expected = step(plain, whole);
    for (const size_t processes : {2u, 4u})
      in_threads(processes, [&](Communicator& communicator) {
        ReplicatedBackend backend(std::make_unique<Inner>(), communicator,
                                  {.sync_batch_norm = true});
        const auto got = step(backend, share_of(whole, communicator.rank(), processes));
        for (VariableId id = 0; id < network.variables().size(); ++id) {
          const VariableSpec& spec = network.variables()[id];
          const Slot slot = spec.trained ? Slot::gradient : Slot::value;
          EXPECT_LE(relative_error(got->read(id, slot), expected->read(id, slot)), tolerance)
              << spec.name << ", " << processes << " processes";
        }
      });
  }
}

TEST(ReplicatedBackend, TakesStatisticsOfAllImagesWhereAskedTo) {
  compare_with_shared_statistics<ReferenceBackend<double>>(1e-6);
  compare_with_shared_statistics<CpuBackend>(1e-4);
}

TEST(ReplicatedBackend, CountsTheImagesOfAllProcesses) {
  const Network network = small_cnn();
  const ImageBatch whole = random_batch(network, 6, 1);
  const auto plain = reference();
  const auto variables = plain->make_variables(network);
  randomize(*variables, 3);
  const auto runner = plain->make_runner(network, *variables, {.batch_size = 6});
  runner->load(whole);
  const BatchResult expected = runner->forward();
  in_threads(3, [&](Communicator& communicator) {
    ReplicatedBackend backend(reference(), communicator);
    EXPECT_EQ(backend.name(), "3 processes, each on reference");
    const auto own = backend.make_variables(network);
    randomize(*own, 3);
    const auto own_runner = backend.make_runner(network, *own, {.batch_size = 2});
    own_runner->load(share_of(whole, communicator.rank(), 3));
    const BatchResult got = own_runner->forward();
    EXPECT_NEAR(got.loss, expected.loss, 1e-6 * expected.loss);
    EXPECT_EQ(got.correct, expected.correct);
    EXPECT_EQ(got.images, 6u);
  });
}

// If the variables of one process differ, all processes throw. After share_variables(), none
// throws.
TEST(ReplicatedBackend, WantsTheSameStartOfAll) {
  const Network network = small_resnet();
  in_threads(3, [&](Communicator& communicator) {
    ReplicatedBackend backend(reference(), communicator);
    const auto variables = backend.make_variables(network);
    const auto forward = [&](size_t batch_size) {
      const auto runner = backend.make_runner(network, *variables, {.batch_size = batch_size});
      runner->load(random_batch(network, batch_size, 1));
      runner->forward();
    };
    const bool is_last = communicator.rank() == 2;
    initialize(*variables, is_last ? 2 : 1);
    EXPECT_EQ(error_of([&] { forward(2); }).kind(), ErrorKind::invalid_argument);
    share_variables(communicator, *variables);
    EXPECT_NO_THROW(forward(2));

    const VariableId weights = id_of(network, "dense/weights");
    const std::vector<float> momentum(network.variables()[weights].size(), is_last ? 1 : 2);
    variables->write(weights, momentum, Slot::momentum);
    EXPECT_THROW(forward(2), Error) << "other momenta";
    share_variables(communicator, *variables);
    EXPECT_EQ(variables->read(weights, Slot::momentum)[0], 2);
    EXPECT_THROW(forward(is_last ? 3 : 2), Error) << "other batch sizes";

    if (communicator.rank() == 0) {
      variables->start_averages();
      variables->write(weights, momentum, Slot::average);
    }
    EXPECT_THROW(forward(2), Error) << "averages in one process";
    share_variables(communicator, *variables);
    EXPECT_EQ(variables->read(weights, Slot::average)[0], 2);
    EXPECT_NO_THROW(forward(2));
  });
}

// In inference no process waits for another: here only the first process evaluates.
TEST(ReplicatedBackend, LeavesProcessesAloneInInference) {
  const Network network = small_cnn();
  in_threads(2, [&](Communicator& communicator) {
    ReplicatedBackend backend(reference(), communicator);
    const auto variables = backend.make_variables(network);
    initialize(*variables, 1);
    if (communicator.rank() == 0) {
      const auto runner =
          backend.make_runner(network, *variables, {.batch_size = 5, .mode = Mode::inference});
      runner->load(random_batch(network, 3, 1));
      EXPECT_EQ(runner->forward().images, 3u);
    }
    any(communicator, false);  // waits for the first process
  });
}

TEST(ReplicatedBackend, LooksIntoTheImagesOfItsOwnProcess) {
  const Network network = small_cnn();
  in_threads(2, [&](Communicator& communicator) {
    ReplicatedBackend backend(one_thread(), communicator);
    const auto variables = backend.make_variables(network);
    randomize(*variables, 3);
    const auto runner = backend.make_runner(network, *variables, {.batch_size = 3});
    const auto trace = std::make_shared<ChromeTrace>();
    runner->trace_to(trace);
    runner->load(random_batch(network, 3, communicator.rank()));
    runner->forward();
    const NodeId node = 1;
    const std::vector<float> output = runner->output(node);
    EXPECT_EQ(output.size(), 3 * network.nodes()[node].shape.size());
    EXPECT_EQ(runner->count_zeros(node), static_cast<size_t>(std::ranges::count(output, 0.0f)));
    EXPECT_NE(trace->json().find(network.nodes()[node].name), std::string::npos);
  });
}

// If the loss of one process is NaN, all processes stop at that step, and none waits for the
// others.
TEST(ReplicatedBackend, StopsAllWhereOneLosesItsNumbers) {
  Network network({1, 2, 2}, {.scale = 1, .shift = 0});
  network.softmax_cross_entropy(network.dense(0, "dense", 2));
  in_threads(2, [&](Communicator& communicator) {
    ReplicatedBackend backend(reference(), communicator);
    const auto variables = backend.make_variables(network);
    initialize(*variables, 1);
    Trainer trainer(backend, network, *variables, {.batch_size = 2});
    ImageBatch batch = random_batch(network, 2, 1);
    if (communicator.rank() == 1)
      *reinterpret_cast<float*>(batch.image_at(0)) = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THROW(trainer.step(batch, [](uint64_t) { return 0.1; }), Error);
  });
}

TEST(Communicator, AsksAll) {
  in_threads(3, [](Communicator& communicator) {
    EXPECT_FALSE(any(communicator, false));
    EXPECT_TRUE(any(communicator, communicator.rank() == 1));
    EXPECT_TRUE(any(communicator, true));
  });
  SingleProcess alone;
  EXPECT_TRUE(any(alone, true));
  EXPECT_FALSE(any(alone, false));
}

}  // namespace
}  // namespace recordpipe
