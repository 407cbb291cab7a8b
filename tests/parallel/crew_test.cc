#include "dataset/parallel/crew.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>

#include "dataset/base/available_cpus.h"
#include "dataset/parallel/task_context.h"
#include "tests/parallel/waiting_work.h"

namespace recordpipe::parallel {
namespace {

// Calls a function once, and lets a test wait for the call.
class CallOnce final : public Work {
 public:
  explicit CallOnce(std::function<void()> function) : function_(std::move(function)) {}
  void work() noexcept override {
    function_();
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    done_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return done_.wait_for(lock, std::chrono::seconds(60), [&] { return is_done_; });
  }

 private:
  const std::function<void()> function_;
  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
};

TEST(Crew, DoesWorkOnAnotherThread) {
  Crew crew(1);
  std::thread::id thread;
  const auto work = std::make_shared<CallOnce>([&] { thread = std::this_thread::get_id(); });
  crew.submit(work);
  ASSERT_TRUE(work->wait());
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(Crew, WorkHasTheContextOfTheThreadThatSubmitsIt) {
  Crew crew(1);
  const auto owner = std::make_shared<const internal::WorkOwner>(nullptr);
  std::stop_source stop;
  TaskContext seen;
  const auto look = [&] { seen = TaskContext::current(); };
  const auto first = std::make_shared<CallOnce>(look);
  {
    const TaskContextScope scope({owner, stop.get_token()});
    crew.submit(first);
  }
  ASSERT_TRUE(first->wait());
  EXPECT_EQ(seen.owner, owner);
  EXPECT_EQ(seen.stop, stop.get_token());
  // The thread keeps nothing of it.
  const auto second = std::make_shared<CallOnce>(look);
  crew.submit(second);
  ASSERT_TRUE(second->wait());
  EXPECT_EQ(seen.owner, nullptr);
  EXPECT_FALSE(seen.stop.stop_possible());
}

TEST(Crew, HasAtMostItsThreadsAtATime) {
  for (const size_t threads : {1, 3}) {
    for (const CrewKind kind : {CrewKind::computes, CrewKind::waits}) {
      Crew crew(threads, kind);
      const auto work = std::make_shared<WaitingWork>();
      for (size_t i = 0; i < threads + 5; ++i) crew.submit(work);
      EXPECT_TRUE(work->wait_for(threads));
      EXPECT_FALSE(work->wait_for(threads + 1, kNever));
      work->release();
      EXPECT_TRUE(work->wait_for(threads + 5));
    }
  }
}

TEST(Crew, CrewsThatComputeShareTheThreads) {
  const size_t cpus = available_cpus();
  const size_t most = std::max<size_t>(1, cpus - 1);
  std::vector<std::unique_ptr<Crew>> crews;
  const auto work = std::make_shared<WaitingWork>();
  for (int i = 0; i < 8; ++i) {
    crews.push_back(std::make_unique<Crew>(most));
    for (size_t j = 0; j < most; ++j) crews.back()->submit(work);
  }
  EXPECT_TRUE(work->wait_for(most));
  EXPECT_FALSE(work->wait_for(most + 1, kNever));
  // A larger crew brings more threads, for all of them.
  crews.push_back(std::make_unique<Crew>(most + 3));
  for (size_t j = 0; j < most + 3; ++j) crews.back()->submit(work);
  EXPECT_TRUE(work->wait_for(most + 3));
  EXPECT_FALSE(work->wait_for(most + 4, kNever));
  work->release();
  EXPECT_TRUE(work->wait_for(8 * most + most + 3));
}

TEST(Crew, CrewsThatWaitTakeNoThreadFromThoseThatCompute) {
  Crew waiting(8, CrewKind::waits);
  const auto held = std::make_shared<WaitingWork>();
  for (int i = 0; i < 8; ++i) waiting.submit(held);
  EXPECT_TRUE(held->wait_for(8));
  Crew computing(1);
  const auto work = std::make_shared<CallOnce>([] {});
  computing.submit(work);
  EXPECT_TRUE(work->wait());
  held->release();
}

// Crews that come and go beside one that is busy leave nothing behind, and don't get more threads
// than there are.
TEST(Crew, CrewsThatComeAndGoKeepTheLimit) {
  const size_t most = std::max<size_t>(1, available_cpus() - 1) + 1;
  std::vector<std::unique_ptr<Crew>> crews;
  const auto work = std::make_shared<WaitingWork>();
  for (size_t i = 0; i < 3 * most; ++i) {
    crews.push_back(std::make_unique<Crew>(1));
    crews.back()->submit(work);
    const Crew larger(most);
    const auto none = std::make_shared<CallOnce>([] {});
    crews.back()->submit(none);
  }
  EXPECT_TRUE(work->wait_for(1));
  EXPECT_FALSE(work->wait_for(most + 1, kNever));
  work->release();
  EXPECT_TRUE(work->wait_for(3 * most));
}

TEST(Crew, ThreadsHaveTheUsualStack) {
  pthread_attr_t attributes;
  size_t usual = 0;
  ASSERT_EQ(pthread_getattr_default_np(&attributes), 0);
  pthread_attr_getstacksize(&attributes, &usual);
  pthread_attr_destroy(&attributes);
  size_t size = 0;
  const auto look = std::make_shared<CallOnce>([&] {
    pthread_attr_t its;
    if (pthread_getattr_np(pthread_self(), &its) != 0) return;
    pthread_attr_getstacksize(&its, &size);
    pthread_attr_destroy(&its);
  });
  Crew crew(1);
  crew.submit(look);
  ASSERT_TRUE(look->wait());
  EXPECT_GE(size, usual);
}

TEST(Crew, DropsWorkThatIsDestroyed) {
  Crew crew(1);
  const auto held = std::make_shared<WaitingWork>();
  crew.submit(held);
  ASSERT_TRUE(held->wait_for(1));
  std::atomic<bool> was_called = false;
  auto dropped = std::make_shared<CallOnce>([&] { was_called = true; });
  crew.submit(dropped);
  dropped.reset();
  held->release();
  const auto last = std::make_shared<CallOnce>([] {});
  crew.submit(last);
  ASSERT_TRUE(last->wait());
  EXPECT_FALSE(was_called);
}

TEST(Crew, CanBeDestroyedByItsThread) {
  struct Owner {
    std::unique_ptr<Crew> crew = std::make_unique<Crew>(1);
  };
  for (const CrewKind kind : {CrewKind::computes, CrewKind::waits}) {
    auto crew = std::make_shared<std::unique_ptr<Crew>>(std::make_unique<Crew>(1, kind));
    Crew& its = **crew;
    const auto work = std::make_shared<CallOnce>([crew] { crew->reset(); });
    crew.reset();
    its.submit(work);
    EXPECT_TRUE(work->wait());
  }
}

TEST(Crew, MayBeDestroyedWhileItsThreadsAreAtWork) {
  const auto held = std::make_shared<WaitingWork>();
  {
    Crew crew(1);
    crew.submit(held);
    ASSERT_TRUE(held->wait_for(1));
  }
  held->release();
  Crew next(1);
  const auto work = std::make_shared<CallOnce>([] {});
  next.submit(work);
  EXPECT_TRUE(work->wait());
}

}  // namespace
}  // namespace recordpipe::parallel
