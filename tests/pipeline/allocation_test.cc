// Tests that a pipeline allocates no memory in the steady state, neither per record nor per batch.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/io/atomic_file.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

constexpr int kRecords = 5000;
constexpr int kWarmUp = 2000;  // batches; a few epochs and some saved states
constexpr size_t kSteady = 300;

struct Sum {
  uint64_t value = 0;
};

class SteadyState : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    RecordWriter writer(posix_file_system(), path_);
    for (int i = 0; i < kRecords; ++i) writer.write(as_bytes("record " + std::to_string(i)));
    writer.close();
  }

  template <class T>
  static void expect_no_allocation(const Dataset<T>& dataset) {
    Iterator<T> iterator = dataset.with_options({.threads = GetParam()}).iterate();
    for (int i = 0; i < kWarmUp; ++i) iterator.next();
    EXPECT_TRUE(comes_to_take_no_memory(kSteady, [&] { iterator.next(); }));
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "a.tfrecords";
};

INSTANTIATE_TEST_SUITE_P(Threads, SteadyState, testing::Values(1, 2, 4));

TEST_P(SteadyState, TakesNoMemory) {
  const auto records = tfrecord_files({path_});
  const auto sum = [](const Record& record, Random& random) {
    Sum out{random()};
    for (const std::byte b : record.data) out.value += static_cast<uint64_t>(b);
    return out;
  };
  const auto sums = records.shuffle(1000, 7).repeat().map_with_random(1, sum);
  expect_no_allocation(sums.batch(64));
  expect_no_allocation(sums.batch(8));
  expect_no_allocation(sums.batch(300).prefetch(3));
  expect_no_allocation(sums.filter([](const Sum& s) { return s.value % 2 == 0; }).batch(64));
}

// Each record of a stream is one allocation, because it owns its bytes. Discarding records adds no
// allocation per record.
TEST(Discarding, TakesNoMemoryForEachRecordOfAStream) {
  const TemporaryDirectory directory;
  const std::string path = directory / "a.tfrecords.gz";
  RecordWriter writer(posix_file_system(), path, {.compression = Compression::gzip});
  for (int i = 0; i < kRecords; ++i) writer.write(as_bytes("record " + std::to_string(i)));
  writer.close();
  auto iterator = tfrecord_files({path})
                      .shuffle(10, 1)
                      .skip(kRecords - 1)
                      .with_options({.threads = 1})
                      .iterate();
  const size_t before = allocations();
  iterator.next();
  EXPECT_LT(allocations() - before, kRecords * 3u / 2);
}

}  // namespace
}  // namespace recordpipe
