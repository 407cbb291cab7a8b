// What an iterator has left out, and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/error.h"

namespace recordpipe {

// Where an element that was skipped came from, as far as its error says.
struct SkippedElement {
  std::string path;                // empty where the error names none
  std::optional<uint64_t> offset;  // in bytes
  std::string reason;
  bool operator==(const SkippedElement&) const = default;
};

struct SkippedReport {
  // By all ignore_errors of the iterator, since it was made, in all epochs. After a restore also
  // what was skipped on the way to the restored place, from the last place kept before it.
  uint64_t count = 0;
  // The first of them, at most kMaxFirst.
  std::vector<SkippedElement> first;
  static constexpr size_t kMaxFirst = 100;
};

// Shared by the stages of one iteration, that write, and their iterator, that reads. Any thread.
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

}  // namespace recordpipe
