// Threads that run jobs in the order in which they were given.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace recordpipe {

// What a job returns or throws, when it is done. As std::future, but an exception has one owner at
// a time and passes to the next under a lock, which ThreadSanitizer sees.
template <typename T>
class JobResult {
 public:
  JobResult() = default;
  bool valid() const { return state_ != nullptr; }

  // Waits for the job. Once.
  T get() {
    const auto state = std::exchange(state_, nullptr);
    std::unique_lock lock(state->mutex);
    state->done.wait(lock, [&] { return state->value || state->failure; });
    if (state->failure) std::rethrow_exception(std::exchange(state->failure, nullptr));
    return std::move(*state->value);
  }

 private:
  friend class JobThreads;
  struct State {
    std::mutex mutex;
    std::condition_variable done;
    std::optional<T> value;
    std::exception_ptr failure;
  };

  explicit JobResult(std::shared_ptr<State> state) : state_(std::move(state)) {}

  template <typename Job>
  static void run(State& state, Job& job) {
    std::optional<T> value;
    std::exception_ptr failure;
    try {
      value = job();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(state.mutex);
    state.value = std::move(value);
    state.failure = std::move(failure);
    state.done.notify_one();
  }

  std::shared_ptr<State> state_;
};

class JobThreads {
 public:
  explicit JobThreads(size_t threads) {
    for (size_t i = 0; i < threads; ++i) {
      threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
    }
  }
  // Waits for jobs that run; drops those that don't yet.
  ~JobThreads() {
    for (std::jthread& thread : threads_) thread.request_stop();
  }
  JobThreads(const JobThreads&) = delete;
  JobThreads& operator=(const JobThreads&) = delete;

  template <typename Job>
  JobResult<std::invoke_result_t<Job>> submit(Job job) {
    using Result = JobResult<std::invoke_result_t<Job>>;
    const auto state = std::make_shared<typename Result::State>();
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back([state, job = std::move(job)]() mutable { Result::run(*state, job); });
    }
    job_came_.notify_one();
    return Result(state);
  }

 private:
  void run(const std::stop_token& stop) {
    while (true) {
      std::function<void()> job;
      {
        std::unique_lock lock(mutex_);
        job_came_.wait(lock, stop, [&] { return !jobs_.empty(); });
        if (stop.stop_requested()) return;
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      job();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any job_came_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::jthread> threads_;  // last: joined first
};

}  // namespace recordpipe
