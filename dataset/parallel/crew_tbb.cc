// Crews of oneTBB's threads, and its shutdown before fork(). Only this file includes oneTBB.
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include <pthread.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>

#include "dataset/parallel/crew_threads.h"
#include "recordpipe/internal/fork.h"

namespace recordpipe::parallel {
namespace {

// The crews that live. oneTBB has one market for the process; its size is a global_control.
struct TbbMarket {
  static inline constinit std::mutex mutex;
  static inline MarketSize size;
  static inline size_t controlled = 0;  // the threads that `control` allows
  static inline std::optional<tbb::global_control> control;
  static inline bool is_shut_down = false;               // at fork()
  static inline std::atomic<bool> is_inherited = false;  // its threads are another process's

  static void add(size_t threads) {
    const std::lock_guard lock(mutex);
    size.add(threads);
    resize();
  }
  static void remove(size_t threads) {
    const std::lock_guard lock(mutex);
    size.remove(threads);
    resize();
  }
  static void resize() {
    const size_t threads = size.threads() + 1;  // oneTBB counts the thread that uses it
    const bool is_usual =
        !size.has_crews() || threads == static_cast<size_t>(tbb::info::default_concurrency());
    const size_t wanted = is_usual ? 0 : threads;
    if (wanted == controlled) return;
    // Of several controls, oneTBB obeys the lowest, so there must be one at a time.
    control.reset();
    if (wanted > 0) control.emplace(tbb::global_control::max_allowed_parallelism, wanted);
    controlled = wanted;
  }

  // oneTBB's threads end before fork(), so that the child can start new ones. Its own check finds
  // out whether other code of the program is using it.
  static void before_fork() {
    mutex.lock();
    if (is_inherited || size.has_crews()) return;
    tbb::task_scheduler_handle handle{tbb::attach{}};
    is_shut_down = tbb::finalize(handle, std::nothrow);
  }
  static void in_parent() {
    is_shut_down = false;
    mutex.unlock();
  }
  static void in_child() {
    if (!std::exchange(is_shut_down, false)) {
      is_inherited = true;
      internal::renew_without_destruction(size);
      internal::renew_without_destruction(control);
      controlled = 0;
    }
    mutex.unlock();
  }
};

// Before main(), or when the library is loaded. An error (no memory) is ignored: see fork.cc.
[[maybe_unused]] const int registered =
    pthread_atfork(TbbMarket::before_fork, TbbMarket::in_parent, TbbMarket::in_child);

class TbbThreads final : public CrewThreads {
 public:
  explicit TbbThreads(size_t threads)
      : threads_(threads), arena_(static_cast<int>(threads), /*reserved_for_masters=*/0) {
    TbbMarket::add(threads_);
  }
  ~TbbThreads() override { TbbMarket::remove(threads_); }

  void submit(std::weak_ptr<Work> work, TaskContext context) override {
    // oneTBB calls a const function.
    arena_.enqueue([work = std::move(work), context = std::move(context)]() noexcept {
      run_in_context(work, context);
    });
  }

 private:
  const size_t threads_;
  tbb::task_arena arena_;
};

}  // namespace

std::unique_ptr<CrewThreads> make_tbb_threads(size_t threads) {
  if (TbbMarket::is_inherited) return nullptr;
  return std::make_unique<TbbThreads>(threads);
}

}  // namespace recordpipe::parallel
