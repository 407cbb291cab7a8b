// What a task inherits from the thread that submits it.
#pragma once

#include <memory>
#include <stop_token>
#include <utility>

#include "recordpipe/base/internal/call_stop.h"
#include "recordpipe/base/internal/work_owner.h"

namespace recordpipe::parallel {

// The pass that the thread works for (work_owner.h) and the stop request of its call (call_stop.h).
// Crews and service threads capture it when a task is submitted or a thread is started, and install
// it around the task. Nothing else copies thread-local values from thread to thread.
struct TaskContext {
  std::shared_ptr<const internal::WorkOwner> owner;
  std::stop_token stop;

  // Of this thread.
  static TaskContext current() { return {internal::work_owner, internal::call_stop}; }
};

// Installs a context in this thread, until the scope ends.
class TaskContextScope {
 public:
  explicit TaskContextScope(TaskContext context) noexcept
      : owner_(std::move(context.owner)), stop_(std::move(context.stop)) {}

 private:
  internal::WorkScope owner_;
  internal::CallStopScope stop_;
};

}  // namespace recordpipe::parallel
