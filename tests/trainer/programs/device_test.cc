// Tests --device, and the flags that go with it, on machines with emulated GPUs.
#include "trainer/programs/device.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/model/resnet.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/cuda_emulation/machine.h"
#include "tests/trainer/programs/parsed_flags.h"
#include "trainer/programs/cifar10_flags.h"
#include "trainer/programs/tutorial_flags.h"

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
  EXPECT_THAT(make_backend({.type = "auto"})->name(), StartsWith("cuda, emulated"));
  emulated_machine().gpus = 0;
  EXPECT_THAT(make_backend({.type = "auto"})->name(), StartsWith("cpu"));
  EXPECT_EQ(error_of([] { make_backend({.type = "cuda"}); }).kind(), ErrorKind::unsupported);
}

TEST_F(Device, AutoTakesTheCpuIfTheGpuIsFull) {
  emulated_machine().open_device = [] { fail_for_memory(); };
  EXPECT_THAT(make_backend({.type = "auto"})->name(), StartsWith("cpu"));
}

// Nobody expects a training on a GPU to take days on the CPU.
TEST_F(Device, AutoFailsIfTheGpuFails) {
  emulated_machine().open_device = [] {
    throw DeviceError({.kind = ErrorKind::io, .reason = "making a stream failed: cudaErrorECC"});
  };
  for (const char* type : {"auto", "cuda"})
    EXPECT_THAT(error_of([&] { make_backend({.type = type}); }).what(),
                HasSubstr("making a stream failed"));
}

// The command lines of the programs that train on GPUs.
TrainingDevice of_cifar10_main(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--data-dir=data", "--job-dir=job"});
  return parsed(parse_cifar10_flags, std::move(arguments)).device;
}
TrainingDevice of_cifar10_multi_gpu_train(std::vector<std::string> arguments) {
  return parsed(parse_cifar10_multi_gpu_train_flags, std::move(arguments)).device;
}

TEST_F(Device, IsWhatTheFlagsSay) {
  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  for (const auto& device_of : {of_cifar10_main, of_cifar10_multi_gpu_train})
    for (const size_t gpus : {1u, 2u})
      for (const std::string precision : {"fp32", "tf32", "bf16", "fp16"})
        for (const bool measure : {false, true}) {
          emulated_machine() = {};
          const TrainingDevice device = device_of(
              {"--device=cuda", "--num-gpus=" + std::to_string(gpus), "--precision=" + precision,
               "--measure-algorithms=" + std::string(measure ? "true" : "false")});
          SingleProcess alone;
          const auto backend = make_training_backend(device, alone);
          const auto variables = backend->make_variables(network);
          backend->make_runner(network, *variables, {.batch_size = 2});
          EXPECT_THAT(backend->name(), StartsWith(gpus == 1 ? "cuda, " : "2 GPUs: cuda, "));
          EXPECT_THAT(backend->name(), HasSubstr(", " + precision));
          EXPECT_EQ(emulated_machine().has_measured_algorithms, measure) << gpus;
        }
}

TEST_F(Device, IsNotTheCpuForWhatOnlyAGpuDoes) {
  emulated_machine().gpus = 0;
  for (const char* flag : {"--precision=bf16", "--measure-algorithms=true"}) {
    const Error error = error_of([&] { make_backend(of_cifar10_main({"--device=auto", flag})); });
    EXPECT_EQ(error.kind(), ErrorKind::unsupported) << flag;
    EXPECT_THAT(error.what(), HasSubstr("only")) << flag;
  }
}

TEST_F(Device, IsTheCpuForNoGpus) {
  const TrainingDevice device = of_cifar10_main({"--num-gpus=0"});
  EXPECT_EQ(device.type, "cpu");
  EXPECT_EQ(device.num_gpus, 1u);
}

}  // namespace
}  // namespace recordpipe
