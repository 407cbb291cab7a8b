// Stops a call that has no object to stop, such as Dataset::cardinality(), which may read files.
#pragma once

#include <stop_token>
#include <utility>

namespace recordpipe::internal {

// Of the current thread's call. A call that is stopped throws Error{cancelled}.
inline thread_local std::stop_token call_stop;

class CallStopScope {
 public:
  explicit CallStopScope(std::stop_token stop) noexcept
      : before_(std::exchange(call_stop, std::move(stop))) {}
  ~CallStopScope() { call_stop = std::move(before_); }
  CallStopScope(const CallStopScope&) = delete;
  CallStopScope& operator=(const CallStopScope&) = delete;

 private:
  std::stop_token before_;
};

}  // namespace recordpipe::internal
