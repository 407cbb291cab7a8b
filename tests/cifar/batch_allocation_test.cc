// Tests that CIFAR-10's pipeline allocates no memory per batch in the steady state, for any order
// and element type.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/cifar/cifar10_dataset.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

constexpr int kRecords = 700;
constexpr int kWarmUp = 400;  // batches; a few epochs and some saved states
constexpr size_t kSteady = 200;

class SteadyBatches : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    RecordWriter writer(posix_file_system(), path_);
    for (int i = 0; i < kRecords; ++i) {
      const std::vector<uint8_t> pixels(3072, static_cast<uint8_t>(i));
      writer.write(as_bytes(ExampleBuilder()
                                .set_bytes("image", std::as_bytes(std::span(pixels)))
                                .set_int64("label", i % 10)
                                .serialize()));
    }
    writer.close();
  }

  void expect_no_allocation(Cifar10Options options) const {
    options.epochs = -1;
    options.distort = true;
    options.threads = GetParam();
    for (const DType dtype : {DType::float32, DType::uint8}) {
      options.dtype = dtype;
      Iterator<ImageBatch> iterator = cifar10_batches({path_}, options).iterate();
      for (int i = 0; i < kWarmUp; ++i) iterator.next();
      EXPECT_TRUE(comes_to_take_no_memory(kSteady, [&] { iterator.next(); })) << to_string(dtype);
    }
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "a.tfrecords";
};

INSTANTIATE_TEST_SUITE_P(Threads, SteadyBatches, testing::Values(1, 2, 4));

TEST_P(SteadyBatches, FromABufferedShuffle) {
  expect_no_allocation({.batch_size = 32, .shuffle_buffer = 300, .prefetch = 0});
  expect_no_allocation({.batch_size = 32, .shuffle_buffer = 300, .prefetch = 2});
}

TEST_P(SteadyBatches, FromAGlobalShuffle) {
  expect_no_allocation({.batch_size = 32, .global_shuffle = true, .prefetch = 2});
}

TEST_P(SteadyBatches, OfAShard) {
  expect_no_allocation(
      {.batch_size = 32, .shuffle_buffer = 300, .num_shards = 2, .shard_index = 1, .prefetch = 2});
}

}  // namespace
}  // namespace recordpipe
