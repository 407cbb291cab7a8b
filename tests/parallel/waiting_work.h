// Work that waits in a thread of a crew until the test lets it go on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "dataset/parallel/crew.h"

namespace recordpipe::parallel {

// Counts the threads that are in work().
class WaitingWork final : public Work {
 public:
  void work() noexcept override {
    std::unique_lock lock(mutex_);
    ++begun_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return is_released_; });
  }

  void release() {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
    changed_.notify_all();
  }
  // Waits until `count` threads have begun. Returns false if they haven't after `limit`.
  bool wait_for(size_t count, std::chrono::milliseconds limit = std::chrono::seconds(60)) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return begun_ >= count; });
  }
  size_t begun() {
    const std::lock_guard lock(mutex_);
    return begun_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t begun_ = 0;
  bool is_released_ = false;
};

// A thread that has not begun after this time is taken for one that never does.
inline constexpr std::chrono::milliseconds kNever{100};

}  // namespace recordpipe::parallel
