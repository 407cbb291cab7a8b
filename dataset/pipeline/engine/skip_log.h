// Counts the elements that an iterator has skipped, and keeps the first errors.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "recordpipe/error.h"
#include "recordpipe/ignore_errors.h"

namespace recordpipe::internal {

// An error that ends its source, with what is lost by that, in words.
class LostRest final : public Error {
 public:
  LostRest(const Error& error, std::string loss) : Error(error), loss_(std::move(loss)) {}
  const std::string& loss() const { return loss_; }

 private:
  std::string loss_;
};

// Shared by the stages of one iteration, which write, and their iterator, which reads. Thread-safe.
class SkipLog {
 public:
  void add(const Error& error) {
    const std::lock_guard lock(mutex_);
    ++report_.count;
    if (report_.first.size() == SkippedReport::kMaxFirst) return;
    std::string reason = error.reason();
    if (const auto* ending = dynamic_cast<const LostRest*>(&error)) {
      reason += "; " + ending->loss();
    }
    report_.first.push_back({error.path(), error.offset(), std::move(reason)});
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
