// Limits the bytes that several streams may have requested, or hold unread.
#pragma once

#include <cstdint>
#include <mutex>

#include "recordpipe/base/internal/fork.h"

namespace recordpipe {

// Thread-safe.
class ByteBudget {
 public:
  explicit ByteBudget(uint64_t bytes) : free_(bytes) {}

  // Returns false if fewer than `bytes` + `leave` are left.
  bool take(uint64_t bytes, uint64_t leave = 0) {
    const std::lock_guard lock(mutex_);
    if (bytes > free_ || leave > free_ - bytes) return false;
    free_ -= bytes;
    return true;
  }
  void give_back(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    free_ += bytes;
  }

 private:
  std::mutex mutex_;
  uint64_t free_;
  const internal::AfterFork renewal_{[this] { internal::renew(mutex_); }};
};

}  // namespace recordpipe
