#include "dataset/parallel/market.h"

#include <algorithm>
#include <utility>

#include <pthread.h>

#include "dataset/base/available_cpus.h"

namespace recordpipe::parallel {

void Market::add(const CrewShare& share) {
  const std::lock_guard lock(mutex_);
  if (crews_.empty()) cpus_ = available_cpus();
  crews_.insert(share.most);
  resize();
}

void Market::remove(const CrewShare& share) {
  const std::lock_guard lock(mutex_);
  crews_.extract(share.most);
  std::erase_if(queue_, [&](const Item& item) { return item.share.get() == &share; });
  resize();
}

void Market::submit(std::shared_ptr<CrewShare> share, std::weak_ptr<Work> work,
                    TaskContext context) {
  const std::lock_guard lock(mutex_);
  CrewShare& its = *share;
  queue_.push_back({std::move(share), std::move(work), std::move(context)});
  ++its.waiting;
  // Else a thread that works for the crew now takes the work when it has finished.
  if (its.running + its.waiting <= its.most) call_thread();
}

void Market::run_all(Lock& lock) {
  // Else the thread has the name of the one that started it.
  [[maybe_unused]] thread_local const int named =
      ::pthread_setname_np(::pthread_self(), "rp-compute");
  while (true) {
    const auto next = std::ranges::find_if(
        queue_, [](const Item& item) { return item.share->running < item.share->most; });
    if (next == queue_.end()) return;
    Item item = std::move(*next);
    queue_.erase(next);
    --item.share->waiting;
    ++item.share->running;
    lock.unlock();
    {
      const TaskContextScope scope(std::move(item.context));
      // In the context, too, if this is the last reference: its destruction.
      if (const auto work = std::exchange(item.work, {}).lock()) work->work();
    }
    lock.lock();
    --item.share->running;
  }
}

size_t Market::most_threads() const {
  return crews_.empty() ? 0 : std::max(cpus_ - 1, *crews_.rbegin());
}

}  // namespace recordpipe::parallel
