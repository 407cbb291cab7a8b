// Limits the number of requests that run at the same time, as the servers ask for.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "recordpipe/internal/fork.h"

namespace recordpipe {

// Additive increase, multiplicative decrease: a server that is too busy (429, 503) halves the
// limit, down to 1; as many good answers as the limit is raise it by 1, up to the largest. Requests
// that were sent before the limit was halved don't halve it again. Thread-safe.
class RequestLimit {
 public:
  explicit RequestLimit(size_t most) : most_(most > 0 ? most : 1), limit_(most_) {}

  // A request that runs. The constructor waits until there are fewer than the limit.
  class Running {
   public:
    explicit Running(RequestLimit& limit);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    // Must be called for each answer.
    void answered(long status);

   private:
    RequestLimit& limit_;
    size_t round_ = 0;
  };

  size_t limit() const;

 private:
  const size_t most_;
  mutable std::mutex mutex_;  // guards all members below
  std::condition_variable freed_;
  size_t limit_;
  size_t running_ = 0;
  size_t good_ = 0;   // answers since the limit was last changed
  size_t round_ = 0;  // counts the halvings
  const internal::AfterFork renewal_{[this] {
    internal::renew(mutex_);
    internal::renew_without_destruction(freed_);
    running_ = 0;
  }};
};

}  // namespace recordpipe
