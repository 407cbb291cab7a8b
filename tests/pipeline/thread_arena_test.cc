// TbbArena on threads of its own, which Python wheels use instead of oneTBB.
#include <atomic>
#include <memory>
#include <semaphore>
#include <thread>

#include <gtest/gtest.h>

#include "dataset/pipeline/engine/tbb_arena.h"

namespace recordpipe::internal {
namespace {

struct Work {
  std::atomic<int> begun = 0;
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::atomic<int> done = 0;
  std::counting_semaphore<> go{0};
};

void count(void* argument) {
  auto& work = *static_cast<Work*>(argument);
  const int running = ++work.running;
  for (int most = work.most; most < running && !work.most.compare_exchange_weak(most, running);) {
  }
  ++work.begun;
  work.go.acquire();
  --work.running;
  ++work.done;
  work.done.notify_all();
}

void wait_for(std::atomic<int>& value, int wanted) {
  while (value.load() < wanted) std::this_thread::yield();
}

TEST(ThreadArena, MakesEachCallOnceInAtMostTheGivenThreads) {
  Work work;
  TbbArena arena(3);
  for (int i = 0; i < 10; ++i) arena.enqueue(count, &work);
  wait_for(work.begun, 3);  // three wait at a time, so there are three threads
  EXPECT_EQ(work.done, 0);
  work.go.release(10);
  wait_for(work.done, 10);
  EXPECT_EQ(work.begun, 10);
  EXPECT_EQ(work.most, 3);
}

TEST(ThreadArena, MakesTheCallsThatAreLeftAfterItsEnd) {
  Work work;
  auto arena = std::make_unique<TbbArena>(1);
  for (int i = 0; i < 5; ++i) arena->enqueue(count, &work);
  wait_for(work.begun, 1);
  arena.reset();
  work.go.release(5);
  wait_for(work.done, 5);
}

TEST(ThreadArena, ACallMayEndTheArena) {
  struct Owner {
    std::unique_ptr<TbbArena> arena = std::make_unique<TbbArena>(2);
    std::atomic<bool> done = false;
  } owner;
  const auto end = [](void* argument) {
    auto& of = *static_cast<Owner*>(argument);
    of.arena.reset();
    of.done = true;
  };
  TbbArena& arena = *owner.arena;
  arena.enqueue(end, &owner);
  while (!owner.done) std::this_thread::yield();
  EXPECT_EQ(owner.arena, nullptr);
}

// Threads go to sleep and wake up: a call must never be forgotten between the two.
TEST(ThreadArena, NoCallIsForgotten) {
  TbbArena arena(4);
  Work work;
  work.go.release(20000);
  for (int i = 0; i < 20000; ++i) {
    arena.enqueue(count, &work);
    if (i % 7 == 0) wait_for(work.done, i + 1);
  }
  wait_for(work.done, 20000);
}

}  // namespace
}  // namespace recordpipe::internal
