#include "dataset/pipeline/engine/worker_pool.h"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "recordpipe/internal/fork_block.h"
#include "recordpipe/internal/work_owner.h"

namespace recordpipe::internal {

struct WorkerPool::State {
  explicit State(size_t workers) : max_threads(workers) {}

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      ++idle;
      changed.wait(lock, [&] { return is_over || !queues.empty(); });
      --idle;
      if (is_over) return;
      std::weak_ptr<WorkQueue> next = std::move(queues.front());
      queues.erase(queues.begin());
      lock.unlock();
      if (const auto queue = next.lock()) queue->work();
      next.reset();
      lock.lock();
    }
  }

  const size_t max_threads;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::weak_ptr<WorkQueue>> queues;  // few; a deque would allocate again and again
  size_t threads = 0;
  size_t idle = 0;
  bool is_over = false;
};

WorkerPool::WorkerPool(size_t workers) : state_(std::make_shared<State>(workers)) {}

WorkerPool::~WorkerPool() {
  const std::lock_guard lock(state_->mutex);
  state_->is_over = true;
  state_->changed.notify_all();
}

void WorkerPool::submit(std::weak_ptr<WorkQueue> queue) {
  const std::lock_guard lock(state_->mutex);
  state_->queues.push_back(std::move(queue));
  if (state_->idle < state_->queues.size() && state_->threads < state_->max_threads) {
    try {
      const ForkBlock no_fork;
      std::thread([state = state_, owner = work_owner] {
        const WorkScope scope(owner);
        state->run();
      }).detach();
      ++state_->threads;
    } catch (const std::system_error&) {
      // The existing threads, and the caller, do the work.
    }
  }
  state_->changed.notify_one();
}

}  // namespace recordpipe::internal
