// Notifies TBB's workers of a queue through Visits, which are reused.
#include "dataset/pipeline/engine/worker_pool.h"

#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "dataset/pipeline/engine/tbb_arena.h"
#include "dataset/pipeline/engine/thread_arena.h"
#include "recordpipe/internal/fork.h"

namespace recordpipe::internal {
namespace {

struct Visit {
  std::weak_ptr<WorkQueue> queue;
};

// The visits of the whole process: TBB may run a visit after its arena is destroyed, or never if
// the process ends first. The lock also makes a visit's memory visible to the worker under the C++
// memory model, independently of TBB.
class Visits {
 public:
  static Visits& all() {
    static auto* visits = new Visits;  // never deleted: workers may run until the process ends
    return *visits;
  }

  Visit* begin(std::weak_ptr<WorkQueue> queue) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) free_.push_back(&visits_.emplace_back());
    Visit* visit = free_.back();
    free_.pop_back();
    visit->queue = std::move(queue);
    return visit;
  }

  std::weak_ptr<WorkQueue> end(Visit* visit) {
    const std::lock_guard lock(mutex_);
    free_.push_back(visit);
    return std::move(visit->queue);
  }

 private:
  std::mutex mutex_;
  std::deque<Visit> visits_;
  std::vector<Visit*> free_;
};

void run(void* argument) {
  const auto queue = Visits::all().end(static_cast<Visit*>(argument)).lock();
  if (queue) queue->work();
}

}  // namespace

WorkerPool::WorkerPool(size_t workers) {
  if (fork_generation() == 0) {
    tbb_ = std::make_unique<TbbArena>(workers);
  } else {
    threads_ = std::make_unique<ThreadArena>(workers);
  }
}

WorkerPool::~WorkerPool() = default;

void WorkerPool::submit(std::weak_ptr<WorkQueue> queue) {
  if (threads_) return threads_->submit(std::move(queue));
  Visit* visit = Visits::all().begin(std::move(queue));
  try {
    tbb_->enqueue(run, visit);
  } catch (...) {
    Visits::all().end(visit);
    throw;
  }
}

}  // namespace recordpipe::internal
