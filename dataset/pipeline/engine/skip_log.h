// Counts the elements that an iterator has skipped, and keeps the first errors.
#pragma once

#include <mutex>

#include "recordpipe/error.h"
#include "recordpipe/ignore_errors.h"

namespace recordpipe::internal {

// Shared by the stages of one iteration, which write, and their iterator, which reads. Thread-safe.
class SkipLog {
 public:
  void add(const Error& error) {
    const std::lock_guard lock(mutex_);
    ++report_.count;
    if (report_.first.size() == SkippedReport::kMaxFirst) return;
    report_.first.push_back({error.path(), error.offset(), error.reason()});
  }

  SkippedReport report() const {
    const std::lock_guard lock(mutex_);
    return report_;
  }

 private:
  mutable std::mutex mutex_;
  SkippedReport report_;
};

}  // namespace recordpipe::internal
