// A plain pool of threads, for processes made by fork(), in which TBB has lost its threads.
#pragma once

#include <cstddef>
#include <memory>

#include "dataset/pipeline/engine/worker_pool.h"

namespace recordpipe::internal {

class ThreadArena {
 public:
  // Starts at most `workers` threads, when there is work for them.
  explicit ThreadArena(size_t workers);
  // Does not wait for the threads, which may destroy the pool: they end after their current work.
  ~ThreadArena();
  ThreadArena(const ThreadArena&) = delete;
  ThreadArena& operator=(const ThreadArena&) = delete;

  // Makes a thread call queue->work() once, unless the queue or this pool is destroyed by then.
  // Throws std::system_error if there is no thread and none can be started.
  void submit(std::weak_ptr<WorkQueue> queue);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace recordpipe::internal
