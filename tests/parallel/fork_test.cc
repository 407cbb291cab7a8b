// Children made by fork() compute, whatever the parent's threads do at the time. Not labelled
// `threads`: ThreadSanitizer doesn't support threads in the child of a process with threads.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dataset/parallel/for_each.h"
#include "dataset/parallel/jobs.h"
#include "dataset/parallel/market.h"
#include "dataset/parallel/service_thread.h"
#include "recordpipe/base/error.h"
#include "tests/parallel/waiting_work.h"

namespace recordpipe::parallel {
namespace {

// The status of a child that calls the function, which ends it.
int status_of_child(const std::function<void()>& function) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // ends a child that hangs
    function();
    _exit(99);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

bool a_new_crew_has_threads() {
  Crew crew(1);
  const auto work = std::make_shared<WaitingWork>();
  work->release();
  crew.submit(work);
  return work->wait_for(1, std::chrono::seconds(30));
}

bool loops_work() {
  std::atomic<uint64_t> sum = 0;
  for_each(1000, 4, [&](uint64_t i) { sum += i; });
  return sum == 499'500;
}

// Whether new crews of this process have oneTBB's threads.
#ifdef RECORDPIPE_TBB
bool can_use_tbb() { return tbb_market(1) != nullptr; }
#else
bool can_use_tbb() { return false; }
#endif

// Whether they do at the start.
bool starts_with_tbb() {
#ifdef RECORDPIPE_TBB
  const char* const threads = std::getenv("RECORDPIPE_TEST_THREADS");
  return !threads || std::string_view(threads) != "plain";
#else
  return false;
#endif
}

#ifdef RECORDPIPE_SANITIZED
// The allocator of Clang's AddressSanitizer has locks that fork() copies while another thread holds
// them.
#define SKIP_IF_SANITIZED() \
  GTEST_SKIP() << "a sanitizer's allocator can't be used in the child of a process with threads"
#else
#define SKIP_IF_SANITIZED() (void)0
#endif

TEST(CrewsAfterFork, WithoutALivingCrewTheChildIsAsNew) {
  SKIP_IF_SANITIZED();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(a_new_crew_has_threads());
    ASSERT_TRUE(loops_work());
    ASSERT_EQ(status_of_child([] {
                if (starts_with_tbb() && !can_use_tbb()) std::exit(1);
                if (!a_new_crew_has_threads()) std::exit(2);
                std::exit(loops_work() ? 0 : 3);  // runs oneTBB's destructors
              }),
              0);
  }
}

TEST(CrewsAfterFork, WithALivingCrewTheChildHasPlainThreads) {
  SKIP_IF_SANITIZED();
  Jobs jobs(3);
  WaitingWork gate;
  const auto running = jobs.submit([&] { gate.work(); });
  ASSERT_TRUE(gate.wait_for(1));
  ASSERT_TRUE(a_new_crew_has_threads());
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(status_of_child([] {
                if (starts_with_tbb() && can_use_tbb()) _exit(1);
                if (!a_new_crew_has_threads()) _exit(2);
                _exit(loops_work() ? 0 : 3);
              }),
              0);
  }
  // The parent goes on, and so does a child of the child.
  ASSERT_TRUE(a_new_crew_has_threads());
  ASSERT_EQ(status_of_child([] {
              _exit(status_of_child([] { _exit(a_new_crew_has_threads() ? 0 : 1); }) == 0 ? 0 : 1);
            }),
            0);
  gate.release();
}

// What the headers advise against, and works with the versions of Debian 12 and 13.
TEST(CrewsAfterFork, WithALivingCrewTheChildCanCallExit) {
  SKIP_IF_SANITIZED();
  Jobs jobs(3);
  WaitingWork gate;
  const auto running = jobs.submit([&] { gate.work(); });
  ASSERT_TRUE(gate.wait_for(1));
  EXPECT_EQ(status_of_child([] { std::exit(0); }), 0);
  gate.release();
}

TEST(CrewsAfterFork, WhileOtherThreadsMakeAndUseCrews) {
  SKIP_IF_SANITIZED();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) EXPECT_TRUE(loops_work());
    });
  }
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(status_of_child([] {
                if (!a_new_crew_has_threads()) _exit(starts_with_tbb() && can_use_tbb() ? 3 : 1);
                _exit(loops_work() ? 0 : 2);
              }),
              0)
        << i;
  }
}

// A thread of a crew makes the child, while it is in the middle of a loop.
TEST(CrewsAfterFork, OnAThreadOfACrew) {
  SKIP_IF_SANITIZED();
  Jobs jobs(2);
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> begun = false;
    Job<int> job = jobs.submit([&begun] {
      begun = true;
      return status_of_child([] {
        if (!a_new_crew_has_threads()) _exit(1);
        _exit(loops_work() ? 0 : 2);
      });
    });
    while (!begun) std::this_thread::yield();  // get() would run it on this thread
    ASSERT_EQ(job.get(), 0);
  }
}

// A child, because the limit can't be raised again.
TEST(CrewsWithoutThreads, TheCallerDoesAllWork) {
  SKIP_IF_SANITIZED();
  EXPECT_EQ(status_of_child([] {
              // The limit doesn't hold for root.
              if (geteuid() == 0 && setuid(65534) != 0) _exit(3);
              const rlimit none{.rlim_cur = 1, .rlim_max = 1};
              if (setrlimit(RLIMIT_NPROC, &none) != 0) _exit(4);
              bool is_refused = false;
              try {
                const ServiceThread thread("rp-test", [](const std::stop_token&) {});
              } catch (const Error&) {
                is_refused = true;
              }
              if (!is_refused) _exit(5);
              for (int i = 0; i < 10; ++i) {
                if (!loops_work()) _exit(1);
              }
              _exit(0);
            }),
            0);
}

}  // namespace
}  // namespace recordpipe::parallel
