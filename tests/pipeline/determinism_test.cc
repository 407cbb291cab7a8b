// Tests that the elements are the same for any thread count, chunk size, prefetch depth and timing,
// by comparing them with the naive twin, which has none of these.
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/philox.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_vector.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/naive/pipeline.h"

namespace recordpipe {
namespace {

constexpr size_t kThreads[] = {1, 2, 3, 4, 8, 16};
constexpr size_t kChunkSizes[] = {1, 7, 64, 1000};

uint64_t mix(uint64_t value, Random& random) { return value * 31 + random.next64(); }

// Applies every operator to a pipeline or to its twin, which have the same member functions.
template <class Source>
auto everything(const Source& source) {
  return source.shuffle(100, 1)
      .map([](int x) { return static_cast<uint64_t>(x); })
      .map_with_random(2, mix)
      .filter([](uint64_t x) { return x % 3 != 0; })
      .shuffle(50, 2)
      .flat_map([](uint64_t x) { return std::vector<uint64_t>(x % 4, x); })
      .repeat(3)
      .map_with_random(2, mix)
      .batch(5)
      .unbatch()
      .skip(17)
      .take(1900);
}

TEST(Determinism, EveryOperatorEqualsItsTwin) {
  const auto expected = everything(naive::from_vector(numbers(1000))).batch(32).values();
  for (const size_t threads : kThreads) {
    for (const size_t chunk_size : kChunkSizes) {
      for (const size_t prefetch : {0, 1, 5}) {
        auto batches = everything(from_vector(numbers(1000))).batch(32);
        if (prefetch > 0) batches = batches.prefetch(prefetch);
        EXPECT_TRUE(collect(batches.with_options({.threads = threads, .chunk_size = chunk_size})) ==
                    expected)
            << threads << " threads, chunks of " << chunk_size << ", prefetch " << prefetch;
      }
    }
  }
}

TEST(Determinism, WorkThatTakesUnequalTimeKeepsItsPlace) {
  const auto slow = [](int x, Random& random) {
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(200)));
    return x;
  };
  for (const size_t threads : kThreads) {
    const auto out = collect(from_vector(numbers(400))
                                 .map_with_random(1, slow)
                                 .batch(16)
                                 .prefetch(3)
                                 .with_options({.threads = threads, .chunk_size = 4}));
    ASSERT_EQ(out.size(), 25u);
    for (size_t i = 0; i < 400; ++i) ASSERT_EQ(out[i / 16][i % 16], static_cast<int>(i));
  }
}

TEST(Determinism, ARepeatInsideARepeatDrawsTheSameHoweverFarAheadItWasPlanned) {
  const auto draw = [](int x, Random& random) {
    return x * 1000 + static_cast<int>(random.below(1000));
  };
  const auto all = [](int) { return true; };
  // The inner repeat never reaches its end; the moment at which it is restarted depends on timing.
  const auto twice = [&](auto source) {
    return source.map_with_random(1, draw).shuffle(6, 1).repeat(9).filter(all).take(10).repeat(3);
  };
  const auto expected = twice(naive::from_vector(numbers(3))).values();
  for (const size_t threads : kThreads) {
    for (const size_t chunk_size : kChunkSizes) {
      const PipelineOptions options{.threads = threads, .chunk_size = chunk_size};
      EXPECT_TRUE(collect(twice(from_vector(numbers(3)).with_options(options))) == expected);
      const auto endless = from_vector(numbers(3))
                               .map_with_random(1, draw)
                               .shuffle(6, 1)
                               .repeat()
                               .filter(all)
                               .prefetch(20)
                               .take(10)
                               .repeat(3);
      EXPECT_TRUE(collect(endless.with_options(options)) == expected);
    }
  }
}

}  // namespace
}  // namespace recordpipe
