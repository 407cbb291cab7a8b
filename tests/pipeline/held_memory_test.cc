// Compares Iterator::memory() with the heap: the reported memory is the memory that is in use.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <malloc.h>

#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

class HeldMemory : public testing::TestWithParam<std::pair<size_t, size_t>> {
 protected:
  void SetUp() override {
#ifdef RECORDPIPE_SANITIZED
    GTEST_SKIP() << "sanitizers have a heap of their own";
#endif
    const auto [smallest, largest] = GetParam();
    for (int file = 0; file < 4; ++file) {
      paths_.push_back(directory_ / (std::to_string(file) + ".tfrecords.gz"));
      RecordWriter writer(posix_file_system(), paths_.back(), {.compression = Compression::gzip});
      for (size_t i = 0; i < kHeld / (largest + smallest); ++i) {
        const size_t size = smallest + i * 7919 % (largest - smallest + 1);
        writer.write(as_bytes(std::string(size, static_cast<char>('a' + i % 26))));
      }
      writer.close();
    }
  }

  static uint64_t heap() {
    const auto info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
  }

  template <class T>
  void expect_counted(const Dataset<T>& dataset) {
    for (const size_t threads : {1, 2}) {
      const uint64_t before = heap();
      auto iterator = dataset.with_options({.threads = threads}).iterate();
      // After that many elements, the buffer holds elements of all ages.
      for (size_t i = 0; i < 3 * buffer(); ++i) ASSERT_TRUE(iterator.next());
      const uint64_t held = heap() - before;
      EXPECT_GE(held, buffer() * GetParam().first);
      EXPECT_LE(static_cast<double>(held), 1.3 * static_cast<double>(iterator.memory().bytes));
      EXPECT_GE(static_cast<double>(held), static_cast<double>(iterator.memory().bytes) / 1.3);
    }
  }

  size_t buffer() const { return kHeld / (GetParam().first + GetParam().second); }

  static constexpr size_t kHeld = 4'000'000;  // twice the size of the buffer's content
  const TemporaryDirectory directory_;
  std::vector<std::string> paths_;
};

INSTANTIATE_TEST_SUITE_P(RecordSizes, HeldMemory,
                         testing::Values(std::pair(20, 20), std::pair(100, 140),
                                         std::pair(300, 300), std::pair(20, 1500),
                                         std::pair(900, 1100), std::pair(3000, 3000)),
                         [](const auto& sizes) {
                           return std::to_string(sizes.param.first) + "To" +
                                  std::to_string(sizes.param.second);
                         });

TEST_P(HeldMemory, OfShuffledStreams) {
  expect_counted(tfrecord_files(paths_).shuffle(buffer(), 7).repeat());
}

TEST_P(HeldMemory, OfInterleavedAndShuffledStreams) {
  const auto open = [](const std::string& path) { return tfrecord_files({path}); };
  expect_counted(from_vector(paths_).interleave(open, 4).shuffle(buffer(), 7).repeat());
}

}  // namespace
}  // namespace recordpipe
