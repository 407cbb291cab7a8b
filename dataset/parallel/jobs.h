// Functions that are called once each, ahead of the thread that needs their results.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "dataset/parallel/crew.h"
#include "dataset/parallel/task_context.h"

namespace recordpipe::parallel {

// The queue of Jobs. Its lock also guards the progress of all jobs.
class JobQueue final : public Work, public std::enable_shared_from_this<JobQueue> {
 public:
  class Entry {
   public:
    virtual ~Entry() = default;

   protected:
    // Calls the function and keeps its result or exception.
    virtual void call() noexcept = 0;

   private:
    friend JobQueue;
    enum class Progress { waiting, running, done, dropped };
    Progress progress_ = Progress::waiting;
    TaskContext context_ = TaskContext::current();  // of the thread that submits the job
  };

  JobQueue(size_t threads, CrewKind kind)
      : threads_(threads), helpers_(kind == CrewKind::waits ? threads : threads - 1), kind_(kind) {}

  void push(std::shared_ptr<Entry> entry);
  // Returns when the job is done; it must not have been dropped.
  void wait(Entry& entry);
  // Returns whether the job was dropped: its function was not called and never will be.
  bool drop(Entry& entry);
  // Drops all jobs that have not begun, and waits for those that have.
  void close();

  void work() noexcept override;

 private:
  void run(std::shared_ptr<Entry> entry, std::unique_lock<std::mutex>& lock);
  std::shared_ptr<Entry> take_first();
  std::shared_ptr<Entry> take(Entry& entry);

  const size_t threads_;
  const size_t helpers_;  // of them in the crew; a thread that waits is the other
  const CrewKind kind_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Entry>> waiting_;  // in the order of submission
  size_t running_ = 0;
  size_t visits_ = 0;         // threads of the crew that are in work(), or were asked for
  std::optional<Crew> crew_;  // made with the first job
};

// A handle of a job. Copies refer to the same job. Must not outlive its Jobs, except to be
// destroyed.
template <class Result>
class Job {
 public:
  Job() = default;
  bool valid() const { return entry_ != nullptr; }

  // Waits for the job (see Jobs), and returns its result or throws its exception. May be called
  // once for a job that was not dropped; the handle is then not valid.
  Result get() {
    const std::shared_ptr<Entry> entry = std::exchange(entry_, nullptr);
    queue_->wait(*entry);
    // An exception has one owner: it isn't freed on one thread while another one reads it.
    if (entry->error) std::rethrow_exception(std::exchange(entry->error, nullptr));
    if constexpr (!std::is_void_v<Result>) return std::move(*entry->result);
  }
  // Returns true if the function has not begun; it will then never be called.
  bool drop() { return queue_->drop(*entry_); }

 private:
  friend class Jobs;
  using Value = std::conditional_t<std::is_void_v<Result>, bool, Result>;

  struct Entry final : JobQueue::Entry {
    explicit Entry(std::function<Result()> job) : function(std::move(job)) {}
    void call() noexcept override {
      try {
        if constexpr (std::is_void_v<Result>) {
          function();
        } else {
          result.emplace(function());
        }
      } catch (...) {
        error = std::current_exception();
      }
      function = nullptr;  // what it has captured is not kept until the result is taken
    }

    std::function<Result()> function;
    std::optional<Value> result = {};
    std::exception_ptr error = {};
  };

  std::shared_ptr<Entry> entry_;
  std::shared_ptr<JobQueue> queue_;
};

// The jobs of one computation. They begin in the order of submission, in the context of the thread
// that submits them (task_context.h), on the threads of a crew. A thread that waits for a job calls
// its function itself if it has not begun, so there is progress without other threads. While the
// job runs on another thread, a waiting thread calls the functions of other jobs that have not
// begun, unless the kind is CrewKind::waits: one that needs long would delay it. A job must not
// wait for another one of the same Jobs.
class Jobs {
 public:
  // At most `threads` (at least 1) functions run at a time. With CrewKind::computes, one of them
  // runs on a thread that waits: with 1 thread, functions are called when they are waited for.
  explicit Jobs(size_t threads, CrewKind kind = CrewKind::computes)
      : queue_(std::make_shared<JobQueue>(threads, kind)) {}
  // Drops the jobs that have not begun, and waits for those that are running.
  ~Jobs() { queue_->close(); }
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  // `function` must be copyable.
  template <class Function>
  Job<std::invoke_result_t<Function>> submit(Function function) {
    using Handle = Job<std::invoke_result_t<Function>>;
    Handle job;
    job.entry_ = std::make_shared<typename Handle::Entry>(std::move(function));
    job.queue_ = queue_;
    queue_->push(job.entry_);
    return job;
  }

 private:
  const std::shared_ptr<JobQueue> queue_;
};

}  // namespace recordpipe::parallel
