// The queue of work behind crews, and the threads that take it. Two of them, twins: oneTBB's
// threads and plain ones.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "dataset/parallel/crew.h"
#include "dataset/parallel/task_context.h"

namespace recordpipe::parallel {

// A crew's share of a market. Guarded by the market's mutex.
struct CrewShare {
  const size_t most;   // threads at a time
  size_t waiting = 0;  // work in the queue
  size_t running = 0;  // threads
};

class Market : public std::enable_shared_from_this<Market> {
 public:
  virtual ~Market() = default;

  // A crew is made, or destroyed.
  void add(const CrewShare& share);
  void remove(const CrewShare& share);
  // May throw if there is no memory.
  void submit(std::shared_ptr<CrewShare> share, std::weak_ptr<Work> work, TaskContext context);

 protected:
  using Lock = std::unique_lock<std::mutex>;

  // The crews have changed.
  virtual void resize() = 0;
  // Makes a thread call run_all(), soon. The functions below, and this one, are called with the
  // lock.
  virtual void call_thread() = 0;

  // Runs, on the calling thread, the work that may run now.
  void run_all(Lock& lock);

  // The most threads for all crews: as many as there are cores, less the one that uses a crew, or
  // as many as a crew asks for; 0 without crews.
  size_t most_threads() const;
  bool has_crews() const { return !crews_.empty(); }
  size_t queued() const { return queue_.size(); }

  std::mutex mutex_;

 private:
  struct Item {
    std::shared_ptr<CrewShare> share;
    std::weak_ptr<Work> work;
    TaskContext context;
  };

  std::vector<Item> queue_;      // few; a deque would allocate again and again
  std::multiset<size_t> crews_;  // their threads
  size_t cpus_ = 1;              // asked when the first crew is made
};

// The market of the process, of plain threads.
std::shared_ptr<Market> plain_market();
// A market of plain threads for one crew that waits.
std::shared_ptr<Market> make_own_market();
// The market of the process, of oneTBB's threads, for a crew of `threads`; null if oneTBB can't be
// used in this process (see Crew about fork()), or if the system can't start so many threads. Not
// defined if the library is built without oneTBB.
std::shared_ptr<Market> tbb_market(size_t threads);

}  // namespace recordpipe::parallel
