#include "dataset/parallel/market.h"

#include <algorithm>
#include <utility>

#include <pthread.h>

namespace recordpipe::parallel {

void Market::add(const std::shared_ptr<CrewShare>& share) {
  const std::lock_guard lock(mutex_);
  shares_.reserve(shares_.size() + 1);
  sizes_.insert(share->most);
  shares_.push_back(share);
  resize();
}

void Market::remove(const std::shared_ptr<CrewShare>& share) {
  std::vector<CrewShare::Item> dropped;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  sizes_.extract(share->most);
  std::erase(shares_, share);
  std::swap(dropped, share->queue);
  queued_ -= dropped.size();
  resize();
}

void Market::submit(CrewShare& share, std::weak_ptr<Work> work, TaskContext context) {
  const std::lock_guard lock(mutex_);
  share.queue.push_back({std::move(work), std::move(context)});
  ++queued_;
  // Otherwise a thread that is working or starting takes it later.
  const bool has_room = called_ + at_work_ < max_threads();
  if (share.can_run() && called_ < queued_ && has_room && call_thread()) ++called_;
}

void Market::run_all(Lock& lock) {
  // Else the thread has the name of the one that started it.
  [[maybe_unused]] thread_local const int named =
      ::pthread_setname_np(::pthread_self(), "rp-compute");
  --called_;
  ++at_work_;
  while (at_work_ <= max_threads()) {
    const std::shared_ptr<CrewShare> share = next_share();
    if (!share) break;
    CrewShare::Item item = std::move(share->queue.front());
    share->queue.erase(share->queue.begin());
    --queued_;
    ++share->running;
    lock.unlock();
    {
      const TaskContextScope scope(std::move(item.context));
      // In the context, too, if this is the last reference: its destruction.
      if (const auto work = std::exchange(item.work, {}).lock()) work->work();
    }
    lock.lock();
    --share->running;
  }
  --at_work_;
}

std::shared_ptr<CrewShare> Market::next_share() const {
  std::shared_ptr<CrewShare> next;
  for (const auto& share : shares_) {
    if (share->can_run() && (!next || share->running < next->running)) next = share;
  }
  return next;
}

}  // namespace recordpipe::parallel
