// How a piece of work reaches a worker: as a Visit, which the worker deletes.
#include "dataset/pipeline/worker_pool.h"

#include <atomic>
#include <utility>

namespace recordpipe {
namespace {

struct Visit {
  std::weak_ptr<WorkQueue> queue;
  // Makes the visit's memory visible to the worker in C++'s own terms, whatever TBB does.
  std::atomic<bool> ready = false;
};

void run(void* argument) {
  const std::unique_ptr<Visit> visit(static_cast<Visit*>(argument));
  if (!visit->ready.load(std::memory_order_acquire)) return;
  if (const auto queue = visit->queue.lock()) queue->work();
}

}  // namespace

void WorkerPool::submit(std::weak_ptr<WorkQueue> queue) {
  auto* visit = new Visit{std::move(queue)};
  visit->ready.store(true, std::memory_order_release);
  try {
    arena_.enqueue(run, visit);  // the worker deletes it
  } catch (...) {
    delete visit;
    throw;
  }
}

}  // namespace recordpipe
