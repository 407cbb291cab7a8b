// Tests the CUDA backend on machines that only the emulation can be: with other numbers of GPUs,
// and with GPUs that fail.
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/model/resnet.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/cuda_emulation/machine.h"
#include "tests/trainer/test_networks.h"
#include "tests/trainer/thread_communicator.h"
#include "trainer/backend/cuda/cuda_backend.h"
#include "trainer/backend/cuda/replicated/multi_gpu_backend.h"

namespace recordpipe {
namespace {

using cuda::emulated_machine;
using testing::HasSubstr;

// Restores the thread's machine.
class CudaMachine : public testing::Test {
 protected:
  void TearDown() override { emulated_machine() = {}; }
};

// Every ReLU of a deep network is counted for TensorBoard. The outputs must not be copied for this.
TEST_F(CudaMachine, CountsZerosOnTheDevice) {
  const Network network = resnet({.layers = 8, .input = {3, 16, 16}});
  CudaBackend backend;
  const auto variables = backend.make_variables(network);
  const auto runner = backend.make_runner(network, *variables, {.batch_size = 8});
  runner->load(random_batch(network, 8, 1));
  runner->forward();
  const size_t before = emulated_machine().bytes_read;
  for (NodeId node = 0; node + 1 < network.nodes().size(); ++node) runner->count_zeros(node);
  EXPECT_LE(emulated_machine().bytes_read - before, 8 * network.nodes().size());
}

TEST_F(CudaMachine, MeasuresAlgorithmsIfToldSo) {
  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  for (const bool measure : {false, true}) {
    CudaBackend backend({.measure_algorithms = measure});
    const auto variables = backend.make_variables(network);
    backend.make_runner(network, *variables, {.batch_size = 1});
    EXPECT_EQ(emulated_machine().has_measured_algorithms, measure);
  }
}

// What the constructor of MultiGpuBackend throws in each of `processes`, each of which sees `gpus`
// of the machine's GPUs, from first(rank) on; "" if nothing.
std::vector<std::string> opening(size_t processes, size_t gpus_of_backend, size_t gpus,
                                 const std::function<size_t(size_t rank)>& first) {
  std::vector<std::string> errors(processes);
  in_threads(processes, [&](Communicator& communicator) {
    emulated_machine() = {.first_gpu = first(communicator.rank()), .gpus = gpus};
    try {
      const MultiGpuBackend backend(communicator,
                                    {.gpus = gpus_of_backend, .exchange = GradientExchange::host});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      errors[communicator.rank()] = error.what();
    }
  });
  return errors;
}

TEST_F(CudaMachine, HasGpusForTheProcessesThatSeeAllOrTheirOwn) {
  const auto all = [](size_t) { return size_t{0}; };
  const std::vector<std::string> fine(3);
  EXPECT_EQ(opening(3, 1, 3, all), fine);
  EXPECT_EQ(opening(3, 2, 6, all), fine);
  EXPECT_EQ(opening(3, 1, 8, all), fine) << "more than needed";
  EXPECT_EQ(opening(3, 1, 1, [](size_t rank) { return rank; }), fine) << "one each";
  EXPECT_EQ(opening(3, 2, 2, [](size_t rank) { return 2 * rank; }), fine) << "two each";
}

TEST_F(CudaMachine, RefusesProcessesThatShareAGpu) {
  for (const std::string& error : opening(2, 1, 1, [](size_t) { return size_t{0}; }))
    EXPECT_THAT(error, HasSubstr("several processes use the same GPU"));
  for (const std::string& error : opening(2, 2, 2, [](size_t rank) { return rank; }))
    EXPECT_THAT(error, HasSubstr("several processes use the same GPU"));
  // Two GPUs for three processes: the third has none, and the others are told.
  const auto errors = opening(3, 1, 2, [](size_t) { return size_t{0}; });
  EXPECT_THAT(errors[2], HasSubstr("there is no GPU 2"));
  EXPECT_THAT(errors[0], HasSubstr("another process can't use its GPUs"));
}

void fail_to_open() {
  throw DeviceError({.kind = ErrorKind::io, .reason = "starting cuDNN failed"});
}

TEST_F(CudaMachine, TellsOfAGpuOfAnotherProcessThatFails) {
  std::vector<std::string> errors(2);
  in_threads(2, [&](Communicator& communicator) {
    if (communicator.rank() == 1) emulated_machine().open_device = fail_to_open;
    try {
      const MultiGpuBackend backend(communicator, {.exchange = GradientExchange::host});
      ADD_FAILURE() << "made";
    } catch (const DeviceError& error) {
      errors[communicator.rank()] = error.what();
    }
  });
  EXPECT_THAT(errors[0], HasSubstr("a GPU of another process has failed"));
  EXPECT_THAT(errors[1], HasSubstr("starting cuDNN failed"));
}

}  // namespace
}  // namespace recordpipe
