// Tests the automatic tuning of thread counts and prefetch depths, which changes nothing else.
#include <chrono>
#include <cstddef>

#include <gtest/gtest.h>

#include "dataset/pipeline/execute/thread_tuner.h"
#include "dataset/pipeline/operators/buffering/prefetch_depth.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_vector.h"
#include "tests/pipeline/collect.h"

namespace recordpipe {
namespace {

using internal::PrefetchDepth;
using internal::ThreadTuner;
using namespace std::chrono_literals;

TEST(ThreadTuner, LetsHelpersGoThatNobodyWaitsFor) {
  ThreadTuner tuner(3, /*tune=*/true);
  EXPECT_EQ(tuner.helpers(), 3u);
  for (int i = 0; i < 1000; ++i) tuner.came(/*had_to_wait=*/false);
  EXPECT_EQ(tuner.helpers(), 0u);
}

TEST(ThreadTuner, TakesAllWhereTheConsumerWaits) {
  ThreadTuner tuner(3, /*tune=*/true);
  for (int i = 0; i < 1000; ++i) tuner.came(false);
  for (int i = 0; i < 3 * 16; ++i) tuner.came(true);
  EXPECT_EQ(tuner.helpers(), 3u);
}

// A consumer for which two helpers are enough and one is not.
TEST(ThreadTuner, SettlesAtWhatIsEnough) {
  ThreadTuner tuner(8, /*tune=*/true);
  size_t enough = 0, total = 0;
  for (int i = 0; i < 100'000; ++i) {
    tuner.came(tuner.helpers() < 2);
    if (i < 10'000) continue;
    ++total;
    enough += tuner.helpers() == 2 ? 1 : 0;
  }
  EXPECT_GE(enough, total * 95 / 100);
}

TEST(ThreadTuner, ASetNumberStays) {
  ThreadTuner tuner(3, /*tune=*/false);
  for (int i = 0; i < 1000; ++i) tuner.came(false);
  EXPECT_EQ(tuner.helpers(), 3u);
}

// Lets a thread and a consumer wait in turns, `times` times, and pass `rest` without waiting.
void wait_in_turns(PrefetchDepth& depth, int times, std::chrono::microseconds for_room,
                   std::chrono::microseconds for_elements, std::chrono::microseconds rest) {
  PrefetchDepth::Clock::time_point now{};
  depth.start(now);
  for (int i = 0; i < times; ++i) {
    depth.waited_for_room(for_room);
    now += for_elements + rest;
    depth.waited_for_element(for_elements, now);
  }
}

TEST(PrefetchDepth, GrowsWhereALargerBufferWouldHaveHelped) {
  PrefetchDepth depth(kAutotune);
  const size_t first = depth.depth();
  wait_in_turns(depth, 7, 50us, 30us, 100us);  // may be chance
  EXPECT_EQ(depth.depth(), first);
  wait_in_turns(depth, 8, 50us, 30us, 100us);
  EXPECT_EQ(depth.depth(), 2 * first);
  wait_in_turns(depth, 1000, 50us, 30us, 100us);
  EXPECT_EQ(depth.depth(), depth.max());
}

TEST(PrefetchDepth, StaysWhereTheThreadOrTheConsumerIsTheSlowerOne) {
  PrefetchDepth depth(kAutotune);
  const size_t first = depth.depth();
  wait_in_turns(depth, 1000, 1us, 200us, 10us);  // a slow thread, held up by the scheduler at times
  EXPECT_EQ(depth.depth(), first);
  wait_in_turns(depth, 1000, 200us, 1us, 200us);  // a slow consumer
  EXPECT_EQ(depth.depth(), first);
  wait_in_turns(depth, 1000, 0us, 200us, 0us);  // never full
  EXPECT_EQ(depth.depth(), first);
}

TEST(PrefetchDepth, ASetDepthStays) {
  PrefetchDepth depth(3);
  wait_in_turns(depth, 1000, 50us, 30us, 100us);
  EXPECT_EQ(depth.depth(), 3u);
  EXPECT_EQ(depth.max(), 3u);
}

TEST(Tuning, ChangesNoElement) {
  const auto draw = [](int x, Random& random) { return x + static_cast<int>(random.below(1000)); };
  const auto dataset = from_vector(numbers(5000)).shuffle(200, 5).map_with_random(6, draw).batch(9);
  const auto expected = collect(dataset.with_options({.threads = 1}));
  EXPECT_EQ(collect(dataset), expected);
  EXPECT_EQ(collect(dataset.prefetch()), expected);
  EXPECT_EQ(collect(dataset.prefetch().with_options({.threads = 4})), expected);
}

TEST(Tuning, IsNoPartOfThePlan) {
  const auto dataset = from_vector(numbers(500)).shuffle(50, 5);
  auto tuned = dataset.prefetch().iterate();
  for (int i = 0; i < 100; ++i) tuned.next();
  auto set = dataset.prefetch(7).iterate();
  set.restore(tuned.state());
  EXPECT_EQ(*set.next(), *tuned.next());
}

}  // namespace
}  // namespace recordpipe
