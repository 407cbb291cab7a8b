// Tests that skip() and restored states discard exactly the elements that would have come next,
// even if an operator has already gathered some of them.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_generator.h"
#include "recordpipe/pipeline/range.h"
#include "recordpipe/pipeline/zip.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/resume.h"

namespace recordpipe {
namespace {

using Batches = std::vector<std::vector<int64_t>>;

// Returns batches of `size` numbers from [begin, end).
Batches batches(int64_t begin, int64_t end, int64_t size) {
  Batches out;
  for (int64_t i = begin; i < end; ++i) {
    if ((i - begin) % size == 0) out.emplace_back();
    out.back().push_back(i);
  }
  return out;
}

// Makes `source` so slow that the next operator often finds no element ready when it looks ahead.
Dataset<int64_t> slow(const Dataset<int64_t>& source) {
  return source
      .map([](int64_t x) {
        if (x % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
        return x;
      })
      .prefetch(2);
}

void expect_at_any_thread_count(const Dataset<std::vector<int64_t>>& dataset,
                                const Batches& expected) {
  for (size_t threads = 1; threads <= 16; ++threads) {
    for (const size_t chunk_size : {1, 64}) {
      const PipelineOptions options{.threads = threads, .chunk_size = chunk_size};
      ASSERT_EQ(collect(dataset.with_options(options)), expected)
          << threads << " threads, chunks of " << chunk_size;
    }
  }
}

TEST(PassOver, BatchesAreSkippedByNumber) {
  expect_at_any_thread_count(range(0, 10).batch(4).skip(1), {{4, 5, 6, 7}, {8, 9}});
  expect_at_any_thread_count(range(0, 10).batch(4).skip(2), {{8, 9}});
  expect_at_any_thread_count(range(0, 10).batch(4).skip(3), {});
  expect_at_any_thread_count(range(0, 10).batch(4, DropRemainder::yes).skip(2), {});
}

TEST(PassOver, SkippingNothingSkipsNothing) {
  expect_at_any_thread_count(slow(range(0, 400)).batch(32).skip(0), batches(0, 400, 32));
}

TEST(PassOver, OneInputAfterTheOtherInBatches) {
  Batches expected = batches(0, 100, 8);
  for (const auto& batch : batches(100, 150, 8)) expected.push_back(batch);
  const auto both = slow(range(0, 100)).batch(8).concatenate(slow(range(100, 150)).batch(8));
  expect_at_any_thread_count(both.skip(0), expected);
  expect_at_any_thread_count(both.skip(3), {expected.begin() + 3, expected.end()});
  expect_at_any_thread_count(both.skip(15), {expected.begin() + 15, expected.end()});
  expect_resumes_anywhere(both, on_any_machine(both));
}

// An error after the end of the shortest input is never thrown.
TEST(PassOver, AZipEndsWithItsShortestInput) {
  const auto failing = from_generator([] {
    return [n = int64_t{0}]() mutable -> std::optional<int64_t> {
      if (n == 5) throw std::runtime_error("after 5");
      return n++;
    };
  });
  for (const uint64_t skipped : {2, 3, 4, 5, 9}) {
    EXPECT_EQ(collect(zip(failing, range(3)).skip(skipped)).size(), skipped == 2 ? 1u : 0u);
  }
  EXPECT_THROW(collect(zip(failing, range(6)).skip(9)), std::runtime_error);
  EXPECT_THROW(collect(zip(range(6), failing).skip(9)), std::runtime_error);
}

// After an error during a restore, the iterator starts over with all elements.
TEST(PassOver, AnErrorWhileAShuffleIsRestored) {
  const auto fails = std::make_shared<std::atomic<bool>>(false);
  const auto source = from_generator([fails] {
    return [fails, n = int64_t{0}]() mutable -> std::optional<int64_t> {
      if (n == 40 && *fails) throw std::runtime_error("not now");
      return n < 100 ? std::optional(n++) : std::nullopt;
    };
  });
  // With small chunks, the state has a filled buffer.
  const auto shuffled = source.filter([](int64_t x) { return x % 3 != 1; })
                            .shuffle(20, 1)
                            .with_options({.threads = 1, .chunk_size = 1});
  const std::vector<int64_t> expected = collect(shuffled);
  auto iterator = shuffled.iterate();
  for (int i = 0; i < 30; ++i) iterator.next();
  const std::string state = iterator.state();
  *fails = true;
  EXPECT_THROW(iterator.restore(state), std::runtime_error);
  *fails = false;
  EXPECT_EQ(rest_of(iterator), expected);  // starts over
  iterator.restore(state);
  EXPECT_EQ(rest_of(iterator), std::vector<int64_t>(expected.begin() + 30, expected.end()));
}

}  // namespace
}  // namespace recordpipe
