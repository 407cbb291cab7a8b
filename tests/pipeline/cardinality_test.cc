// Tests Dataset::cardinality(). random_chains_test.cc compares it with the elements of all
// operators.
#include "recordpipe/pipeline/cardinality.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_generator.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/range.h"
#include "recordpipe/pipeline/sample_from_datasets.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/pipeline/zip.h"
#include "recordpipe/record/record_writer.h"
#include "tests/pipeline/collect.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

TEST(Cardinality, IsKnownThroughOperatorsThatOrder) {
  const auto twice = [](int64_t x) { return 2 * x; };
  const auto epochs = range(0, 1000).map(twice).cache().shuffle(100, 1).repeat(3);
  EXPECT_EQ(epochs.cardinality(), 3000);
  EXPECT_EQ(epochs.shard(4, 3).batch(256).prefetch().cardinality(), 3);
  EXPECT_EQ(epochs.shard(4, 3).batch(256, DropRemainder::yes).cardinality(), 2);
  EXPECT_EQ(range(0, 10).global_shuffle(1).enumerate().skip(7).cardinality(), 3);
  EXPECT_EQ(range(0, 10).skip(70).cardinality(), 0);
}

TEST(Cardinality, OfAWindowCountsItsStarts) {
  for (int64_t n = 0; n < 12; ++n) {
    for (const size_t shift : {1, 2, 3, 5}) {
      for (const auto remainder : {DropRemainder::no, DropRemainder::yes}) {
        const auto windows = range(0, n).window(3, shift, remainder);
        EXPECT_EQ(windows.cardinality(), static_cast<int64_t>(collect(windows).size()))
            << n << " elements, shift " << shift;
      }
    }
  }
}

TEST(Cardinality, OfSeveralInputs) {
  const auto ten = range(0, 10);
  const auto forever = range(0, 5).repeat();
  EXPECT_EQ(ten.concatenate(ten).cardinality(), 20);
  EXPECT_EQ(ten.concatenate(forever).cardinality(), kInfiniteCardinality);
  const auto some = ten.filter([](int64_t x) { return x > 3; });
  EXPECT_EQ(some.concatenate(forever).cardinality(), kInfiniteCardinality);
  EXPECT_EQ(some.concatenate(ten).cardinality(), kUnknownCardinality);
  EXPECT_EQ(some.repeat().cardinality(), kUnknownCardinality);
  EXPECT_EQ(zip(ten, range(0, 3), forever).cardinality(), 3);
  EXPECT_EQ(zip(forever, forever).cardinality(), kInfiniteCardinality);
  EXPECT_EQ(sample_from_datasets<int64_t>({ten, forever}, {1, 0}, 1).cardinality(), 10);
  EXPECT_EQ(sample_from_datasets<int64_t>({ten, ten}, {}, 1).cardinality(), 20);
  EXPECT_EQ(sample_from_datasets<int64_t>({ten, ten}, {}, 1, StopOnEmptyDataset::yes).cardinality(),
            kUnknownCardinality);
}

TEST(Cardinality, OfARepeatWithoutEnd) {
  EXPECT_EQ(range(0, 5).repeat().cardinality(), kInfiniteCardinality);
  EXPECT_EQ(range(0, 5).repeat().batch(4).skip(9).cardinality(), kInfiniteCardinality);
  EXPECT_EQ(range(0, 5).repeat().take(7).cardinality(), 7);
  EXPECT_EQ(range(0, 0).repeat().cardinality(), 0);
  EXPECT_EQ(range(0, 5).repeat(0).cardinality(), 0);
}

TEST(Cardinality, IsUnknownWhereElementsMustBeComputed) {
  const auto ten = range(0, 10);
  EXPECT_EQ(ten.filter([](int64_t x) { return x > 3; }).cardinality(), kUnknownCardinality);
  EXPECT_EQ(ten.batch(3).unbatch().cardinality(), kUnknownCardinality);
  EXPECT_EQ(ten.ignore_errors().batch(2).cardinality(), kUnknownCardinality);
  EXPECT_EQ(ten.flat_map([](int64_t x) {
                 return std::vector{x, x};
               })
                .take(3)
                .cardinality(),
            kUnknownCardinality);
  EXPECT_EQ(ten.interleave([](int64_t x) { return range(0, x); }, 2).cardinality(),
            kUnknownCardinality);
  EXPECT_EQ(ten.batch(3).unbatch().take(0).cardinality(), 0);
}

TEST(Cardinality, BeyondInt64IsUnknown) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(range(0, kMax).cardinality(), kMax);
  EXPECT_EQ(range(kMin, kMax).cardinality(), kUnknownCardinality);
  EXPECT_EQ(range(0, kMax).concatenate(range(0, 1)).cardinality(), kUnknownCardinality);
  EXPECT_EQ(range(0, 10).repeat(kMax).cardinality(), kUnknownCardinality);
}

TEST(Cardinality, OfFilesCountsTheirRecords) {
  const TemporaryDirectory directory;
  const auto write = [&](const std::string& name, int records, Compression compression) {
    RecordWriter writer(posix_file_system(), directory / name, {.compression = compression});
    for (int i = 0; i < records; ++i) writer.write(as_bytes("record"));
    writer.close();
  };
  write("train-0", 100, Compression::none);
  write("train-1", 23, Compression::none);
  write("compressed", 7, Compression::gzip);
  EXPECT_EQ(tfrecord_files({directory / "train-*"}).batch(10).cardinality(), 13);
  EXPECT_EQ(tfrecord_files({directory / "train-0", directory / "compressed"}).cardinality(),
            kUnknownCardinality);
  const auto missing = tfrecord_files({directory / "missing"});
  EXPECT_EQ(error_of([&] { missing.cardinality(); }).kind(), ErrorKind::not_found);
  EXPECT_EQ(missing.take(0).cardinality(), 0);
  EXPECT_EQ(missing.repeat(0).cardinality(), 0);
  std::filesystem::resize_file(directory / "train-1", 100);
  EXPECT_EQ(tfrecord_files({directory / "train-1"}).cardinality(), kUnknownCardinality);
  std::filesystem::create_directory(directory / "folder");
  std::filesystem::rename(directory / "train-0", directory / "folder/train.tfrecord");
  EXPECT_EQ(tfrecord_files({directory / "folder"}).cardinality(), 100);
}

}  // namespace
}  // namespace recordpipe
