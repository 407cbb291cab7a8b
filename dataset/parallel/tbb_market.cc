// oneTBB's threads, and their end before fork(). Only this file includes oneTBB.
//
// All crews share one arena. An arena for each crew would limit the crew's threads by itself, but
// oneTBB (2021.8) counts a thread that is in a long task only as long as the task's arena has other
// work: a crew that is busy takes the threads that another crew's arena asks for.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>

#include "dataset/base/available_cpus.h"
#include "dataset/parallel/market.h"
#include "recordpipe/base/internal/fork.h"
#include "recordpipe/base/internal/fork_block.h"

namespace recordpipe::parallel {
namespace {

using tbb::global_control;

// oneTBB (2021.8) has at least 256 threads, whatever the machine.
constexpr size_t kMaxThreads = 255;
constexpr std::chrono::milliseconds kStartLimit{100};

// Whether the system can start so many threads now. oneTBB ends the process if it can't.
bool can_start(size_t count) {
  std::mutex mutex;
  std::vector<std::jthread> threads;
  const std::lock_guard hold(mutex);  // until all are there; released before they are joined
  try {
    while (threads.size() < count) {
      threads.emplace_back([&] { const std::lock_guard wait(mutex); });
    }
  } catch (const std::system_error&) {
  }
  return threads.size() == count;
}

// What std::threads have; oneTBB's own default is 4 MiB.
size_t usual_stack_size() {
  pthread_attr_t attributes;
  size_t size = size_t{8} << 20;
  if (::pthread_getattr_default_np(&attributes) == 0) {
    ::pthread_attr_getstacksize(&attributes, &size);
    ::pthread_attr_destroy(&attributes);
  }
  return size;
}

// An arena whose threads exist.
class Arena {
 public:
  // At most as many threads as the program's own global_control allows, and at least one.
  explicit Arena(size_t threads)
      : stack_size_(global_control::thread_stack_size, usual_stack_size()) {
    const size_t allowed = global_control::active_value(global_control::max_allowed_parallelism);
    const size_t usual = static_cast<size_t>(tbb::info::default_concurrency());
    const size_t with_caller = threads + 1;  // oneTBB counts the thread that uses it
    if (allowed < usual) {
      threads = std::min(threads, std::max<size_t>(2, allowed) - 1);
    } else if (with_caller != usual) {
      control_.emplace(global_control::max_allowed_parallelism, with_caller);
    }
    threads_ = threads;
    arena_.emplace(static_cast<int>(threads), /*reserved_for_masters=*/0);
    start_threads();
  }

  size_t threads() const { return threads_; }
  template <class Task>
  void enqueue(const Task& task) {
    arena_->enqueue(task);
  }

 private:
  // oneTBB starts a thread when it needs one, perhaps when the system refuses it or in the middle
  // of a fork(). So it needs all of them now. Other tasks of the program may keep them: no long
  // wait.
  void start_threads() {
    struct Meeting {
      std::mutex mutex;
      std::condition_variable changed;
      size_t missing;
    };
    const auto meeting = std::make_shared<Meeting>();
    meeting->missing = threads_;
    const auto until = std::chrono::steady_clock::now() + kStartLimit;
    const auto wait = [meeting, until](std::unique_lock<std::mutex>& lock) {
      meeting->changed.wait_until(lock, until, [&] { return meeting->missing == 0; });
    };
    for (size_t i = 0; i < threads_; ++i) {
      arena_->enqueue([meeting, wait] {
        std::unique_lock lock(meeting->mutex);
        if (--meeting->missing == 0) meeting->changed.notify_all();
        wait(lock);
      });
    }
    std::unique_lock lock(meeting->mutex);
    wait(lock);
  }

  global_control stack_size_;
  // Of several controls, oneTBB obeys the lowest.
  std::optional<global_control> control_;
  size_t threads_ = 0;
  std::optional<tbb::task_arena> arena_;
};

class TbbMarket final : public Market {
 public:
  // Gets an arena for a crew of `threads`; it is kept until fork(). Returns false if the system
  // can't start so many threads.
  bool prepare(size_t threads) {
    const std::lock_guard lock(mutex_);
    if (threads > kMaxThreads) return false;
    if (threads <= max_) return true;
    usual_ = std::max<size_t>(1, available_cpus() - 1);
    const size_t wanted = std::clamp(usual_, threads, kMaxThreads);
    if (wanted >= refused_) return false;
    const internal::ForkBlock no_fork;
    if (!can_start(wanted)) {
      refused_ = wanted;
      return false;
    }
    arena_.reset();  // its controls, before others are made
    arena_ = std::make_shared<Arena>(wanted);
    max_ = wanted;
    return true;
  }

  // The scheduler's threads end, so that a child made by fork() can start new ones. Keeps the lock
  // until after_fork().
  void before_fork() {
    mutex_.lock();
    if (has_crews()) return;
    if (!arena_) {
      has_ended_ = true;  // or never begun, by this market
      return;
    }
    arena_.reset();
    max_ = 0;
    mutex_.unlock();  // for threads that are waited for
    tbb::task_scheduler_handle handle{tbb::attach{}};
    // Returns false if other code of the program uses oneTBB.
    const bool has_ended = tbb::finalize(handle, std::nothrow);
    mutex_.lock();
    has_ended_ = has_ended && !arena_;
  }
  // Returns whether the scheduler can be used in a child.
  bool after_fork() {
    const bool has_ended = std::exchange(has_ended_, false);
    mutex_.unlock();
    return has_ended;
  }

 protected:
  void resize() override {}

  size_t max_threads() const override {
    if (!arena_) return 0;  // at fork(), for a thread that has just finished
    return std::min(arena_->threads(), std::max(usual_, largest_crew()));
  }

  bool call_thread() override {
    arena_->enqueue([this, self = shared_from_this()] {
      Lock lock(mutex_);
      run_all(lock);
    });
    return true;
  }

 private:
  std::shared_ptr<Arena> arena_;
  size_t usual_ = 1;           // threads, beside the one that uses a crew: as many as cores
  size_t max_ = 0;             // threads that were asked for when the arena was made
  size_t refused_ = SIZE_MAX;  // so many threads could not be started
  bool has_ended_ = false;
};

std::atomic<bool> is_inherited = false;  // the scheduler's threads are those of another process

TbbMarket& market() {
  // Never destroyed: threads may use it when the process ends.
  static TbbMarket& market_of_process = *[] {
    const auto made = new std::shared_ptr<TbbMarket>(std::make_shared<TbbMarket>());
    internal::set_fork_hooks({.before = [] { market().before_fork(); },
                              .in_parent = [] { (void)market().after_fork(); },
                              .in_child =
                                  [] {
                                    if (!market().after_fork()) is_inherited = true;
                                  }});
    return made->get();
  }();
  return market_of_process;
}

// Before main(), or when the library is loaded: fork() must not happen while it is made.
[[maybe_unused]] const TbbMarket& tbb_market_made = market();

}  // namespace

std::shared_ptr<Market> tbb_market(size_t threads) {
  if (is_inherited || !market().prepare(threads)) return nullptr;
  return market().shared_from_this();
}

}  // namespace recordpipe::parallel
