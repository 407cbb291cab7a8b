// Provides the threads that compute elements.
#pragma once

#include <cstddef>
#include <memory>

namespace recordpipe::internal {

// A source of tasks for workers.
class WorkQueue {
 public:
  virtual ~WorkQueue() = default;
  // Runs the available tasks. Must not throw, and must not wait for work that no thread has begun.
  virtual void work() = 0;
};

// The threads of one iteration. A thread stays in WorkQueue::work() while there is work, so calls
// of submit() are rare.
//
// Not a oneTBB arena: a process made by fork() has TBB's memory, but not its threads. TBB can't
// start others there, and its exit handlers wait for locks that threads of the parent held, if the
// forking thread has ever used TBB.
class WorkerPool {
 public:
  // At most `workers` threads, each started when there is work for it.
  explicit WorkerPool(size_t workers);
  // Doesn't wait for the threads, because one of them may destroy the pool: they end after their
  // current work().
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Makes a worker call queue->work() once, soon, unless the queue or the pool is destroyed by
  // then. The timing is not guaranteed, and if the system can't start a thread, there may be no
  // worker: the caller must be able to do the work itself. Thread-safe.
  void submit(std::weak_ptr<WorkQueue> queue);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace recordpipe::internal
