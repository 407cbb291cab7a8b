// Provides the threads that compute elements: a oneTBB arena.
#pragma once

#include <cstddef>
#include <memory>

#include "dataset/pipeline/engine/tbb_arena.h"

namespace recordpipe::internal {

// A source of tasks for workers.
class WorkQueue {
 public:
  virtual ~WorkQueue() = default;
  // Runs the available tasks. Must not throw, and must not wait for work that no thread has begun.
  virtual void work() = 0;
};

class WorkerPool {
 public:
  // Threads are shared with the rest of the process (TBB's market) and started on first use.
  // `workers` > 0. If the system can't start a thread, TBB terminates the process.
  explicit WorkerPool(size_t workers) : arena_(workers) {}

  // Makes a worker call queue->work() once, soon, unless the queue is destroyed by then. The timing
  // is not guaranteed: the caller must be able to do the work itself.
  void submit(std::weak_ptr<WorkQueue> queue);

 private:
  TbbArena arena_;
};

}  // namespace recordpipe::internal
