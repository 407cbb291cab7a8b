// Tests --device on machines with an emulated GPU.
#include "trainer/programs/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/error.h"
#include "recordpipe/trainer/model/resnet.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/cuda_emulation/machine.h"

namespace recordpipe {
namespace {

using cuda::emulated_machine;
using testing::HasSubstr;
using testing::StartsWith;

class Device : public testing::Test {
 protected:
  void TearDown() override { emulated_machine() = {}; }
};

TEST_F(Device, AutoTakesTheGpuIfThereIsOne) {
  EXPECT_THAT(make_backend("auto", 1)->name(), StartsWith("cuda, emulated"));
  emulated_machine().gpus = 0;
  EXPECT_THAT(make_backend("auto", 1)->name(), StartsWith("cpu"));
  EXPECT_EQ(error_of([] { make_backend("cuda", 1); }).kind(), ErrorKind::unsupported);
}

TEST_F(Device, AutoTakesTheCpuIfTheGpuIsFull) {
  emulated_machine().open_device = [] { fail_for_memory(); };
  EXPECT_THAT(make_backend("auto", 1)->name(), StartsWith("cpu"));
}

// Nobody expects a training on a GPU to take days on the CPU.
TEST_F(Device, AutoFailsIfTheGpuFails) {
  emulated_machine().open_device = [] {
    throw DeviceError({.kind = ErrorKind::io, .reason = "making a stream failed: cudaErrorECC"});
  };
  for (const char* device : {"auto", "cuda"})
    EXPECT_THAT(error_of([&] { make_backend(device, 1); }).what(),
                HasSubstr("making a stream failed"));
}

TEST_F(Device, MeasuresAlgorithmsIfToldSo) {
  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  for (const size_t gpus : {1u, 2u})
    for (const bool measure : {false, true}) {
      emulated_machine() = {};
      SingleProcess alone;
      const auto backend = make_training_backend(
          {.device = "cuda", .measure_algorithms = measure, .num_gpus = gpus}, alone);
      const auto variables = backend->make_variables(network);
      backend->make_runner(network, *variables, {.batch_size = 2});
      EXPECT_EQ(emulated_machine().has_measured_algorithms, measure) << gpus;
    }
}

}  // namespace
}  // namespace recordpipe
