// Files that stay open as long as elements of a cache that may point into them.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace recordpipe::internal {

// Sources add what they open; the cache keeps it. Thread-safe.
class OpenFiles {
 public:
  void add(std::shared_ptr<const void> file) {
    const std::lock_guard lock(mutex_);
    files_.push_back(std::move(file));
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<const void>> files_;
};

}  // namespace recordpipe::internal
