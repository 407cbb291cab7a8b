#include "dataset/rlds/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace recordpipe::rlds {

void for_each_in_parallel(uint64_t count, size_t threads,
                          const std::function<void(uint64_t)>& work) {
  std::atomic<uint64_t> next = 0;
  std::atomic<uint64_t> failed = count;  // everything before it is still done
  std::exception_ptr error;
  std::mutex mutex;
  const auto run = [&] {
    for (uint64_t i = next++; i < failed; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i >= failed) return;
        failed = i;
        error = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (uint64_t i = 1; i < std::min<uint64_t>(threads, count); ++i) others.emplace_back(run);
    run();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace recordpipe::rlds
