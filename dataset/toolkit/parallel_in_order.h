// Work on several threads whose results come out in the order of the input.
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

// Threads that run jobs in the order in which they were given.

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

// What inputs on their way may be together, in bytes, before others wait.
inline constexpr size_t kMostOnTheirWay = size_t{8} << 20;

// Calls consume(work(input)) for each input that next() gives until it gives none. next() and
// consume() run on the calling thread, in order; work() runs on `threads` others, at most
// 2 * threads + 1 inputs at a time between next() and consume(). The first exception, in the order
// of the inputs, comes out when all that was begun is over: what next() throws, after everything
// before it was consumed.
//
// Inputs may be large: where size(input) is given, nothing is taken from next() while those on
// their way are together kMostOnTheirWay or more.
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
  size_t on_their_way = 0;  // the sizes of those in flight
  std::exception_ptr input_error;
  bool more = true;
  JobThreads workers(threads);  // last: joined before what jobs use is gone

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
