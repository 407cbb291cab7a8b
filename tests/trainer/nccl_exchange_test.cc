// Tests the calls of NCCL on emulated GPUs, with a library in place of NCCL's (fake_nccl.cc).
#include <memory>
#include <string>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/trainer/model/resnet.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/backend_comparison.h"
#include "tests/trainer/replica_training.h"
#include "tests/trainer/test_networks.h"
#include "trainer/backend/cuda/multi_gpu_backend.h"

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

}  // namespace
}  // namespace recordpipe
