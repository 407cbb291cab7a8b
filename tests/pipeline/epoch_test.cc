// Tests that a loop over epochs yields the elements of repeat, and that a saved state resumes in
// its epoch.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/philox.h"
#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_generator.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/sample_from_datasets.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/pipeline/zip.h"
#include "recordpipe/proto/iterator_state.pb.h"
#include "recordpipe/record/record_writer.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/resume.h"
#include "tests/pipeline/sealed_state.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;

constexpr uint64_t kEpochs = 3;

// Makes the random numbers of an element visible in the result, and thereby its id.
int crop(int value, Random& random) { return value ^ static_cast<int>(random.below(1 << 20)); }

template <class T>
std::vector<T> all_epochs(const Dataset<T>& dataset) {
  std::vector<T> out;
  for (uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (T& element : dataset.epoch(epoch)) out.push_back(std::move(element));
  }
  return out;
}

template <class T>
void expect_repeat(const Dataset<T>& dataset) {
  SCOPED_TRACE(dataset.explain());
  const std::vector<T> expected = collect(dataset.repeat(kEpochs));
  EXPECT_TRUE(all_epochs(dataset) == expected);
  EXPECT_TRUE(all_epochs(dataset.with_options({.threads = 3, .chunk_size = 7})) == expected);
  EXPECT_TRUE(all_epochs(dataset.prefetch(2)) == expected);
}

Dataset<int> crops(int n = 100) {
  return from_vector(numbers(n)).shuffle(30, 1).map_with_random(2, crop);
}

TEST(Epoch, ALoopYieldsWhatRepeatYields) {
  const auto drawn = [](const Dataset<int>& dataset) {
    expect_repeat(dataset.map_with_random(3, crop));
  };
  drawn(crops());
  drawn(from_vector(numbers(100)).global_shuffle(1));
  drawn(crops().concatenate(crops(20)));
  drawn(sample_from_datasets<int>({crops(), crops(50)}, {2, 1}, 4));
  drawn(crops().filter([](int x) { return x % 3 != 0; }).skip(3).take(40).shard(2, 1));
  drawn(crops().flat_map([](int x) { return std::vector(static_cast<size_t>(x) % 4, x); }));
  drawn(crops(20).interleave([](int x) { return crops(x % 9); }, 3, 2));
  drawn(crops(20).flat_map([](int x) { return crops(x % 9); }));
  drawn(crops().batch(8).unbatch().scan(
      0, [](int sum, int x) { return std::pair((sum + x) % 1000, (sum + x) % 1000); }));
  drawn(crops().cache().shuffle(20, 5));
  drawn(crops().repeat(2));
  drawn(crops().repeat(2).cache().repeat(2));
  drawn(crops(0));
  drawn(from_generator(
      [] { return [n = 0]() mutable { return n < 50 ? std::optional(n++) : std::nullopt; }; }));
  const auto bad = [](int x) {
    if (x % 5 == 1) throw Error({.kind = ErrorKind::corrupted, .reason = "bad"});
    return x;
  };
  drawn(crops().map(bad).shuffle(20, 6).ignore_errors({.max_count = 60}));
  expect_repeat(zip(crops(), from_vector(numbers(90)).map_with_random(2, crop), crops().repeat(2)));
  expect_repeat(crops().enumerate(5));
  expect_repeat(crops().window(7, 3));
  expect_repeat(crops().batch(8));
  expect_repeat(crops().batch(8, DropRemainder::yes));
}

TEST(Epoch, ALoopOverFilesYieldsWhatRepeatYields) {
  const TemporaryDirectory directory;
  std::vector<std::string> paths;
  for (const auto compression : {Compression::none, Compression::gzip}) {
    paths.push_back(directory.path() + "/" + std::string(to_string(compression)));
    RecordWriter writer(posix_file_system(), paths.back(), {.compression = compression});
    for (int i = 0; i < 60; ++i) writer.write(as_bytes(std::to_string(i)));
    writer.close();
  }
  const auto parse = [](const Record& record, Random& random) {
    return std::pair(as_text(record.data), random.next64());
  };
  const auto records = tfrecord_files(paths).shuffle(16, 7).map_with_random(8, parse);
  expect_repeat(records.batch(32));
  expect_repeat(from_vector(paths).interleave(
      [parse](const std::string& path) { return tfrecord_files({path}).map_with_random(8, parse); },
      2));
}

TEST(Epoch, IsZeroWhereNoneWasGiven) {
  const auto dataset = crops();
  const auto first = collect(dataset);
  EXPECT_TRUE(collect(dataset) == first) << "each range-for";
  EXPECT_TRUE(collect(dataset.epoch(0)) == first);
  EXPECT_FALSE(collect(dataset.epoch(1)) == first);
  EXPECT_EQ(dataset.iterate().epoch(), 0u);
}

