// Tests that an iterator can be stopped at any moment: all threads are joined, in bounded time.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_generator.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/range.h"
#include "recordpipe/pipeline/sample_from_datasets.h"
#include "recordpipe/pipeline/zip.h"
#include "tests/pipeline/collect.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

// Returns slow work that counts its concurrent calls.
auto counted_by(std::atomic<int>& running) {
  return [&running](int x) {
    ++running;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    --running;
    return x;
  };
}

TEST(Lifecycle, IteratorsMayBeDroppedAtAnyElement) {
  std::atomic<int> running = 0;
  const auto work = counted_by(running);
  for (const size_t threads : {1, 2, 4}) {
    const auto dataset = from_vector(numbers(200))
                             .map(work)
                             .filter([](int x) { return x % 5 != 0; })
                             .shuffle(20, 1)
                             .batch(4)
                             .prefetch(3)
                             .with_options({.threads = threads, .chunk_size = 5});
    for (int stop_after = 0; stop_after < 12; ++stop_after) {
      auto iterator = dataset.iterate();
      for (int i = 0; i < stop_after; ++i) ASSERT_NE(iterator.next(), nullptr);
      { const auto dropped = std::move(iterator); }
      EXPECT_EQ(running, 0) << "work continues after the iterator is destroyed";
    }
  }
}

// The rest is equal wherever the stop comes: before the first element, in an element, after the
// last.
TEST(Lifecycle, AStoppedIteratorGoesOnWhereItWas) {
  for (const size_t threads : {1, 3}) {
    const auto dataset = from_vector(numbers(60))
                             .filter([](int x) { return x % 3 != 0; })
                             .shuffle(10, 1)
                             .batch(4)
                             .prefetch(2)
                             .with_options({.threads = threads, .chunk_size = 5});
    const auto whole = collect(dataset);
    for (size_t taken = 0; taken <= whole.size(); ++taken) {
      auto iterator = dataset.iterate();
      for (size_t i = 0; i < taken; ++i) ASSERT_NE(iterator.next(), nullptr);
      iterator.request_stop();
      for (int twice = 0; twice < 2; ++twice) {
        EXPECT_EQ(error_of([&] { iterator.next(); }).kind(), ErrorKind::cancelled);
      }
      EXPECT_EQ(iterator.position(), taken);
      iterator.restore(iterator.state());
      for (size_t i = taken; i < whole.size(); ++i) EXPECT_EQ(*iterator.next(), whole[i]);
      EXPECT_EQ(iterator.next(), nullptr);
    }
  }
}

TEST(Lifecycle, AStopEndsAWaitOfAnyLength) {
  for (const bool prefetched : {false, true}) {
    std::atomic<int64_t> seen = 0;
    const auto none = range(INT64_MAX).filter([&seen](int64_t) {
      ++seen;
      return false;
    });
    auto iterator = (prefetched ? none.prefetch(1) : none).iterate();
    const std::jthread stopper([&] {
      while (seen < 1000) std::this_thread::yield();
      iterator.request_stop();
    });
    EXPECT_EQ(error_of([&] { iterator.next(); }).kind(), ErrorKind::cancelled);
  }
}

// A scan whose state can't be copied as bytes computes all elements again.
TEST(Lifecycle, AStopEndsTheWayToASavedPosition) {
  std::atomic<int> seen = 0;
  std::atomic<bool> is_restoring = false;
  std::binary_semaphore reached(0), stopped(0);
  const auto scanned = from_vector(numbers(400)).scan(std::string(), [&](std::string text, int x) {
    ++seen;
    if (x == 20 && is_restoring.exchange(false)) {
      reached.release();
      stopped.acquire();
    }
    text.assign(100, 'x');  // longer than what a string holds itself
    return std::pair(text, x);
  });
  auto iterator = scanned.with_options({.chunk_size = 5}).iterate();
  for (int i = 0; i < 300; ++i) ASSERT_NE(iterator.next(), nullptr);
  const std::string state = iterator.state();
  seen = 0;
  is_restoring = true;
  std::jthread stopper([&] {
    reached.acquire();
    iterator.request_stop();
    stopped.release();
  });
  EXPECT_EQ(error_of([&] { iterator.restore(state); }).kind(), ErrorKind::cancelled);
  stopper.join();
  EXPECT_LT(seen, 300);
  EXPECT_EQ(*iterator.next(), 0);  // its epoch has started again
  iterator.restore(state);
  EXPECT_EQ(*iterator.next(), 300);
}

