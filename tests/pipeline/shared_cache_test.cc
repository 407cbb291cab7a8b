// Tests that the cache in memory belongs to the dataset: all iterators share it, and it is filled
// once.
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/pipeline/zip.h"
#include "recordpipe/record/record_writer.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/resume.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

class SharedCache : public ::testing::Test {
 protected:
  // One thread computes chunks of 8 elements, each only when the chunk is needed.
  Dataset<int> counted(int n = 100) {
    return from_vector(numbers(n))
        .map([this](int x) {
          ++computed_;
          if (x == 70) throw Error({.kind = ErrorKind::corrupted, .reason = "seventy"});
          return x;
        })
        .with_options({.threads = 1, .chunk_size = 8});
  }

  std::string path(const std::string& name) const { return directory_.path() + "/" + name; }
  void write(const std::string& name, const std::string& text, int records = 50) const {
    RecordWriter writer(posix_file_system(), path(name));
    for (int i = 0; i < records; ++i) writer.write(as_bytes(text + std::to_string(i)));
    writer.close();
  }

  TemporaryDirectory directory_;
  std::atomic<int> computed_ = 0;
};

TEST_F(SharedCache, IsFilledOnceWhateverIteratesOverIt) {
  const auto cached = counted().cache();
  const auto expected = collect(counted().ignore_errors());
  computed_ = 0;
  for (int pass = 0; pass < 3; ++pass) EXPECT_TRUE(collect(cached.ignore_errors()) == expected);
  const auto doubled = cached.map([](int x) { return 2 * x; });
  EXPECT_EQ(collect(doubled.ignore_errors()).back(), 198);
  EXPECT_EQ(collect(cached.shuffle(20, 1).ignore_errors().repeat(2)).size(), 198u);
  EXPECT_EQ(collect(zip(cached, doubled).ignore_errors()).size(), 99u);
  EXPECT_EQ(computed_, 100) << "the failing element is kept too";
}

TEST_F(SharedCache, AnIteratorGoesOnBehindWhatOthersHaveComputed) {
  const auto cached = counted(64).cache();
  for (int epoch = 0; epoch < 3; ++epoch) {
    auto iterator = cached.iterate();
    for (int i = 0; i < 40; ++i) ASSERT_EQ(*iterator.next(), i);
  }
  EXPECT_EQ(computed_, 40);
  for (int epoch = 0; epoch < 3; ++epoch) {  // no iterator reads as far as the end
    auto iterator = cached.iterate();
    for (int i = 0; i < 64; ++i) ASSERT_EQ(*iterator.next(), i);
  }
  EXPECT_TRUE(collect(cached) == numbers(64));
  EXPECT_EQ(computed_, 64);
}

TEST_F(SharedCache, IteratorsAtTheSameTimeYieldTheSame) {
  const auto source = from_vector(numbers(3000)).shuffle(100, 1).map([this](int x) {
    ++computed_;
    return std::to_string(x);
  });
  const auto expected = collect(source.repeat(1).take(3000));
  const auto cached = source.cache();
  std::atomic<int> same = 0;
  {
    std::vector<std::jthread> readers;
    for (const size_t threads : {1, 2, 3, 4}) {
      readers.emplace_back([&, threads] {
        const auto mine = cached.with_options({.threads = threads, .chunk_size = 7 * threads});
        if (threads == 3) collect(mine.take(200));  // abandoned
        same += collect(mine) == expected && collect(mine) == expected;
      });
    }
  }
  EXPECT_EQ(same, 4);
  computed_ = 0;
  EXPECT_TRUE(collect(cached) == expected);
  EXPECT_EQ(computed_, 0);
}

TEST_F(SharedCache, ElementsMayPointIntoFilesOfAnIteratorThatIsGone) {
  write("plain", "record ");
  const auto records = tfrecord_files({path("plain")});
  const auto text = [](const Record& record) { return as_text(record.data); };
  const auto view = [](const Record& record) {
    return std::pair(record.data.data(), record.data.size());
  };
  const auto expected = collect(records.map(text));
  const auto cached = records.cache();
  const auto views = records.map(view).cache();
  const auto from_file = records.cache(path("cache")).filter([](const Record&) { return true; });
  collect(from_file);
  const auto cached_file = from_file.cache();
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_TRUE(collect(cached.map(text)) == expected);
    EXPECT_TRUE(collect(cached_file.map(text)) == expected);
    std::vector<std::string> seen;
    for (const auto& [data, size] : views) seen.push_back(as_text({data, size}));
    EXPECT_TRUE(seen == expected);
    for (const char* name : {"plain", "cache"}) posix_file_system().remove(path(name));
  }
}

