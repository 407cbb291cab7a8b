#include "dataset/parallel/jobs.h"

#include <algorithm>

namespace recordpipe::parallel {
void JobQueue::push(std::shared_ptr<Entry> entry) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(entry));
  if (visits_ < helpers_) {
    if (!crew_) crew_.emplace(helpers_, kind_);
    ++visits_;
    crew_->submit(weak_from_this());
  }
  changed_.notify_all();
}

void JobQueue::wait(Entry& entry) {
  std::unique_lock lock(mutex_);
  while (entry.progress_ != Entry::Progress::done) {
    if (kind_ == CrewKind::computes && !waiting_.empty()) {
      run(take_first(), lock);
    } else if (entry.progress_ == Entry::Progress::waiting && running_ < threads_) {
      run(take(entry), lock);
    } else {
      changed_.wait(lock);
    }
  }
}

bool JobQueue::drop(Entry& entry) {
  const std::lock_guard lock(mutex_);
  if (entry.progress_ != Entry::Progress::waiting) return false;
  (void)take(entry);
  entry.progress_ = Entry::Progress::dropped;
  return true;
}

void JobQueue::close() {
  std::unique_lock lock(mutex_);
  for (const auto& entry : waiting_) entry->progress_ = Entry::Progress::dropped;
  const auto dropped = std::exchange(waiting_, {});
  changed_.wait(lock, [&] { return running_ == 0; });
  crew_.reset();  // a thread of it may own this object for a moment more
  lock.unlock();  // the jobs are destroyed without the lock
}

void JobQueue::work() noexcept {
  std::unique_lock lock(mutex_);
  while (!waiting_.empty()) {
    if (kind_ == CrewKind::waits && running_ >= threads_) {
      changed_.wait(lock);  // a thread that waits for a job has called its function
    } else {
      run(take_first(), lock);
    }
  }
  --visits_;
}

void JobQueue::run(std::shared_ptr<Entry> entry, std::unique_lock<std::mutex>& lock) {
  entry->progress_ = Entry::Progress::running;
  ++running_;
  lock.unlock();
  {
    const TaskContextScope scope(std::move(entry->context_));
    entry->call();
  }
  lock.lock();
  entry->progress_ = Entry::Progress::done;
  changed_.notify_all();
  lock.unlock();
  entry.reset();  // without the lock: perhaps nobody wants the result, and it is destroyed here
  lock.lock();
  --running_;
  changed_.notify_all();
}

std::shared_ptr<JobQueue::Entry> JobQueue::take(Entry& entry) {
  const auto place =
      std::ranges::find(waiting_, &entry, [](const auto& other) { return other.get(); });
  std::shared_ptr<Entry> taken = std::move(*place);
  waiting_.erase(place);
  return taken;
}

std::shared_ptr<JobQueue::Entry> JobQueue::take_first() {
  std::shared_ptr<Entry> first = std::move(waiting_.front());
  waiting_.pop_front();
  return first;
}

}  // namespace recordpipe::parallel
