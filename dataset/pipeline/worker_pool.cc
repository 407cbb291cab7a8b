// WorkerPool on oneTBB.
#include "dataset/pipeline/worker_pool.h"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

namespace recordpipe {

struct WorkerPool::State {
  explicit State(size_t workers)
      : limit(tbb::global_control::max_allowed_parallelism, workers + 1),
        arena(static_cast<int>(workers), /*reserved_for_masters=*/0) {}

  // TBB starts one thread less than there are cores unless it is told otherwise.
  tbb::global_control limit;
  tbb::task_arena arena;
};

WorkerPool::WorkerPool(size_t workers) : state_(std::make_unique<State>(workers)) {}
WorkerPool::~WorkerPool() = default;

void WorkerPool::submit(const std::weak_ptr<WorkQueue>& queue) {
  state_->arena.enqueue([queue] {
    if (const auto alive = queue.lock()) alive->run_one();
  });
}

}  // namespace recordpipe
