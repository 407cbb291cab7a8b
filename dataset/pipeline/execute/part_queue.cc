#include "dataset/pipeline/execute/part_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "dataset/pipeline/observe/stage_monitor.h"

namespace recordpipe::internal {

void ChunkSlot::reset(size_t number_of_parts) {
  parts = unfinished = number_of_parts;
  next_part = 0;
  failures.clear();
  broken = begin_error_ = nullptr;
  is_begun_ = false;
}

Failures ChunkSlot::produce(size_t part) {
  const std::span<const Ticket> chunk(tickets.data(), count);
  begin(chunk);
  return workspace->producer->produce_part(chunk, workspace->values.data(), part);
}

void ChunkSlot::add(size_t part, Failures of_part) {
  if (!failures.empty() && failed_part_ < part) return;
  failures = std::move(of_part);
  failed_part_ = part;
}

// Runs once, in the thread that takes the first part; other threads wait for it.
void ChunkSlot::begin(std::span<const Ticket> chunk) {
  const std::lock_guard lock(begin_mutex_);
  if (!is_begun_) {
    is_begun_ = true;
    try {
      workspace->producer->begin(chunk, workspace->values.data());
    } catch (...) {
      begin_error_ = std::current_exception();
    }
  }
  if (begin_error_) std::rethrow_exception(begin_error_);
}

void PartQueue::work() noexcept {
  std::unique_lock lock(mutex);
  while (!waiting.empty()) run_one(lock);
  --visits;
}

bool PartQueue::is_done(const ChunkSlot& slot) {
  const std::lock_guard lock(mutex);
  return slot.unfinished == 0;
}

bool PartQueue::wait(ChunkSlot& slot) {
  std::unique_lock lock(mutex);
  while (slot.unfinished > 0 && !stopping) help(lock);
  return !stopping;
}

void PartQueue::finish(ChunkSlot& slot) {
  std::unique_lock lock(mutex);
  while (slot.unfinished > 0) help(lock);
}

void PartQueue::put(std::unique_ptr<Workspace> workspace) {
  const std::lock_guard lock(mutex);
  idle.push_back(std::move(workspace));
}

void PartQueue::drop_workspace() {
  std::unique_ptr<Workspace> dropped;
  const std::lock_guard lock(mutex);
  dropped = std::move(idle.front());
  idle.erase(idle.begin());
}

void PartQueue::request_stop() {
  const std::lock_guard lock(mutex);
  stopping = true;
  part_done.notify_all();
}

void PartQueue::resume() {
  const std::lock_guard lock(mutex);
  stopping = false;
}

void PartQueue::cancel() {
  std::unique_lock lock(mutex);
  waiting.clear();
  part_done.wait(lock, [&] { return running == 0; });
  idle.clear();
}

void PartQueue::help(std::unique_lock<std::mutex>& lock) {
  if (!waiting.empty()) return run_one(lock);
  const ActivityScope scope(owner, Activity::waiting_for_input);
  part_done.wait(lock);
}

void PartQueue::run_one(std::unique_lock<std::mutex>& lock) {
  ChunkSlot& slot = choose();
  const size_t part = slot.next_part++;
  if (slot.next_part == slot.parts) std::erase(waiting, &slot);
  ++running;
  lock.unlock();
  Failures failures;
  std::exception_ptr broken;
  try {
    const ActivityScope scope(owner, Activity::computing);
    failures = slot.produce(part);
  } catch (...) {
    broken = std::current_exception();
  }
  lock.lock();
  if (!failures.empty()) slot.add(part, std::move(failures));
  if (broken) slot.broken = std::move(broken);
  --slot.unfinished;
  --running;
  part_done.notify_all();
}

// Chooses the chunk that this thread has begun; else the first that no thread has begun; else the
// first.
ChunkSlot& PartQueue::choose() {
  const std::thread::id self = std::this_thread::get_id();
  ChunkSlot* not_begun = nullptr;
  for (ChunkSlot* slot : waiting) {
    if (!slot->workspace) {
      if (!not_begun) not_begun = slot;
    } else if (slot->workspace->owner == self) {
      return *slot;
    }
  }
  if (!not_begun) return *waiting.front();
  not_begun->workspace = take_workspace(self);
  return *not_begun;
}

// Takes the workspace that the thread used last, else the least recently used one. There is one for
// each chunk in flight, so one is idle.
std::unique_ptr<Workspace> PartQueue::take_workspace(std::thread::id self) {
  const auto own = std::ranges::find(idle.rbegin(), idle.rend(), self,
                                     [](const auto& workspace) { return workspace->owner; });
  const auto chosen = own == idle.rend() ? idle.begin() : std::prev(own.base());
  std::unique_ptr<Workspace> workspace = std::move(*chosen);
  idle.erase(chosen);
  workspace->owner = self;
  return workspace;
}

}  // namespace recordpipe::internal
