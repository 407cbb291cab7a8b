// The work that an Executor has handed out.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "dataset/pipeline/memory_account.h"
#include "dataset/pipeline/ring_buffer.h"
#include "dataset/pipeline/stage.h"
#include "dataset/pipeline/stage_monitor.h"
#include "dataset/pipeline/worker_pool.h"

namespace recordpipe {

// A chunk: its elements, and who computes them.
template <Element T>
struct ChunkSlot {
  explicit ChunkSlot(const std::shared_ptr<MemoryAccount>& account) : memory(account) {}

  std::vector<Ticket> tickets;
  std::vector<T> values;
  std::unique_ptr<Producer<T>> producer;
  size_t count = 0;     // of tickets in use
  MemoryCharge memory;  // for the values, also those that wait to be used again
  // The rest is guarded by PartQueue::mutex until all parts are done.
  size_t unfinished = 0;  // parts
  Failures failures;
  size_t failed_part = 0;     // where there are failures
  std::exception_ptr broken;  // what a producer threw itself

  void measure() { memory.set(bytes_of(std::span<const T>(values))); }

  // The failures of the first part in the order of the elements that has some, whichever part was
  // done first.
  void add(size_t part, Failures&& of_part) {
    if (!failures.empty() && failed_part < part) return;
    failures = std::move(of_part);
    failed_part = part;
  }
};

// What the workers see: the parts of the chunks in flight, in the order of the elements.
template <Element T>
struct PartQueue final : WorkQueue {
  explicit PartQueue(StageMonitor* stage) : owner(stage) {}

  StageMonitor* const owner;  // lives until cancel() is over
  std::mutex mutex;
  std::condition_variable part_done;
  RingBuffer<std::pair<ChunkSlot<T>*, size_t>> waiting;
  size_t running = 0;
  size_t visits = 0;  // of workers that are here or on their way
  bool stopping = false;

  void work() override {
    std::unique_lock lock(mutex);
    while (!waiting.empty()) run_first(lock);
    --visits;
  }

  bool is_done(const ChunkSlot<T>& slot) {
    const std::lock_guard lock(mutex);
    return slot.unfinished == 0;
  }

  // Until all parts of the slot are done: true. False when it is to stop.
  bool wait(ChunkSlot<T>& slot) {
    std::unique_lock lock(mutex);
    while (slot.unfinished > 0 && !stopping) {
      if (waiting.empty()) {
        const ActivityScope scope(owner, Activity::waiting_for_input);
        part_done.wait(lock);
      } else {
        run_first(lock);
      }
    }
    return slot.unfinished == 0;
  }

  void request_stop() {
    const std::lock_guard lock(mutex);
    stopping = true;
    part_done.notify_all();
  }

  void resume() {
    const std::lock_guard lock(mutex);
    stopping = false;
  }

  // Drops what waits and returns when nothing runs any more.
  void cancel() {
    std::unique_lock lock(mutex);
    waiting.clear();
    part_done.wait(lock, [&] { return running == 0; });
  }

  void run_first(std::unique_lock<std::mutex>& lock) {
    const auto [slot, part] = waiting.front();
    waiting.pop_front();
    ++running;
    lock.unlock();
    Failures failures;
    std::exception_ptr broken;
    try {
      const ActivityScope scope(owner, Activity::computing);
      failures = slot->producer->produce_part({slot->tickets.data(), slot->count},
                                              {slot->values.data(), slot->count}, part);
    } catch (...) {
      broken = std::current_exception();
    }
    lock.lock();
    if (!failures.empty()) slot->add(part, std::move(failures));
    if (broken) slot->broken = std::move(broken);
    --slot->unfinished;
    --running;
    part_done.notify_all();
  }
};

}  // namespace recordpipe
