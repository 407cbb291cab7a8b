// Turns a Stage into values in order, with the work of several chunks under way at once.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "dataset/pipeline/plan_snapshots.h"
#include "dataset/pipeline/ring_buffer.h"
#include "dataset/pipeline/stage.h"
#include "dataset/pipeline/worker_pool.h"

namespace recordpipe {

// A ring of chunks. next() gives the oldest chunk back to the ring, plans as many new ones as fit,
// hands their parts to the workers, and returns the now oldest chunk when its last part is done.
// Whoever waits does parts itself meanwhile, so there is progress whatever the workers do, and no
// worker ever waits for another. Used by one thread at a time.
template <Element T>
class Executor {
 public:
  struct Chunk {
    std::span<const Ticket> tickets;
    std::span<T> values;  // may be moved from or swapped
    bool empty() const { return tickets.empty(); }
  };

  Executor(std::unique_ptr<Stage<T>> stage, const StageContext& context)
      : stage_(std::move(stage)),
        pool_(stage_->has_work() ? context.pool : nullptr),
        max_visits_(context.threads - 1),
        ring_(std::make_shared<Ring>()) {
    // Enough chunks that every thread has a part to do while the consumer holds one chunk.
    const size_t depth =
        pool_ ? 2 + (context.threads + stage_->max_parts() - 1) / stage_->max_parts() : 1;
    for (size_t i = 0; i < depth; ++i) {
      slots_.push_back(std::make_unique<Slot>());
      slots_.back()->tickets.resize(stage_->chunk_size());
      slots_.back()->values.resize(stage_->chunk_size());
      slots_.back()->producer = stage_->make_producer();
    }
    snapshots_.start(*stage_, 0);
  }

  ~Executor() { ring_->cancel(); }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // The next elements, valid until the next call; empty at the end. What an element's work or the
  // planning threw is thrown when all elements before it have been returned, and again at every
  // further call.
  Chunk next() {
    if (error_) std::rethrow_exception(error_);
    if (holding_) retire_oldest();
    fill();
    if (in_flight_ == 0) {
      if (plan_error_) fail(plan_error_);
      return {};
    }
    Slot& slot = *slots_[oldest_];
    if (!ring_->wait(slot)) return {};
    holding_ = true;
    const Produced done = slot.result();
    if (done.error) {
      if (done.count == 0) fail(done.error);
      pending_error_ = done.error;
    }
    return {{slot.tickets.data(), done.count}, {slot.values.data(), done.count}};
  }

  // How many elements come before the chunk that next() returned last, or where there is none,
  // before the next one: counted from the last restart or restore.
  uint64_t position() const { return position_; }

  // From any thread: the place after the first `position` elements, however far the plan is ahead.
  void save(uint64_t position, PlanState& state) const { snapshots_.save(position, state); }
  // From any thread: places before this one will not be saved any more.
  void release(uint64_t position) { snapshots_.release(position); }

  // As a Stage's: call restore_place().
  void restore(const PlanState& state, uint64_t epoch) {
    finish();
    stage_->restore(state, epoch);
    position_ = planned_ = 0;
    snapshots_.start(*stage_, 0);
  }

  // Passes over `count` elements without computing them; returns how many there were. Only before
  // next() was called for the first time since the last restart or restore.
  uint64_t advance(uint64_t count) {
    const uint64_t passed = stage_->advance(count);
    position_ += passed;
    planned_ += passed;
    snapshots_.start(*stage_, planned_);
    return passed;
  }

  // From any thread: next() is to return nothing soon, whatever it is doing. Undone by restart().
  void request_stop() {
    stage_->request_stop();
    ring_->request_stop();
  }

  // Finishes and drops what is under way, so that its tickets are used up, and starts again.
  void restart(uint64_t epoch) {
    finish();
    stage_->restart(epoch);
    position_ = planned_ = 0;
    snapshots_.start(*stage_, 0);
  }

 private:
  struct Slot {
    std::vector<Ticket> tickets;
    std::vector<T> values;
    std::unique_ptr<Producer<T>> producer;
    size_t count = 0;             // of tickets in use
    std::vector<Produced> parts;  // what each part did
    size_t unfinished = 0;        // parts; guarded by Ring::mutex

