// Tests training in several processes, which tests/cli/mpi_training_test.py starts through mpirun.
// Each process runs all tests and compares the results with its own single-process training.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/backend/reference/reference_backend.h"
#include "recordpipe/trainer/backend/replicated/mpi_communicator.h"
#include "recordpipe/trainer/backend/replicated/replicated_backend.h"
#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/replica_training.h"
#include "tests/trainer/test_networks.h"
#include "trainer/backend/cuda/replicated/multi_gpu_backend.h"

namespace recordpipe {
namespace {

constexpr size_t images_per_step = 12;  // over all processes

Communicator* processes = nullptr;

std::unique_ptr<Backend> one_thread() {
  return std::make_unique<CpuBackend>(CpuBackendOptions{.threads = 1});
}
std::unique_ptr<Backend> reference() { return std::make_unique<ReferenceBackend<>>(); }

Trained train_together(std::unique_ptr<Backend> backend, const Network& network,
                       const ReplicatedBackendOptions& options = {}) {
  ReplicatedBackend replicated(std::move(backend), *processes, options);
  return train(replicated, network, images_per_step / processes->size(), [&](uint64_t step) {
    return share_of(random_batch(network, images_per_step, step), processes->rank(),
                    processes->size());
  });
}

// Returns whether all processes have the same CRC as the first.
bool same_everywhere(uint32_t crc) {
  uint32_t first = crc;
  processes->broadcast(std::as_writable_bytes(std::span(&first, 1)));
  return !any(*processes, crc != first);
}

uint32_t crc_of(const Trained& trained) {
  uint32_t crc = crc32c(std::as_bytes(std::span(trained.losses)));
  for (const std::vector<float>& values : trained.values)
    crc = crc32c_extend(crc, std::as_bytes(std::span(values)));
  return crc;
}

// The tutorial's kinds of layers, but narrow ones: slow backends take a second for its own.
Network narrow_cnn() {
  Network network({3, 8, 8});
  NodeId x = network.conv2d(
      0, "conv",
      {.filters = 8, .kernel = 5, .padding = 2, .relu = true, .biases = ParameterOptions{}});
  x = network.local_response_norm(network.max_pool(x, "pool"), "norm");
  x = network.dense(x, "hidden", 24, {.relu = true});
  network.softmax_cross_entropy(network.dense(x, "logits", 10));
  return network;
}

TEST(MpiTraining, LearnsWhatOneProcessLearnsFromAllImages) {
  for (const auto make_backend : {one_thread, reference}) {
    const Network network =
        make_backend == reference ? narrow_cnn() : tutorial_cnn({.input = {3, 8, 8}});
    const auto backend = make_backend();
    const Trained expected = train(*backend, network, images_per_step, [&](uint64_t step) {
      return random_batch(network, images_per_step, step);
    });
    const Trained got = train_together(make_backend(), network);
    EXPECT_LE(greatest_error(got, expected), 4e-6) << backend->name();
    EXPECT_TRUE(same_everywhere(crc_of(got)));
    EXPECT_EQ(train_together(make_backend(), network), got) << "other bits at the second run";
  }
}

// Images have the tutorial's size.
TEST(MpiTraining, LearnsTheTutorialsNetwork) {
  const Network network = tutorial_cnn();
  const Trained expected = train(*one_thread(), network, images_per_step, [&](uint64_t step) {
    return random_batch(network, images_per_step, step);
  });
  EXPECT_LE(greatest_error(train_together(one_thread(), network), expected), 4e-6);
}

// Batch norm uses each process's own statistics; those of the first process are kept.
TEST(MpiTraining, TrainsResNetAsTowersDo) {
  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  SingleProcess alone;
  ReplicatedBackend towers(one_thread(), alone, {.towers = processes->size()});
  const Trained expected = train(towers, network, images_per_step, [&](uint64_t step) {
    return random_batch(network, images_per_step, step);
  });
  const Trained got = train_together(one_thread(), network);
  EXPECT_TRUE(processes->size() > 2 || got == expected)
      << "the order of two summands doesn't matter";
  EXPECT_LE(greatest_error(got, expected), 1e-4);
  EXPECT_TRUE(same_everywhere(crc_of(got)));
}

TEST(MpiTraining, TrainsResNetAsOneProcessWhereStatisticsAreShared) {
  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  const Trained expected = train(*one_thread(), network, images_per_step, [&](uint64_t step) {
    return random_batch(network, images_per_step, step);
  });
  const Trained got = train_together(one_thread(), network, {.sync_batch_norm = true});
  EXPECT_LE(greatest_error(got, expected), 1e-4);
  EXPECT_TRUE(same_everywhere(crc_of(got)));
}

// Each process has several emulated GPUs; gradients are averaged on the host.
TEST(MpiTraining, LearnsOnSeveralGpus) {
  const Network network = narrow_cnn();
  const size_t share = images_per_step / processes->size();
  const Trained expected = train(*one_thread(), network, images_per_step, [&](uint64_t step) {
    return random_batch(network, images_per_step, step);
  });
  MultiGpuBackend backend(*processes, {.gpus = share % 2 == 0 ? 2u : 3u});
  const auto batch_of = [&](uint64_t step) {
    return share_of(random_batch(network, images_per_step, step), processes->rank(),
                    processes->size());
  };
  const Trained got = train(backend, network, share, batch_of);
  EXPECT_LE(greatest_error(got, expected), 1e-4);
  EXPECT_TRUE(same_everywhere(crc_of(got)));
}

// Sizes from 0 to beyond the largest segment of MPI's all-reduce algorithms. The sum of the values
// depends on the order of addition.
TEST(MpiCommunicator, AddsUpAlikeInAllProcesses) {
  for (const size_t size : {0u, 1u, 3u, 1000u, 30011u, 1068298u}) {
    std::vector<float> floats(size);
    std::vector<double> doubles(size), expected(size);
    for (size_t rank = 0; rank < processes->size(); ++rank)
      for (size_t i = 0; i < size; ++i) {
        const double value = 1.0 / static_cast<double>(3 + i + 7 * rank);
        expected[i] += value;
        if (rank == processes->rank()) {
          floats[i] = static_cast<float>(value);
          doubles[i] = value;
        }
      }
    processes->all_reduce_sum(std::span<float>(floats));
    processes->all_reduce_sum(std::span<double>(doubles));
    for (size_t i = 0; i < size; ++i) {
      ASSERT_NEAR(floats[i], expected[i], 5e-7 * expected[i]);
      ASSERT_NEAR(doubles[i], expected[i], 1e-15 * expected[i]);
    }
    EXPECT_TRUE(same_everywhere(crc32c(std::as_bytes(std::span(floats)))));
    EXPECT_TRUE(same_everywhere(crc32c(std::as_bytes(std::span(doubles)))));
  }
}

TEST(MpiCommunicator, GivesAllWhatTheFirstHas) {
  for (const size_t size : {0u, 1u, 5000u, 4000003u}) {
    std::vector<std::byte> bytes(size, std::byte(17 + processes->rank()));
    processes->broadcast(bytes);
    EXPECT_EQ(bytes, std::vector<std::byte>(size, std::byte{17}));
  }
}

// Without hosts, mpirun -n N starts all processes on this machine.
TEST(MpiCommunicator, KnowsItsPlaceOnTheMachine) {
  EXPECT_EQ(processes->rank_on_machine(), processes->rank());
}

TEST(MpiCommunicator, IsJoinedOnce) {
  EXPECT_EQ(error_of([] { join_mpi(); }).kind(), ErrorKind::invalid_argument);
}

}  // namespace
}  // namespace recordpipe

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const auto communicator = recordpipe::join_mpi();
  recordpipe::processes = communicator.get();
  const int status = RUN_ALL_TESTS();
  std::printf("%zu of %zu: exit status %d\n", communicator->rank(), communicator->size(), status);
  std::fflush(stdout);
  // Other processes may be waiting for data that a failed test didn't send.
  if (status != 0) std::_Exit(status);
}
