// The queues of work behind crews, and the threads that take it. Two of them, twins: oneTBB's
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
  struct Item {
    std::weak_ptr<Work> work;
    TaskContext context;
  };

  explicit CrewShare(size_t threads) : most(threads) {}
  bool can_run() const { return !queue.empty() && running < most; }

  const size_t most;        // threads at a time
  size_t running = 0;       // threads
  std::vector<Item> queue;  // few; a deque would allocate again and again
};

class Market : public std::enable_shared_from_this<Market> {
 public:
  virtual ~Market() = default;

  // A crew is made, or destroyed. add() may throw.
  void add(const std::shared_ptr<CrewShare>& share);
  void remove(const std::shared_ptr<CrewShare>& share);
  // May throw if there is no memory.
  void submit(CrewShare& share, std::weak_ptr<Work> work, TaskContext context);

 protected:
  using Lock = std::unique_lock<std::mutex>;

  // All functions below are called with the lock.

  // The crews have changed.
  virtual void resize() = 0;
  // Makes a thread call run_all(), soon. Returns false if there is no thread for it. May throw.
  virtual bool call_thread() = 0;
  // The most threads at work for all crews.
  virtual size_t max_threads() const = 0;

  // For a thread that call_thread() has called: runs the work that may run now. Prefers the crew
  // that has the fewest threads at work.
  void run_all(Lock& lock);

  bool has_crews() const { return !shares_.empty(); }
  // The threads of the largest crew; 0 without crews.
  size_t largest_crew() const { return sizes_.empty() ? 0 : *sizes_.rbegin(); }

  std::mutex mutex_;

 private:
  std::shared_ptr<CrewShare> next_share() const;

  std::vector<std::shared_ptr<CrewShare>> shares_;
  std::multiset<size_t> sizes_;
  size_t queued_ = 0;   // work of all crews
  size_t called_ = 0;   // threads that have not come yet
  size_t at_work_ = 0;  // threads in run_all()
};

// The market of the process, of plain threads.
std::shared_ptr<Market> plain_market();
// A market of plain threads for one crew that waits.
std::shared_ptr<Market> make_own_market();
// The market of the process, of oneTBB's threads, for a crew of `threads`; null if oneTBB can't be
// used in this process (see Crew about fork()) or for so many threads, or if the system can't start
// them. Not defined if the library is built without oneTBB.
std::shared_ptr<Market> tbb_market(size_t threads);

}  // namespace recordpipe::parallel