// The stop comes before a restore() begins, while it begins, which undoes the stop, or later: which
// of them in how many rounds is the machine's affair.
TEST(Lifecycle, AStopWhileARestoreBeginsIsNoFailureOfIt) {
  const auto filtered = from_vector(numbers(200)).filter([](int x) { return x % 3 != 0; });
  auto iterator = filtered.with_options({.threads = 1, .chunk_size = 64}).iterate();
  for (int i = 0; i < 30; ++i) ASSERT_NE(iterator.next(), nullptr);
  const std::string state = iterator.state();
  constexpr int kRounds = 10000;
  const auto spin = [](int times) {
    for (std::atomic<int> left = times; left > 0;) --left;
  };
  std::atomic<int> begun = 0;
  std::atomic<int> stopped = 0;
  const std::jthread stopper([&] {
    for (int round = 1; round <= kRounds; ++round) {
      while (begun < round) std::this_thread::yield();
      spin(round % 400 * 4);
      iterator.request_stop();
      stopped = round;
    }
  });
  for (int round = 1; round <= kRounds; ++round) {
    begun = round;
    spin(400);
    try {
      iterator.restore(state);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::cancelled) << error.what();
    }
    while (stopped < round) std::this_thread::yield();
  }
  iterator.restore(state);
  EXPECT_EQ(*iterator.next(), 46);
}

TEST(Lifecycle, AnElementCanBeTakenBack) {
  for (const size_t threads : {1, 3}) {
    const auto dataset =
        from_vector(numbers(20)).filter([](int x) { return x % 2 == 0; }).prefetch();
    auto iterator = dataset.with_options({.threads = threads, .chunk_size = 3}).iterate();
    EXPECT_EQ(error_of([&] { iterator.unread(); }).kind(), ErrorKind::invalid_argument);
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(*iterator.next(), 2 * i);
      iterator.unread();
      EXPECT_EQ(iterator.position(), static_cast<uint64_t>(i));
      EXPECT_EQ(error_of([&] { iterator.unread(); }).kind(), ErrorKind::invalid_argument);
      if (i % 4 == 3) iterator.restore(iterator.state());
      EXPECT_EQ(*iterator.next(), 2 * i);
      EXPECT_EQ(iterator.position(), static_cast<uint64_t>(i + 1));
    }
    EXPECT_EQ(iterator.next(), nullptr);
    EXPECT_EQ(error_of([&] { iterator.unread(); }).kind(), ErrorKind::invalid_argument);
  }
}

// Yields work(0), work(1), ...
Dataset<int> generated(std::function<int(int)> work, int count) {
  return from_generator([work, count] {
    return [work, count, next = 0]() mutable {
      return next < count ? std::optional<int>(work(next++)) : std::nullopt;
    };
  });
}

// Combines all operators that iterate over their input themselves or have several inputs; about 290
// elements.
Dataset<int> everything_that_sees_values(std::function<int(int)> work, const std::string& cache) {
  const auto first =
      from_vector(numbers(30)).map(work).concatenate(generated(work, 20).shard(2, 1));
  const auto sampled = sample_from_datasets<int>(
      {first.filter([work](int x) { return work(x) >= 0; }), generated(work, 20)}, {2, 1}, 7);
  return zip(sampled, from_vector(numbers(60)).map(work).prefetch(2))
      .map([](const std::tuple<int, int>& both) { return std::get<1>(both); })
      .flat_map([work](int x) { return std::vector<int>(2, work(x)); })
      .scan(0, [work](int sum, int x) { return std::pair(sum + x, work(x)); })
      .filter([work](int x) { return work(x) % 5 != 0; })
      .interleave(
          [work](int x) {
            return from_vector(numbers(work(x) % 7)).map(work).shuffle(3, 1).prefetch(1);
          },
          /*cycle_length=*/3)
      .ignore_errors()
      .window(3, 2)
      .map([](const std::vector<int>& window) { return window.front(); })
      .cache()
      .cache(cache)
      .repeat(2)
      .batch(3)
      .unbatch();
}

TEST(Lifecycle, WhatOperatorsHaveOpenIsClosedWithTheIterator) {
  std::atomic<int> running = 0;
  const auto work = counted_by(running);
  const TemporaryDirectory directory;
  for (const size_t threads : {1, 2, 4}) {
    const auto dataset = everything_that_sees_values(work, directory.path() + "/cache")
                             .with_options({.threads = threads, .chunk_size = 5});
    for (int stop_after = 0; stop_after < 36; stop_after += 7) {
      for (const bool prefetch : {false, true}) {
        auto iterator = (prefetch ? dataset.prefetch(3) : dataset).iterate();
        for (int i = 0; i < stop_after; ++i) ASSERT_NE(iterator.next(), nullptr);
        { const auto dropped = std::move(iterator); }
        EXPECT_EQ(running, 0) << "work continues after the iterator is destroyed";
      }
    }
  }
  EXPECT_THAT(posix_file_system().list(directory.path()), testing::IsEmpty());
}

TEST(Lifecycle, AnExceptionInAnyFunctionAtAnyCallIsOneError) {
  const TemporaryDirectory directory;
  for (const size_t threads : {1, 3}) {
    bool completed = false;
    for (int at = 0; !completed; at += 11) {
      std::atomic<int> calls_left = at;
      const auto work = [&](int x) {
        if (calls_left-- == 0) throw std::runtime_error("now");
        return x;
      };
      const auto dataset = everything_that_sees_values(work, directory.path() + "/cache")
                               .prefetch(2)
                               .with_options({.threads = threads, .chunk_size = 5});
      {
        auto iterator = dataset.iterate();
        try {
          while (iterator.next()) {
          }
          completed = true;
        } catch (const std::runtime_error& error) {
          EXPECT_STREQ(error.what(), "now");
          EXPECT_THROW(iterator.next(), std::runtime_error);
        }
      }
      EXPECT_EQ(posix_file_system().list(directory.path()).empty(), !completed);
    }
    posix_file_system().remove(directory.path() + "/cache");
  }
}

