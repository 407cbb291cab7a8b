// Runs tasks on the crew before their results are needed.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "dataset/parallel/crew.h"
#include "dataset/pipeline/execute/thread_tuner.h"
#include "dataset/pipeline/plan/stage_context.h"

namespace recordpipe::internal {

// The thread that needs a result runs the task itself if no worker has begun it, and waits only for
// a running task. It never runs another task, because that task may never end (a filter that finds
// no more elements). Workers begin with the task that was started last, because it is needed last.
// A task may wait for other tasks only in queues of its own.
class TaskQueue final : public parallel::Work, public std::enable_shared_from_this<TaskQueue> {
 public:
  class Task {
   public:
    virtual ~Task() = default;  // only after cancel()
    // `is_needed`: a thread waits for the first result; otherwise run() may compute several.
    virtual void run(bool is_needed) noexcept = 0;

   private:
    friend TaskQueue;
    enum class State { idle, waiting, running };
    State state_ = State::idle;  // guarded by mutex_
  };

  // Without a crew, wait() runs all tasks. The crew must outlive all calls except work().
  explicit TaskQueue(const StageContext& context)
      : crew_(context.crew.get()),
        owner_(context.stage),
        helpers_(context.threads - 1, context.tune_threads) {}

  // start(), wait() and cancel() are for one thread. start() schedules the task if it is idle.
  void start(Task& task);
  // Returns when take() has returned true, even if the task is still running. Until then, the task
  // is run as often as necessary, even if it was not started.
  template <class Take>
  void wait(Task& task, Take take) {
    std::unique_lock lock(mutex_);
    bool has_come = take();
    helpers_.came(!has_come);
    for (; !has_come; has_come = take()) advance(task, lock);
  }
  // Returns when the task is idle; a task that has not begun is not run.
  void cancel(Task& task);

  // Called by a running task to hand over a result: `put` and take() never run at the same time.
  template <class Put>
  void hand_over(Put put) {
    const std::lock_guard lock(mutex_);
    put();
    changed_.notify_all();
  }

  void work() noexcept override;

 private:
  void advance(Task& task, std::unique_lock<std::mutex>& lock);
  void run(Task& task, bool is_needed, std::unique_lock<std::mutex>& lock);

  parallel::Crew* const crew_;
  StageMonitor* const owner_;  // used only while a task is running
  ThreadTuner helpers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task*> waiting_;  // in the order they were started
  size_t visits_ = 0;           // number of workers in work() or about to call it
};

}  // namespace recordpipe::internal
