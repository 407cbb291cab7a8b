// Runs work on several threads and delivers the results in the order of the inputs.
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

// Holds the result or the exception of a job once the job is done. Like std::future, but an
// exception has one owner at a time and is handed over under a lock, which ThreadSanitizer
// recognizes.
template <typename T>
class JobResult {
 public:
  JobResult() = default;
  bool valid() const { return state_ != nullptr; }

  // Waits for the job; returns its result or throws its exception. May be called only once.
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

// Threads that start jobs in the order of submission.
class JobThreads {
 public:
  explicit JobThreads(size_t threads) {
    for (size_t i = 0; i < threads; ++i) {
      threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
    }
  }
  // Waits for running jobs, and drops jobs that have not started.
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

// Limit on the total size of inputs in flight, in bytes; further inputs wait.
inline constexpr size_t kMostOnTheirWay = size_t{8} << 20;

// Calls consume(work(input)) for each input that next() returns, until next() returns std::nullopt.
// next() and consume() run on the calling thread, in order; work() runs on `threads` other threads.
// At most 2 * threads + 1 inputs are between next() and consume() at a time. The first exception,
// in the order of the inputs, is thrown after all running work has ended; an exception from next()
// is thrown after all earlier inputs were consumed.
//
// For large inputs: if `size` is given, next() is not called while the sizes of the inputs in
// flight add up to kMostOnTheirWay or more.
template <typename Input, typename Output>
void parallel_in_order(size_t threads, const std::function<std::optional<Input>()>& next,
                       const std::function<Output(Input)>& work,
                       const std::function<void(Output)>& consume,
                       const std::function<size_t(const Input&)>& size = nullptr) {
  struct InFlight {
    JobResult<Output> result;
    size_t size;
  };
  std::deque<InFlight> in_flight;
  size_t on_their_way = 0;  // total size of the inputs in flight
  std::exception_ptr input_error;
  bool more = true;
  JobThreads workers(threads);  // last: joined before the jobs' data is destroyed

  const auto begin_job = [&] {
    try {
      std::optional<Input> input = next();
      more = input.has_value();
      if (!more) return;
      const size_t its_size = size ? size(*input) : 0;
      in_flight.push_back({workers.submit([&work, input = *std::move(input)]() mutable {
                             return work(std::move(input));
                           }),
                           its_size});
      on_their_way += its_size;
    } catch (...) {
      input_error = std::current_exception();
      more = false;
    }
  };
  while (true) {
    while (more && in_flight.size() < 2 * threads + 1 &&
           (in_flight.empty() || on_their_way < kMostOnTheirWay)) {
      begin_job();
    }
    if (in_flight.empty()) break;
    InFlight first = std::move(in_flight.front());
    in_flight.pop_front();
    Output output = first.result.get();
    on_their_way -= first.size;
    consume(std::move(output));
  }
  if (input_error) std::rethrow_exception(input_error);
}

}  // namespace recordpipe
