// The twins behind Crew: oneTBB's threads and plain threads.
#pragma once

#include <cstddef>
#include <memory>
#include <set>

#include "dataset/parallel/crew.h"
#include "dataset/parallel/task_context.h"

namespace recordpipe::parallel {

class CrewThreads {
 public:
  virtual ~CrewThreads() = default;
  // Runs the work by run_in_context(), on another thread. May throw.
  virtual void submit(std::weak_ptr<Work> work, TaskContext context) = 0;
};

// `threads`: at least 1.
std::unique_ptr<CrewThreads> make_plain_threads(size_t threads, CrewKind kind);

// Null if oneTBB can't be used in this process (see Crew about fork()). Not defined if the library
// is built without oneTBB.
std::unique_ptr<CrewThreads> make_tbb_threads(size_t threads);

// Calls work->work() in the context, if the Work still exists. If this thread drops the last
// reference to it, it is destroyed in the context, too.
void run_in_context(std::weak_ptr<Work> work, TaskContext context) noexcept;

// The number of threads of a market. Not thread-safe.
class MarketSize {
 public:
  // A crew of `threads` threads is made, or destroyed.
  void add(size_t threads);
  void remove(size_t threads) { crews_.extract(threads); }

  bool has_crews() const { return !crews_.empty(); }
  // The most threads of all crews together; 0 without crews. They come in addition to the threads
  // that use the crews, of which there is usually one at work.
  size_t threads() const;

 private:
  std::multiset<size_t> crews_;  // their threads
  size_t cpus_ = 1;              // asked when the first crew is made
};

}  // namespace recordpipe::parallel
