// The threads that compute elements: a oneTBB arena.
#pragma once

#include <cstddef>
#include <memory>

#include "dataset/pipeline/engine/tbb_arena.h"

namespace recordpipe::internal {

// Something a worker can help with.
class WorkQueue {
 public:
  virtual ~WorkQueue() = default;
  // Does what work there is. Doesn't throw and doesn't wait for work that nobody does yet.
  virtual void work() = 0;
};

class WorkerPool {
 public:
  // Threads are shared with the rest of the process (TBB's market) and started when first needed.
  // `workers` > 0. If the system can't start a thread, TBB ends the process.
  explicit WorkerPool(size_t workers) : arena_(workers) {}

  // Has a worker call queue->work() once, soon; not at all if the queue is gone by then. Nothing
  // may be taken for granted about when: the caller must be able to do the work itself.
  void submit(std::weak_ptr<WorkQueue> queue);

 private:
  TbbArena arena_;
};

}  // namespace recordpipe::internal
