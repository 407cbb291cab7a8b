// Stopping anywhere: everything that was started is joined, in bounded time.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/pipeline/dataset.h"
#include "tests/pipeline/collect.h"

namespace recordpipe {
namespace {

TEST(Lifecycle, IteratorsMayBeDroppedAtAnyElement) {
  std::atomic<int> running = 0;
  const auto work = [&](int x) {
    ++running;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    --running;
    return x;
  };
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
      EXPECT_EQ(running, 0) << "work goes on after the iterator is gone";
    }
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
      // Both prefetch threads wait: one for elements that don't come, one for the other.
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
  // Two batches wait, one is with the consumer, one with the prefetch thread, six are in flight.
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
