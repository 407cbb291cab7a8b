// Tests the calls of NCCL on emulated GPUs, with a library in place of NCCL's (fake_nccl.cc).
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/trainer/model/resnet.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/backend_comparison.h"
#include "tests/trainer/replica_training.h"
#include "tests/trainer/test_networks.h"
#include "trainer/backend/cuda/replicated/multi_gpu_backend.h"

namespace recordpipe {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr size_t kImages = 12;

void break_nccl(bool broken) {
  static void* library = ::dlopen(RECORDPIPE_NCCL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const auto fake_nccl_break =
      reinterpret_cast<void (*)(bool)>(::dlsym(library, "fake_nccl_break"));
  ASSERT_NE(fake_nccl_break, nullptr);
  fake_nccl_break(broken);
}

class NcclExchange : public testing::Test {
 protected:
  void TearDown() override { break_nccl(false); }

  std::unique_ptr<MultiGpuBackend> on_gpus(size_t gpus, GradientExchange exchange) {
    return std::make_unique<MultiGpuBackend>(
        alone_, MultiGpuBackendOptions{.gpus = gpus, .exchange = exchange});
  }

  const Network network_ = resnet({.layers = 8, .input = {3, 8, 8}});
  SingleProcess alone_;
};

TEST_F(NcclExchange, AveragesAsTheHostDoes) {
  for (const size_t gpus : {1u, 2u, 3u}) {
    const auto train_by = [&](GradientExchange exchange, const std::string& name) {
      const auto backend = on_gpus(gpus, exchange);
      EXPECT_THAT(backend->name(), EndsWith(name));
      return train(*backend, network_, kImages,
                   [&](uint64_t step) { return random_batch(network_, kImages, step); });
    };
    EXPECT_EQ(train_by(GradientExchange::gpus, "by NCCL"),
              train_by(GradientExchange::host, "by the host"))
        << gpus;
    train_by(GradientExchange::automatic, "by NCCL");
  }
}

// A GPU that can't be reached shows after the call that put the exchange on the streams.
TEST_F(NcclExchange, FailsIfNcclFailsLater) {
  const auto backend = on_gpus(2, GradientExchange::gpus);
  Side side(*backend, network_, {.batch_size = kImages});
  const auto forward = [&] {
    side.runner->load(random_batch(network_, kImages, 1));
    side.runner->forward();
  };
  forward();
  side.runner->backward();
  break_nccl(true);
  EXPECT_THAT(error_of(forward).what(),
              HasSubstr("communication between GPUs failed: remote process exited"));
  EXPECT_THROW(forward(), DeviceError);
  EXPECT_THROW(side.runner->backward(), DeviceError) << "its communicators are gone";
}

// The host may wait for a GPU that waits for another one in any call that reads or writes.
TEST_F(NcclExchange, EndsEachWaitIfNcclFails) {
  const auto load = [this](Side& side) { side.runner->load(random_batch(network_, kImages, 1)); };
  const std::map<std::string, std::function<void(Side&)>> waits = {
      {"forward", [&](Side& side) { side.runner->forward(); }},
      {"load, when both slots are in use",
       [&](Side& side) {
         for (int batch = 0; batch < 8; ++batch) load(side);
       }},
      {"output", [](Side& side) { side.runner->output(1); }},
      {"count_zeros", [](Side& side) { side.runner->count_zeros(1); }},
      {"read", [](Side& side) { side.variables->read(0, Slot::value); }},
      {"write",
       [](Side& side) {
         side.variables->write(0, std::vector<float>(side.variables->specs()[0].size()),
                               Slot::value);
       }},
      {"gradient_norms", [](Side& side) { side.variables->gradient_norms(); }},
      {"half_squared_norm", [](Side& side) { side.variables->half_squared_norm(); }},
  };
  for (const auto& [name, wait] : waits) {
    SCOPED_TRACE(name);
    const auto backend = on_gpus(2, GradientExchange::gpus);
    Side side(*backend, network_, {.batch_size = kImages});
    const auto train = [&] {
      side.runner->backward();
      side.variables->process_gradients({.clip_global_norm = 1});
    };
    load(side);
    side.runner->forward();
    train();
    load(side);
    side.runner->forward();
    break_nccl(true);
    train();
    EXPECT_THROW(wait(side), DeviceError);
    break_nccl(false);
  }
}

}  // namespace
}  // namespace recordpipe