    // The first error in the order of the elements, whichever part was done first.
    Produced result() const {
      for (const Produced& part : parts) {
        if (part.error) return parts.size() == 1 ? part : Produced{0, part.error};
      }
      return {count};
    }
  };

  // What the workers see. Parts wait in the order of the elements.
  struct Ring final : WorkQueue {
    std::mutex mutex;
    std::condition_variable part_done;
    RingBuffer<std::pair<Slot*, size_t>> waiting;
    size_t running = 0;
    size_t visits = 0;  // of workers that are here or on their way
    bool stopping = false;

    void work() override {
      std::unique_lock lock(mutex);
      while (!waiting.empty()) run_first(lock);
      --visits;
    }

    // Until all parts of the slot are done: true. False when it is to stop.
    bool wait(Slot& slot) {
      std::unique_lock lock(mutex);
      while (slot.unfinished > 0 && !stopping) {
        if (waiting.empty()) {
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
      Produced done;
      try {
        done = slot->producer->produce_part({slot->tickets.data(), slot->count},
                                            {slot->values.data(), slot->count}, part);
      } catch (...) {
        done = {0, std::current_exception()};
      }
      lock.lock();
      slot->parts[part] = std::move(done);
      --slot->unfinished;
      --running;
      part_done.notify_all();
    }
  };

  void finish() {
    ring_->resume();
    for (; in_flight_ > 0; --in_flight_, oldest_ = (oldest_ + 1) % slots_.size()) {
      ring_->wait(*slots_[oldest_]);
    }
    holding_ = ended_ = false;
    error_ = plan_error_ = pending_error_ = nullptr;
  }

  void retire_oldest() {
    holding_ = false;
    position_ += slots_[oldest_]->count;
    oldest_ = (oldest_ + 1) % slots_.size();
    --in_flight_;
    if (pending_error_) fail(pending_error_);
  }

  void fill() {
    while (in_flight_ < slots_.size() && !ended_) {
      Slot& slot = *slots_[(oldest_ + in_flight_) % slots_.size()];
      const Wait wait = in_flight_ == 0 ? Wait::yes : Wait::no;
      size_t parts = 0;
      try {
        snapshots_.take(*stage_, planned_);
        slot.count = stage_->plan(slot.tickets, wait);
        planned_ += slot.count;
        if (slot.count > 0) {
          parts = slot.producer->begin({slot.tickets.data(), slot.count},
                                       {slot.values.data(), slot.count});
          slot.parts.assign(parts, {});
        }
      } catch (...) {
        plan_error_ = std::current_exception();
        parts = 0;
      }
      if (parts == 0) {
        ended_ = wait == Wait::yes || plan_error_;
        return;
      }
      size_t missing_visits = 0;
      {
        const std::lock_guard lock(ring_->mutex);
        slot.unfinished = parts;
        for (size_t part = 0; part < parts; ++part) ring_->waiting.push_back({&slot, part});
        if (pool_ && ring_->visits < max_visits_) {
          missing_visits = std::min(parts, max_visits_ - ring_->visits);
          ring_->visits += missing_visits;
        }
      }
      ++in_flight_;
      for (; missing_visits > 0; --missing_visits) pool_->submit(ring_);
    }
  }

  [[noreturn]] void fail(const std::exception_ptr& error) {
    ring_->cancel();
    error_ = error;
    std::rethrow_exception(error_);
  }

  std::unique_ptr<Stage<T>> stage_;  // outlives the producers in slots_
  std::shared_ptr<WorkerPool> pool_;
  const size_t max_visits_;
  std::shared_ptr<Ring> ring_;
  std::vector<std::unique_ptr<Slot>> slots_;
  size_t oldest_ = 0;
  size_t in_flight_ = 0;
  uint64_t position_ = 0;  // elements before the oldest chunk
  uint64_t planned_ = 0;   // elements, the chunks in flight included
  PlanSnapshots snapshots_;
  bool holding_ = false;              // the oldest chunk is with the consumer
  bool ended_ = false;                // the stage has no more to plan
  std::exception_ptr plan_error_;     // thrown when what was planned before has been returned
  std::exception_ptr pending_error_;  // thrown at the next call
  std::exception_ptr error_;          // thrown at every call
};

}  // namespace recordpipe