TEST_F(SharedCache, AStateIsOfTheFilesThatFilledIt) {
  const auto text = [](const Record& record) { return as_text(record.data); };
  const auto make = [&] {
    return tfrecord_files({path("source")}).map(text).cache().shuffle(9, 1);
  };
  write("source", "old");
  const auto dataset = make();
  const auto expected = collect(dataset);
  write("source", "new");
  auto iterator = dataset.iterate();
  for (int i = 0; i < 20; ++i) ASSERT_EQ(*iterator.next(), expected[static_cast<size_t>(i)]);
  const std::string state_of_old = iterator.state();
  auto fresh = make().iterate();
  EXPECT_EQ(error_of([&] { fresh.restore(state_of_old); }).path(), path("source"));
  for (int i = 0; i < 20; ++i) fresh.next();
  const std::string state_of_new = fresh.state();
  auto cached = dataset.iterate();
  EXPECT_EQ(error_of([&] { cached.restore(state_of_new); }).path(), path("source"));

  // Resumes over the same elements: from the cache, and with a cache that must be filled first.
  cached.restore(state_of_old);
  const auto rest = rest_of(iterator);
  EXPECT_TRUE(rest_of(cached) == rest);
  write("source", "old");
  auto other_process = make().iterate();
  other_process.restore(state_of_old);
  EXPECT_TRUE(rest_of(other_process) == rest);
}

TEST_F(SharedCache, ResumesAnywhereWhoeverHasFilledIt) {
  const auto make = [&] {
    return from_vector(numbers(60))
        .map_with_random(1, [](int x, Random& random) { return x ^ static_cast<int>(random()); })
        .shuffle(20, 2)
        .cache()
        .shuffle(7, 3)
        .repeat(2);
  };
  const auto filled = make();
  expect_resumes_anywhere(filled, on_any_machine(filled), 3);
  const auto expected = collect(filled);
  for (const size_t at : {0, 5, 60, 119}) {
    auto saving = filled.iterate();
    for (size_t i = 0; i < at; ++i) saving.next();
    auto restored = make().iterate();  // its cache is empty
    restored.restore(saving.state());
    EXPECT_TRUE(rest_of(restored) ==
                std::vector(expected.begin() + static_cast<std::ptrdiff_t>(at), expected.end()));
  }
}

TEST_F(SharedCache, ItsLimitHoldsForAllIterators) {
  const auto lines = from_vector(numbers(100)).map([](int) { return std::string(1000, 'x'); });
  const auto cached = lines.cache({.max_bytes = 50'000});
  std::vector<std::pair<int, std::string>> ends;
  for (int pass = 0; pass < 3; ++pass) {
    auto iterator = cached.iterate();
    int delivered = 0;
    const Error error = error_of([&] {
      while (iterator.next()) ++delivered;
    });
    EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
    ends.emplace_back(delivered, error.reason());
  }
  EXPECT_GT(ends[0].first, 40);
  EXPECT_EQ(ends[1], ends[0]);
  EXPECT_EQ(ends[2], ends[0]);
}

TEST_F(SharedCache, EachIteratorCountsWhatItHasReached) {
  constexpr uint64_t kLarge = 1 << 20;
  const auto large = from_vector(numbers(10)).map([](int) { return std::string(kLarge, 'x'); });
  const auto end_of = [](const auto& dataset) {
    auto iterator = dataset.with_options({.chunk_size = 1, .memory_limit = 5 * kLarge}).iterate();
    int delivered = 0;
    const Error error = error_of([&] {
      while (iterator.next()) ++delivered;
    });
    EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
    return delivered;
  };
  const auto cached = large.cache().with_options({.threads = 1, .chunk_size = 1});
  const int delivered = end_of(cached);
  EXPECT_EQ(collect(cached).size(), 10u) << "another cache may hold more";
  EXPECT_EQ(end_of(cached), delivered) << "the same if it is already filled";
  auto iterator = cached.iterate();
  for (int i = 0; i < 3; ++i) iterator.next();
  EXPECT_GE(iterator.memory().bytes, 3 * kLarge);
  EXPECT_LT(iterator.memory().bytes, 8 * kLarge);
  while (iterator.next()) {
  }
  EXPECT_GE(iterator.memory().bytes, 10 * kLarge);
}

}  // namespace
}  // namespace recordpipe
