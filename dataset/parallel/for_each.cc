#include "dataset/parallel/for_each.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "dataset/parallel/jobs.h"

namespace recordpipe::parallel {

void for_each(uint64_t count, size_t threads, const std::function<void(uint64_t)>& function,
              CrewKind kind) {
  std::atomic<uint64_t> next = 0;
  std::atomic<uint64_t> failed = count;  // everything before it is still done
  std::exception_ptr error;
  std::mutex mutex;
  const auto run = [&] {
    for (uint64_t i = next++; i < failed; i = next++) {
      try {
        function(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i >= failed) return;
        failed = i;
        error = std::current_exception();
      }
    }
  };
  const size_t lanes = std::min<uint64_t>(threads, count);
  if (lanes <= 1) {
    run();
  } else {
    Jobs jobs(lanes, kind);
    std::vector<Job<void>> others;
    for (size_t i = 1; i < lanes; ++i) others.push_back(jobs.submit(run));
    run();
    // Lanes that have not begun find nothing to do, and are dropped.
  }
  const std::lock_guard lock(mutex);
  if (error) std::rethrow_exception(std::exchange(error, nullptr));
}

}  // namespace recordpipe::parallel
