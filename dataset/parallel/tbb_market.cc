// oneTBB's threads, and their end before fork(). Only this file includes oneTBB.
//
// All crews share one arena. An arena for each crew would limit the crew's threads by itself, but
// oneTBB (2021.8) counts a thread that is in a long task only as long as the task's arena has other
// work: a crew that is busy takes the threads that another crew's arena asks for.
#include <algorithm>
#include <atomic>
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
#include "recordpipe/internal/fork.h"
#include "recordpipe/internal/fork_block.h"

namespace recordpipe::parallel {
namespace {

// Whether the system can start so many threads now.
bool can_start(size_t count) {
  std::mutex mutex;
  std::vector<std::jthread> threads;
  const std::lock_guard hold(mutex);  // until all are there; released before they are joined
  try {
    while (threads.size() < count) {
      const internal::ForkBlock no_fork;
      threads.emplace_back([&] { const std::lock_guard wait(mutex); });
    }
  } catch (const std::system_error&) {
  }
  return threads.size() == count;
}

class TbbMarket final : public Market {
 public:
  // Whether the market can have so many threads. oneTBB (2021.8) ends the process if it can't start
  // one of them, so this is tried first. The threads are not kept: others may take their place
  // before oneTBB starts its own.
  bool can_have(size_t threads) {
    const std::lock_guard lock(mutex_);
    if (threads <= tried_) return true;
    const size_t wanted = std::max(threads, available_cpus() - 1);
    if (!can_start(wanted)) return false;
    tried_ = wanted;
    return true;
  }

  // The scheduler's threads end, so that a child made by fork() can start new ones. Keeps the lock
  // until after_fork().
  void before_fork() {
    mutex_.lock();
    if (has_crews()) return;
    const size_t arenas = arenas_;
    mutex_.unlock();  // for threads that are waited for
    tbb::task_scheduler_handle handle{tbb::attach{}};
    // Returns false if other code of the program uses oneTBB.
    const bool has_ended = tbb::finalize(handle, std::nothrow);
    mutex_.lock();
    has_ended_ = has_ended && arenas_ == arenas;
  }
  // Returns whether the scheduler can be used.
  bool after_fork() {
    const bool has_ended = std::exchange(has_ended_, false);
    if (has_ended) tried_ = 0;
    mutex_.unlock();
    return has_ended;
  }

 protected:
  void resize() override {
    const size_t threads = most_threads();
    if (threads == threads_) return;
    threads_ = threads;
    arena_.reset();
    // Of several controls, oneTBB obeys the lowest: there must be one at a time.
    control_.reset();
    if (threads == 0) return;
    const size_t with_caller = threads + 1;  // oneTBB counts the thread that uses it
    if (with_caller != static_cast<size_t>(tbb::info::default_concurrency())) {
      control_.emplace(tbb::global_control::max_allowed_parallelism, with_caller);
    }
    arena_.emplace(static_cast<int>(threads), /*reserved_for_masters=*/0);
    ++arenas_;
  }

  void call_thread() override {
    arena_->enqueue([this, self = shared_from_this()] {
      Lock lock(mutex_);
      run_all(lock);
    });
  }

 private:
  size_t threads_ = 0;
  std::optional<tbb::global_control> control_;
  std::optional<tbb::task_arena> arena_;
  size_t arenas_ = 0;  // that were made
  size_t tried_ = 0;   // threads that could be started
  bool has_ended_ = false;
};

std::atomic<bool> is_inherited = false;  // the scheduler's threads are those of another process

std::shared_ptr<TbbMarket>& market();

// After base's handlers (fork.cc), so that before_fork() precedes theirs: threads that it waits for
// may start others. Without memory for this, fork() goes on as if a crew lived.
std::shared_ptr<TbbMarket>* make_market() {
  const auto market_of_process = new std::shared_ptr<TbbMarket>(std::make_shared<TbbMarket>());
  ::pthread_atfork([] { market()->before_fork(); }, [] { (void)market()->after_fork(); },
                   [] {
                     if (!market()->after_fork()) is_inherited = true;
                   });
  return market_of_process;
}

// Never destroyed: threads may use it when the process ends.
std::shared_ptr<TbbMarket>& market() {
  static std::shared_ptr<TbbMarket>& market_of_process = *make_market();
  return market_of_process;
}

}  // namespace

std::shared_ptr<Market> tbb_market(size_t threads) {
  if (is_inherited || !market()->can_have(threads)) return nullptr;
  return market();
}

}  // namespace recordpipe::parallel
