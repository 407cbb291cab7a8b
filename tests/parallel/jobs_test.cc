#include "dataset/parallel/jobs.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/parallel/task_context.h"
#include "tests/parallel/waiting_work.h"

namespace recordpipe::parallel {
namespace {

constexpr CrewKind kKinds[] = {CrewKind::computes, CrewKind::waits};

TEST(Jobs, ReturnResultsAndThrowExceptions) {
  for (const size_t threads : {1, 2, 5}) {
    for (const CrewKind kind : kKinds) {
      Jobs jobs(threads, kind);
      std::vector<Job<std::unique_ptr<int>>> results;
      for (int i = 0; i < 100; ++i) {
        results.push_back(jobs.submit([i] {
          if (i % 7 == 3) throw std::runtime_error(std::to_string(i));
          return std::make_unique<int>(i);
        }));
      }
      for (int i = 0; i < 100; ++i) {
        auto& job = results[static_cast<size_t>(i)];
        EXPECT_TRUE(job.valid());
        if (i % 7 == 3) {
          EXPECT_THROW((void)job.get(), std::runtime_error);
        } else {
          EXPECT_EQ(*job.get(), i);
        }
        EXPECT_FALSE(job.valid());
      }
    }
  }
}

TEST(Jobs, BeginInTheOrderOfSubmission) {
  std::vector<int> begun;
  std::vector<int> all;
  std::atomic<int> done = 0;
  Jobs jobs(2);  // one thread, because this one doesn't wait
  for (int i = 0; i < 200; ++i) {
    (void)jobs.submit([&, i] {
      begun.push_back(i);
      ++done;
    });
    all.push_back(i);
  }
  while (done < 200) std::this_thread::yield();
  EXPECT_EQ(begun, all);
}

TEST(Jobs, AWaitingThreadRunsThemItself) {
  Jobs jobs(1);
  const auto caller = std::this_thread::get_id();
  std::vector<Job<std::thread::id>> threads;
  for (int i = 0; i < 3; ++i) {
    threads.push_back(jobs.submit([] { return std::this_thread::get_id(); }));
  }
  for (auto& thread : threads) EXPECT_EQ(thread.get(), caller);
}

TEST(Jobs, AtMostTheirThreadsRunAtATime) {
  for (const CrewKind kind : kKinds) {
    for (const size_t threads : {1, 2, 4}) {
      std::atomic<size_t> running = 0;
      std::atomic<size_t> most = 0;
      Jobs jobs(threads, kind);
      std::vector<Job<void>> all;
      for (int i = 0; i < 50; ++i) {
        all.push_back(jobs.submit([&] {
          const size_t now = ++running;
          for (size_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
          }
          std::this_thread::sleep_for(std::chrono::microseconds(200));
          --running;
        }));
      }
      for (auto& job : all) job.get();
      EXPECT_LE(most, threads);
    }
  }
}

TEST(Jobs, CanBeDroppedBeforeTheyBegin) {
  WaitingWork gate;
  Jobs jobs(2);
  Job<void> running = jobs.submit([&] { gate.work(); });
  ASSERT_TRUE(gate.wait_for(1));
  std::atomic<bool> was_called = false;
  auto held = std::make_shared<int>(0);
  Job<void> dropped = jobs.submit([&, held] { was_called = true; });
  EXPECT_TRUE(dropped.drop());
  EXPECT_FALSE(dropped.drop());
  dropped = {};
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(running.drop());
  gate.release();
  running.get();
  EXPECT_FALSE(was_called);
}

TEST(Jobs, TheDestructorDropsThoseThatWaitAndWaitsForThoseThatRun) {
  for (const CrewKind kind : kKinds) {
    WaitingWork gate;
    std::atomic<int> ended = 0;
    std::atomic<int> called = 0;
    std::optional<Jobs> jobs(std::in_place, 2, kind);
    const auto running = jobs->submit([&] {
      gate.work();
      ++ended;
    });
    ASSERT_TRUE(gate.wait_for(1));
    std::vector<Job<void>> waiting;
    for (int i = 0; i < 10; ++i) waiting.push_back(jobs->submit([&] { ++called; }));
    std::jthread releases([&] { gate.release(); });
    jobs.reset();
    EXPECT_EQ(ended, 1);
    const int before = called;  // some may have begun between the release and the destructor
    std::this_thread::sleep_for(kNever);
    EXPECT_EQ(called, before);
  }
}

TEST(Jobs, HaveTheContextOfTheThreadThatSubmitsThem) {
  const auto owner = std::make_shared<const internal::WorkOwner>(nullptr);
  for (const size_t threads : {1, 2}) {
    Jobs jobs(threads);
    Job<TaskContext> job;
    {
      const TaskContextScope scope({owner, {}});
      job = jobs.submit([] { return TaskContext::current(); });
    }
    EXPECT_EQ(job.get().owner, owner);
    EXPECT_EQ(TaskContext::current().owner, nullptr);
  }
}

TEST(Jobs, ReleaseTheirFunctionsWhenTheyAreDone) {
  Jobs jobs(2);
  auto held = std::make_shared<int>(0);
  auto job = jobs.submit([held] { return *held; });
  while (held.use_count() > 1) std::this_thread::yield();
  EXPECT_EQ(job.get(), 0);
}

}  // namespace
}  // namespace recordpipe::parallel