TEST(Epoch, IsTheIterationsAndMayStandAnywhere) {
  const auto expected = collect(crops().batch(8).epoch(2));
  EXPECT_TRUE(collect(crops().epoch(2).batch(8)) == expected);
  EXPECT_TRUE(collect(crops().epoch(5).batch(8).epoch(2)) == expected) << "the last one counts";
  EXPECT_TRUE(collect(crops().epoch(2).with_options({.threads = 1}).batch(8)) == expected);
  auto given = crops().batch(8).epoch(5).iterate({.epoch = 2});
  EXPECT_EQ(given.epoch(), 2u);
  EXPECT_TRUE(rest_of(given) == expected);
  auto dataset_own = crops().batch(8).epoch(2).iterate();
  EXPECT_EQ(dataset_own.epoch(), 2u);
  EXPECT_TRUE(rest_of(dataset_own) == expected);
  EXPECT_EQ(crops().epoch(2).explain(), crops().explain());

  // If several datasets are combined, the epoch of the first one applies.
  EXPECT_TRUE(collect(crops().epoch(2).concatenate(crops().epoch(9))) ==
              collect(crops().concatenate(crops()).epoch(2)));
  EXPECT_TRUE(collect(zip(crops().epoch(2), crops().epoch(9))) ==
              collect(zip(crops(), crops()).epoch(2)));
  EXPECT_TRUE(collect(sample_from_datasets<int>({crops().epoch(2), crops().epoch(9)}, {}, 1)) ==
              collect(sample_from_datasets<int>({crops(), crops()}, {}, 1).epoch(2)));
  EXPECT_TRUE(collect(crops(9).interleave([](int) { return crops(3).epoch(9); }, 2)) ==
              collect(crops(9).interleave([](int) { return crops(3); }, 2)));
}

TEST(Epoch, APassThatRepeatsDrawsWhatNoOtherEpochDraws) {
  const auto repeated = crops().repeat(2);
  EXPECT_TRUE(collect(repeated) == collect(crops().repeat(2).epoch(0)));
  const std::vector<int> second = collect(repeated.epoch(1));
  const std::vector<int> passes[] = {{second.begin(), second.begin() + 100},
                                     {second.begin() + 100, second.end()}};
  EXPECT_FALSE(passes[0] == passes[1]);
  for (uint64_t epoch = 0; epoch < 5; ++epoch) {
    const auto plain = collect(crops().epoch(epoch));
    EXPECT_FALSE(plain == passes[0]) << epoch;
    EXPECT_FALSE(plain == passes[1]) << epoch;
  }
  EXPECT_TRUE(passes[1] == collect(crops().epoch(internal::nested_epoch(1, 1))));
}

TEST(Epoch, AStateGoesOnInItsEpoch) {
  const auto batches = crops().cache().shuffle(9, 3).repeat(2).map_with_random(4, crop).batch(8);
  const auto machines = on_any_machine(batches);
  std::vector<Dataset<std::vector<int>>> others;  // datasets for other epochs
  for (uint64_t epoch = 0; epoch < machines.size(); ++epoch) {
    others.push_back(machines[epoch].epoch(epoch));
  }
  expect_resumes_anywhere(batches.epoch(2), others);
  expect_resumes_anywhere(batches, others);

  auto saving = batches.iterate({.epoch = UINT64_MAX});
  for (int i = 0; i < 11; ++i) saving.next();
  auto restored = batches.iterate({.epoch = 3});
  restored.restore(saving.state());
  EXPECT_EQ(restored.epoch(), UINT64_MAX);
  restored.restore(restored.state());
  EXPECT_EQ(restored.position(), 11u);
  EXPECT_TRUE(rest_of(restored) == rest_of(saving));
}

TEST(Epoch, AStateThatIsRefusedLeavesTheIteratorInItsOwn) {
  const auto dataset = crops().repeat(2).filter([](int x) { return x % 2 == 0; });
  const auto expected = collect(dataset.epoch(4));
  auto iterator = dataset.iterate({.epoch = 4});
  proto::IteratorState far;
  far.ParseFromString(dataset.iterate({.epoch = 1}).state());
  far.mutable_place()->set_passed_over(100'000);
  EXPECT_EQ(error_of([&] { iterator.restore(sealed(far)); }).kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(iterator.epoch(), 4u);
  EXPECT_TRUE(rest_of(iterator) == expected);
}

TEST(Epoch, AStateWithoutOneIsRefusedByItsVersion) {
  const auto dataset = crops();
  proto::IteratorState state;
  state.ParseFromString(dataset.iterate().state());
  EXPECT_EQ(state.version(), 4u);
  state.set_version(3);
  auto iterator = dataset.iterate();
  const Error older = error_of([&] { iterator.restore(sealed(state)); });
  EXPECT_EQ(older.kind(), ErrorKind::invalid_argument);
  EXPECT_THAT(older.reason(), HasSubstr("version 3"));
  EXPECT_THAT(older.hint(), HasSubstr("start a new pass"));
  state.set_version(5);
  const Error newer = error_of([&] { iterator.restore(sealed(state)); });
  EXPECT_THAT(newer.reason(), HasSubstr("version 5"));
  EXPECT_THAT(newer.hint(), HasSubstr("newer"));
}

}  // namespace
}  // namespace recordpipe
