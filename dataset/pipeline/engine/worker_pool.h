// Provides the threads that compute elements: a oneTBB arena, or plain threads after fork().
#pragma once

#include <cstddef>
#include <memory>

namespace recordpipe::internal {

class TbbArena;
class ThreadArena;

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
  //
  // A process made by fork() has TBB's memory, but not its threads, and TBB can't start others. So
  // its pools have threads of their own.
  explicit WorkerPool(size_t workers);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Makes a worker call queue->work() once, soon, unless the queue is destroyed by then. The timing
  // is not guaranteed: the caller must be able to do the work itself.
  void submit(std::weak_ptr<WorkQueue> queue);

 private:
  std::unique_ptr<TbbArena> tbb_;         // null after fork()
  std::unique_ptr<ThreadArena> threads_;  // null unless after fork()
};

}  // namespace recordpipe::internal
