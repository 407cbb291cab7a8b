// Marks the threads that work for a pass, so that a function which they run can't wait for the
// pass.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace recordpipe::internal {

// What the current thread works for. The threads that a pipeline starts inherit it from the thread
// that starts them. `outer`: that of the thread which made this owner.
struct WorkOwner {
  explicit WorkOwner(std::shared_ptr<const WorkOwner> maker) : outer(std::move(maker)) {}

  const std::shared_ptr<const WorkOwner> outer;
  // The pass was asked to stop: what is computed for it is thrown away.
  std::atomic<bool> is_stopping = false;
};

inline thread_local std::shared_ptr<const WorkOwner> work_owner;

// Whether this thread works for `owner`, also by way of a pass inside of its pass.
inline bool works_for(const WorkOwner& owner) noexcept {
  for (const WorkOwner* at = work_owner.get(); at; at = at->outer.get()) {
    if (at == &owner) return true;
  }
  return false;
}

// Whether what this thread computes will be thrown away.
inline bool works_in_vain() noexcept {
  for (const WorkOwner* at = work_owner.get(); at; at = at->outer.get()) {
    if (at->is_stopping) return true;
  }
  return false;
}

// Makes this thread work for `owner`.
class WorkScope {
 public:
  explicit WorkScope(std::shared_ptr<const WorkOwner> owner) noexcept
      : before_(std::exchange(work_owner, std::move(owner))) {}
  ~WorkScope() { work_owner = std::move(before_); }
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

 private:
  std::shared_ptr<const WorkOwner> before_;
};

}  // namespace recordpipe::internal
