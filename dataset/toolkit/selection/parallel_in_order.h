// Work on several threads whose results come out in the order of the input.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace recordpipe {

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
  struct Job {
    Job(Input given, size_t its_size) : input(std::move(given)), size(its_size) {}
    Input input;
    size_t size;
    std::optional<Output> output;
    std::exception_ptr error;
    bool done = false;
  };
  std::mutex mutex;
  std::condition_variable todo_came;
  std::condition_variable job_done;
  std::deque<std::shared_ptr<Job>> todo;
  bool over = false;

  const auto run_jobs = [&] {
    std::unique_lock lock(mutex);
    while (true) {
      todo_came.wait(lock, [&] { return over || !todo.empty(); });
      if (over) return;
      const std::shared_ptr<Job> job = std::move(todo.front());
      todo.pop_front();
      lock.unlock();
      try {
        job->output.emplace(work(std::move(job->input)));
      } catch (...) {
        job->error = std::current_exception();
      }
      lock.lock();
      job->done = true;
      job_done.notify_one();
    }
  };

  std::vector<std::jthread> workers;
  // Before the workers are joined, whatever ends this function.
  struct End {
    std::mutex& mutex;
    std::condition_variable& todo_came;
    bool& over;
    ~End() {
      {
        const std::lock_guard lock(mutex);
        over = true;
      }
      todo_came.notify_all();
    }
  };
  std::deque<std::shared_ptr<Job>> in_flight;
  const End end{mutex, todo_came, over};
  for (size_t i = 0; i < threads; ++i) workers.emplace_back(run_jobs);

  std::exception_ptr input_error;
  bool more = true;
  size_t on_their_way = 0;  // the sizes of those in flight
  const auto begin_job = [&] {
    try {
      std::optional<Input> input = next();
      more = input.has_value();
      if (!more) return;
      const size_t its_size = size ? size(*input) : 0;
      in_flight.push_back(std::make_shared<Job>(*std::move(input), its_size));
      on_their_way += its_size;
    } catch (...) {
      input_error = std::current_exception();
      more = false;
      return;
    }
    {
      const std::lock_guard lock(mutex);
      todo.push_back(in_flight.back());
    }
    todo_came.notify_one();
  };
  while (true) {
    while (more && in_flight.size() < 2 * threads + 1 &&
           (in_flight.empty() || on_their_way < kMostOnTheirWay)) {
      begin_job();
    }
    if (in_flight.empty()) break;
    const std::shared_ptr<Job> job = std::move(in_flight.front());
    in_flight.pop_front();
    {
      std::unique_lock lock(mutex);
      job_done.wait(lock, [&] { return job->done; });
    }
    if (job->error) std::rethrow_exception(job->error);
    on_their_way -= job->size;
    consume(*std::move(job->output));
  }
  if (input_error) std::rethrow_exception(input_error);
}

}  // namespace recordpipe
