// The work that an Executor has handed out.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/memory_account.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/stage_monitor.h"
#include "recordpipe/internal/engine/worker_pool.h"

namespace recordpipe {

// What a chunk is computed in: memory that goes from chunk to chunk.
template <Element T>
struct Workspace {
  Workspace(Stage<T>& stage, const std::shared_ptr<MemoryAccount>& account)
      : values(stage.chunk_size()), producer(stage.make_producer()), memory(account) {}

  void measure() { memory.set(bytes_of(std::span<const T>(values))); }

  std::vector<T> values;
  std::unique_ptr<Producer<T>> producer;  // with its scratch memory
  MemoryCharge memory;                    // for the values, also those that wait to be used again
  std::thread::id owner;                  // whose core has it in its cache: who used it last
};

// A chunk: its elements, and how far they are.
template <Element T>
class ChunkSlot {
 public:
  std::vector<Ticket> tickets;
  size_t count = 0;  // of tickets in use
  // The rest is guarded by PartQueue::mutex until all parts are done.
  std::unique_ptr<Workspace<T>> workspace;  // while somebody computes or reads the values
  size_t parts = 0;
  size_t next_part = 0;   // the first that nobody has taken
  size_t unfinished = 0;  // parts
  Failures failures;
  std::exception_ptr broken;  // what a producer threw itself

  void reset(size_t number_of_parts) {
    parts = unfinished = number_of_parts;
    next_part = 0;
    failures.clear();
    broken = begin_error_ = nullptr;
    is_begun_ = false;
  }

  std::span<T> values() const { return {workspace->values.data(), count}; }

  // The work of one part, without PartQueue::mutex.
  Failures produce(size_t part) {
    const std::span<const Ticket> chunk(tickets.data(), count);
    begin(chunk);
    return workspace->producer->produce_part(chunk, values(), part);
  }

  // The failures of the first part in the order of the elements that has some, whichever part was
  // done first.
  void add(size_t part, Failures&& of_part) {
    if (!failures.empty() && failed_part_ < part) return;
    failures = std::move(of_part);
    failed_part_ = part;
  }

 private:
  // Once, by whoever does the first part; who does another one meanwhile waits.
  void begin(std::span<const Ticket> chunk) {
    const std::lock_guard lock(begin_mutex_);
    if (!is_begun_) {
      is_begun_ = true;
      try {
        workspace->producer->begin(chunk, values());
      } catch (...) {
        begin_error_ = std::current_exception();
      }
    }
    if (begin_error_) std::rethrow_exception(begin_error_);
  }

  size_t failed_part_ = 0;  // where there are failures
  std::mutex begin_mutex_;
  bool is_begun_ = false;
  std::exception_ptr begin_error_;
};

// What the workers see: the parts of the chunks in flight.
//
// A thread stays with the chunk it has begun, in memory that it has written before, and helps with
// another's only when there is none to begin. Lines that go from one core's cache to another's cost
// more than the work on them: a bare loop of two threads that fill batches of images takes nearly
// twice as long where they swap them.
template <Element T>
struct PartQueue final : WorkQueue {
  explicit PartQueue(StageMonitor* stage) : owner(stage) {}

  StageMonitor* const owner;  // lives until cancel() is over
  std::mutex mutex;
  std::condition_variable part_done;
  std::vector<ChunkSlot<T>*> waiting;  // those with parts that nobody has taken, in order
  std::vector<std::unique_ptr<Workspace<T>>> idle;  // in the order they became so
  size_t running = 0;
  size_t visits = 0;  // of workers that are here or on their way
  bool stopping = false;

  void work() override {
    std::unique_lock lock(mutex);
    while (!waiting.empty()) run_one(lock);
    --visits;
  }

  bool is_done(const ChunkSlot<T>& slot) {
    const std::lock_guard lock(mutex);
    return slot.unfinished == 0;
  }

  // Until all parts of the slot are done: true. False when it is to stop.
  bool wait(ChunkSlot<T>& slot) {
    std::unique_lock lock(mutex);
    while (slot.unfinished > 0 && !stopping) help(lock);
    return slot.unfinished == 0;
  }

  // Until all parts of the slot are done, whether or not it is to stop.
  void finish(ChunkSlot<T>& slot) {
    std::unique_lock lock(mutex);
    while (slot.unfinished > 0) help(lock);
  }

  // For chunks to come; there must be as many as chunks in flight.
  void put(std::unique_ptr<Workspace<T>> workspace) {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(workspace));
  }

  // Gives the memory back of one that is idle, as one must be.
  void drop_workspace() {
    std::unique_ptr<Workspace<T>> dropped;
    const std::lock_guard lock(mutex);
    dropped = std::move(idle.front());
    idle.erase(idle.begin());
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
    idle.clear();
  }

 private:
  // Does a part, or waits for somebody to be done with one.
  void help(std::unique_lock<std::mutex>& lock) {
    if (!waiting.empty()) return run_one(lock);
    const ActivityScope scope(owner, Activity::waiting_for_input);
    part_done.wait(lock);
  }

  void run_one(std::unique_lock<std::mutex>& lock) {
    ChunkSlot<T>& slot = choose();
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

  // The chunk that this thread has begun, else the first that nobody has begun, else the first.
  ChunkSlot<T>& choose() {
    const std::thread::id self = std::this_thread::get_id();
    ChunkSlot<T>* not_begun = nullptr;
    for (ChunkSlot<T>* slot : waiting) {
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

  // The one that the thread used last, else the one unused for longest. There are as many as chunks
  // in flight, so that one is idle.
  std::unique_ptr<Workspace<T>> take_workspace(std::thread::id self) {
    const auto own = std::ranges::find(idle.rbegin(), idle.rend(), self,
                                       [](const auto& workspace) { return workspace->owner; });
    const auto chosen = own == idle.rend() ? idle.begin() : std::prev(own.base());
    std::unique_ptr<Workspace<T>> workspace = std::move(*chosen);
    idle.erase(chosen);
    workspace->owner = self;
    return workspace;
  }
};

}  // namespace recordpipe
