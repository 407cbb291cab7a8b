// Tests the memory limit: memory is counted, bounded and reported; the limit changes no element.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/pipeline/execute/memory_account.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/range.h"
#include "recordpipe/pipeline/zip.h"
#include "tests/pipeline/collect.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using internal::MemoryAccount;
using internal::MemoryCharge;

constexpr uint64_t kMiB = 1 << 20;

// Yields elements of about one MiB each.
Dataset<std::string> large(int count) {
  return from_vector(numbers(count)).map([](int x) {
    return std::string(kMiB, static_cast<char>('a' + x % 26));
  });
}

template <class T>
MemoryUse use_after_all(const Dataset<T>& dataset) {
  auto iterator = dataset.iterate();
  while (iterator.next()) {
  }
  return iterator.memory();
}

ErrorKind kind_of_error(const auto& dataset) {
  try {
    use_after_all(dataset);
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("memory_limit="), std::string::npos) << error.what();
    return error.kind();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(MemoryLimit, IsReadBack) {
  const auto dataset = large(3).with_options({.chunk_size = 1, .memory_limit = 50 * kMiB});
  EXPECT_EQ(use_after_all(dataset).limit, 50 * kMiB);
  EXPECT_EQ(use_after_all(large(3)).limit, UINT64_MAX);
}

TEST(MemoryLimit, CountsWhatIsHeld) {
  // At the end, up to 20 elements in the prefetch buffer and a few in chunks may still be counted.
  auto iterator = large(50).prefetch(20).with_options({.threads = 1, .chunk_size = 1}).iterate();
  while (iterator.next()) {
  }
  EXPECT_GE(iterator.memory().peak, kMiB);
  EXPECT_LE(iterator.memory().bytes, 26 * kMiB);

  const auto cached = use_after_all(large(10).cache().with_options({.chunk_size = 1}));
  EXPECT_GE(cached.bytes, 10 * kMiB);
  const auto shuffled = use_after_all(from_vector(numbers(100'000)).shuffle(50'000, 1));
  EXPECT_GE(shuffled.peak, 50'000 * 32);
}

// The memory that a shuffle's tickets refer to is counted in addition to 32 bytes per element.
TEST(MemoryLimit, CountsWhatTicketsStandFor) {
  constexpr uint64_t kBuffer = 50'000;
  const auto source = from_vector(numbers(80'000));
  const auto peak_of = [](const auto& dataset) {
    return use_after_all(dataset.shuffle(kBuffer, 1).with_options({.threads = 1})).peak;
  };
  const uint64_t plain = peak_of(source);
  EXPECT_GE(peak_of(source.concatenate(source)), plain + 16 * kBuffer);
  EXPECT_GE(peak_of(source.enumerate()), plain + 16 * kBuffer);
  EXPECT_GE(peak_of(zip(source, source)), plain + 48 * kBuffer);
  const auto places = zip(source.shuffle(kBuffer, 1), source).with_options({.threads = 1});
  EXPECT_GE(use_after_all(places).peak, plain + 8 * kBuffer) << "the state of the shuffle is kept";
  const TemporaryDirectory directory;
  const auto cached = large(20).cache(directory.path() + "/cache").shuffle(20, 1);
  EXPECT_GE(use_after_all(cached.with_options({.chunk_size = 1})).peak, 20 * kMiB);
}

// Elements that are inside the elements of any operator are counted.
TEST(MemoryLimit, SeesElementsInsideOthers) {
  const PipelineOptions options{.threads = 1, .chunk_size = 1};
  const auto held = [&](const auto& dataset) {
    auto iterator = dataset.with_options(options).iterate();
    while (iterator.next()) {
    }
    return iterator.memory().bytes;
  };
  EXPECT_GE(held(large(8).enumerate().cache()), 8 * kMiB);
  EXPECT_GE(held(zip(large(8), large(8)).cache()), 16 * kMiB);
  EXPECT_GE(held(large(8).map([](std::string s) { return std::optional(s); }).cache()), 8 * kMiB);
  const auto texts =
      large(8).map([](std::string s) { return std::vector<char>(s.begin(), s.end()); });
  EXPECT_GE(held(texts.padded_batch(2, 'x').cache()), 8 * kMiB);
  const auto windows = large(8).window(8).map([](const auto& window) { return window.size(); });
  EXPECT_GE(use_after_all(windows).peak, 24 * kMiB) << "gathered and passed on";
  // An element is counted by the map that computes it and by the filter that tests it.
  EXPECT_GE(held(large(8).filter([](const std::string&) { return false; })), 2 * kMiB);
}

TEST(MemoryLimit, IsKept) {
  for (const size_t threads : {1, 4, 16}) {
    const auto dataset =
        large(200).shuffle(8, 1).map([](std::string s) { return s; }).prefetch(100);
    const PipelineOptions options{.threads = threads, .chunk_size = 1, .memory_limit = 12 * kMiB};
    auto iterator = dataset.with_options(options).iterate();
    iterator.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the prefetch buffer fills
    while (iterator.next()) {
    }
    // Elements are slightly larger than one MiB.
    EXPECT_LE(iterator.memory().peak, 13 * kMiB) << threads << " threads";
  }
}

// The prefetch buffer and the operators after it see the same room, and both take it.
TEST(MemoryLimit, MayBeExceededByAChunk) {
  for (const size_t threads : {1, 2, 16}) {
    const auto dataset = large(200).prefetch(100).map([](std::string s) { return s; });
    const PipelineOptions options{
        .threads = threads, .chunk_size = 1, .memory_limit = 7 * kMiB / 2};
    auto iterator = dataset.with_options(options).iterate();
    int count = 0;
    while (iterator.next()) ++count;
    EXPECT_EQ(count, 200) << threads << " threads";
  }
}

TEST(MemoryLimit, IsWhatKeepsPrefetchShort) {
  auto iterator = large(60).prefetch(40).with_options({.threads = 2, .chunk_size = 1}).iterate();
  iterator.next();
  for (int tries = 0; iterator.memory().bytes < 40 * kMiB && tries < 10'000; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GE(iterator.memory().bytes, 40 * kMiB);
}

TEST(MemoryLimit, ChangesNoElement) {
  const auto sizes = [](int x) { return std::string(static_cast<size_t>(x % 97) * 1000, 'x'); };
  const auto dataset = from_vector(numbers(2000)).shuffle(64, 3).map(sizes).batch(7).prefetch();
  const auto expected = collect(dataset.with_options({.threads = 1}));
  for (const uint64_t limit : {12 * kMiB, 20 * kMiB, 100 * kMiB}) {
    for (const size_t threads : {0, 2, 5}) {
      EXPECT_EQ(collect(dataset.with_options({.threads = threads, .memory_limit = limit})),
                expected);
    }
  }
}

TEST(MemoryLimit, WhatCannotFitIsAnError) {
  const PipelineOptions options{.threads = 2, .chunk_size = 1, .memory_limit = kMiB / 2};
  EXPECT_EQ(kind_of_error(large(500).with_options(options)), ErrorKind::limit_exceeded);
  EXPECT_EQ(kind_of_error(large(500).prefetch(3).with_options(options)), ErrorKind::limit_exceeded);
  EXPECT_EQ(kind_of_error(large(1).with_options(options)), ErrorKind::limit_exceeded);
  EXPECT_EQ(kind_of_error(large(3).cache().with_options(options)), ErrorKind::limit_exceeded);
  EXPECT_EQ(kind_of_error(from_vector(numbers(100'000)).shuffle(90'000, 1).with_options(options)),
            ErrorKind::limit_exceeded);
}

// The peak does not depend on the length of the dataset.
TEST(MemoryLimit, IsNeverPassedTwice) {
  const PipelineOptions options{.threads = 2, .chunk_size = 1, .memory_limit = 10 * kMiB};
  const auto gathering = large(60).prefetch(2).shuffle(40, 1).with_options(options);
  auto iterator = gathering.iterate();
  EXPECT_THROW(
      {
        while (iterator.next()) {
        }
      },
      MemoryLimitExceeded);
  EXPECT_LE(iterator.memory().peak, 25 * kMiB);
}

// The error belongs to the whole pipeline, not to an input or an element.
TEST(MemoryLimit, ItsErrorIsNoneToIgnore) {
  const auto shuffled =
      from_vector(numbers(10)).interleave([](int) { return range(100'000).shuffle(50'000, 1); }, 2);
  for (const size_t threads : {1, 2}) {
    const PipelineOptions options{.threads = threads, .memory_limit = kMiB};
    EXPECT_EQ(kind_of_error(shuffled.with_options(options)), ErrorKind::limit_exceeded);
    EXPECT_EQ(kind_of_error(shuffled.ignore_errors().with_options(options)),
              ErrorKind::limit_exceeded);
    EXPECT_EQ(kind_of_error(shuffled.shuffle(7, 1).skip(3).ignore_errors().with_options(options)),
              ErrorKind::limit_exceeded);
  }
}

// The shuffle first yields the elements it has, then requests the rest again.
TEST(MemoryLimit, WhatACacheCannotHoldIsAnErrorBehindAShuffleToo) {
  const auto cached = large(8).cache().shuffle(3, 1);
  const PipelineOptions options{.threads = 1, .chunk_size = 4, .memory_limit = 6 * kMiB};
  EXPECT_EQ(kind_of_error(cached.with_options(options)), ErrorKind::limit_exceeded);
}

TEST(MemoryAccount, IsEmptyWhenAllIsGivenBack) {
  const auto account = std::make_shared<MemoryAccount>(100);
  {
    MemoryCharge first(account), second;
    first.set(70);
    second.set(40);
    EXPECT_EQ(account->use().bytes, 70u);
    second.open(account);
    EXPECT_EQ(account->use().bytes, 110u);
    EXPECT_FALSE(account->has_room_for(0));
    first.set(50);
    EXPECT_TRUE(account->has_room_for(10));
    EXPECT_FALSE(account->has_room_for(11));
    EXPECT_FALSE(account->has_room_for(UINT64_MAX));
  }
  EXPECT_EQ(account->use().bytes, 0u);
  EXPECT_EQ(account->use().peak, 110u);
}

}  // namespace
}  // namespace recordpipe
