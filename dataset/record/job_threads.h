// Threads that run jobs in the order in which they were given.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace recordpipe {

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

  // The future gives what the job returns or throws.
  template <typename Job>
  std::future<std::invoke_result_t<Job>> submit(Job job) {
    using Task = std::packaged_task<std::invoke_result_t<Job>()>;
    const auto task = std::make_shared<Task>(std::move(job));
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back([task] { (*task)(); });
    }
    job_came_.notify_one();
    return task->get_future();
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