TEST(Lifecycle, IteratorsMayBeAssignedWhileTheyWork) {
  const auto make = [](int n) {
    return from_vector(numbers(5000))
        .map([n](int x) { return x + n; })
        .with_options({.threads = 4});
  };
  auto iterator = make(0).iterate();
  for (int n = 1; n < 50; ++n) {
    iterator.next();
    iterator = make(n).iterate();
    ASSERT_EQ(*iterator.next(), n);
  }
}

TEST(Lifecycle, DroppingAnIteratorDoesNotWaitForAWholePass) {
  for (const size_t threads : {1, 3}) {
    std::atomic<int> tested = 0;
    const auto slow_and_empty = [&](int x) {
      ++tested;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return x == 0;
    };
    {
      // Both prefetch threads wait: one for elements that never come, one for the other thread.
      auto iterator = from_vector(numbers(5000))
                          .filter(slow_and_empty)
                          .prefetch(1)
                          .map([](int x) { return x; })
                          .prefetch(1)
                          .with_options({.threads = threads, .chunk_size = 8})
                          .iterate();
      ASSERT_EQ(*iterator.next(), 0);
    }
    EXPECT_LT(tested, 5000);
  }
}

TEST(Lifecycle, WhatFindsNoMoreElementsForEverCanBeStopped) {
  std::atomic<bool> first = true;
  const auto fails = [&](int x) {
    if (!first.exchange(false)) throw Error({.kind = ErrorKind::corrupted, .reason = "bad"});
    return x;
  };
  const auto none = [&](int x) { return std::vector<int>(first.exchange(false) ? 1 : 0, x); };
  const auto no_input = [none](int x) { return from_vector(none(x)); };
  const auto endless = from_vector(numbers(50)).repeat().with_options({.threads = 2});
  const Dataset<int> chains[] = {
      endless.map(fails).ignore_errors(),
      endless.flat_map(none),
      endless.interleave(no_input, 4),
      from_vector(numbers(1)).with_options(endless.options()).flat_map([&](int) {
        return endless.flat_map(none);
      }),
      endless.flat_map(none).cache().scan(0, [](int, int x) { return std::pair(x, x); }),
      endless.flat_map(none).window(1).unbatch(),
  };
  for (const Dataset<int>& chain : chains) {
    first = true;
    auto iterator = chain.prefetch(1).iterate();
    ASSERT_NE(iterator.next(), nullptr);
    // The prefetch thread is now waiting for the second element, which never comes.
  }
}

TEST(Lifecycle, TheIteratorKeepsTheDescriptionAlive) {
  std::optional<Dataset<int>> dataset =
      from_vector(numbers(1000)).map([](int x) { return x + 1; }).filter([](int) { return true; });
  auto iterator = dataset->iterate();
  dataset.reset();
  int sum = 0;
  while (const int* x = iterator.next()) sum += *x;
  EXPECT_EQ(sum, 500'500);
}

TEST(Lifecycle, ASlowConsumerBoundsWhatIsComputedAhead) {
  std::atomic<int> computed = 0;
  auto iterator = from_vector(numbers(10'000))
                      .map([&](int x) { return ++computed, x; })
                      .batch(10)
                      .prefetch(2)
                      .with_options({.threads = 4, .chunk_size = 10})
                      .iterate();
  iterator.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  // Two batches are ready, the consumer and the prefetch thread have one each, and six are in
  // flight.
  EXPECT_LE(computed, 100);
}

TEST(Lifecycle, ElementsThatCanOnlyBeMovedFlowThrough) {
  const auto boxes =
      from_vector(numbers(300)).map([](int x) { return std::make_unique<int>(x); }).prefetch(3);
  int next = 0;
  for (const auto& box : boxes) ASSERT_EQ(*box, next++);
  EXPECT_EQ(next, 300);
}

TEST(Lifecycle, ManyThreadsOnFewCoresMakeProgressWhileTheConsumerWaits) {
  std::vector<std::jthread> consumers;
  std::atomic<long> sum = 0;
  for (int i = 0; i < 4; ++i) {
    consumers.emplace_back([&] {
      const auto dataset = from_vector(numbers(2000))
                               .map([](int x) { return x; })
                               .batch(7)
                               .with_options({.threads = 16, .chunk_size = 2});
      for (const auto& batch : dataset) {
        for (const int x : batch) sum += x;
      }
    });
  }
  consumers.clear();
  EXPECT_EQ(sum, 4L * 1999 * 1000);
}

}  // namespace
}  // namespace recordpipe
