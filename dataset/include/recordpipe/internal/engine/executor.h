// Turns a Stage into values in order, with the work of several chunks under way at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/memory_account.h"
#include "recordpipe/internal/engine/part_queue.h"
#include "recordpipe/internal/engine/plan_snapshots.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/stage_context.h"
#include "recordpipe/internal/engine/stage_monitor.h"
#include "recordpipe/internal/engine/thread_tuner.h"
#include "recordpipe/internal/engine/worker_pool.h"

namespace recordpipe {

// A ring of chunks. next() gives the oldest chunk back to the ring, plans as many new ones as fit,
// hands their parts to the workers, and returns the now oldest chunk when its last part is done.
// Whoever waits does parts itself meanwhile, so there is progress whatever the workers do, and no
// worker waits for what nobody does yet. Used by one thread at a time.
template <Element T>
class Executor {
 public:
  struct Chunk {
    std::span<const Ticket> tickets;
    std::span<T> values;  // may be moved from or swapped
    std::span<Failure> failures = {};

    bool empty() const { return tickets.empty(); }
    size_t size() const { return tickets.size(); }
    // Why element `i` could not be computed; null where it was. Only once for each: what is thrown
    // in the end has one owner, so that it isn't freed on one thread while another looks at it.
    std::exception_ptr take_error_at(size_t i) const {
      if (failures.empty()) return nullptr;
      const auto found = std::ranges::lower_bound(failures, i, {}, &Failure::at);
      return found != failures.end() && found->at == i ? std::move(found->error) : nullptr;
    }
  };

  Executor(std::shared_ptr<Stage<T>> stage, const StageContext& context)
      : stage_(std::move(stage)),
        pool_(stage_->has_work() ? context.pool : nullptr),
        helpers_(context.threads - 1, context.tune_threads),
        memory_(context.memory),
        owner_(context.stage),
        queue_(std::make_shared<PartQueue<T>>(context.stage)) {
    // One for each thread to stay with, one that the consumer holds, and one that is ready.
    const size_t depth = pool_ ? 2 + context.threads : 1;
    for (size_t i = 0; i < depth; ++i) {
      slots_.push_back(std::make_unique<Slot>());
      slots_.back()->tickets.resize(stage_->chunk_size());
    }
    queue_->waiting.reserve(depth);
    queue_->idle.reserve(depth);
    use_slots(memory_->is_limited() ? 1 : depth);
    snapshots_.charge_to(memory_);
    snapshots_.start(*stage_, 0);
  }

  ~Executor() { queue_->cancel(); }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // The next elements, valid until the next call; empty at the end. The error of one that could not
  // be computed, and what the planning threw, is thrown when all elements before it have been
  // returned, and again at every further call.
  Chunk next() {
    Chunk chunk = next_with_failures();
    if (chunk.failures.empty()) return chunk;
    const Failure& first = chunk.failures.front();
    if (first.at == 0) fail(first.error);
    pending_error_ = first.error;
    return {chunk.tickets.first(first.at), chunk.values.first(first.at)};
  }

  // The same, but elements that could not be computed are elements like others. Only what the
  // planning threw ends it.
  Chunk next_with_failures() {
    if (error_) std::rethrow_exception(error_);
    if (holding_) retire_oldest();
    fill();
    if (in_flight_ == 0) {
      if (plan_error_) fail(plan_error_);
      return {};
    }
    Slot& slot = *slots_[oldest_];
    helpers_.came(!queue_->is_done(slot));
    if (!queue_->wait(slot)) return {};
    holding_ = true;
    if (slot.broken) fail(slot.broken);
    charge(slot);
    return {{slot.tickets.data(), slot.count}, slot.values(), slot.failures};
  }

  // How many elements come before the chunk that next() returned last, or where there is none,
  // before the next one: counted from the last restart or restore.
  uint64_t position() const { return position_; }

  // The bytes of a chunk so far, where memory is limited. On the thread of next().
  uint64_t largest_chunk() const { return largest_; }

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
    queue_->request_stop();
  }

  // Finishes and drops what is under way, so that its tickets are used up, and starts again.
  void restart(uint64_t epoch) {
    finish();
    stage_->restart(epoch);
    position_ = planned_ = 0;
    snapshots_.start(*stage_, 0);
  }

 private:
  using Slot = ChunkSlot<T>;

  void finish() {
    for (; in_flight_ > 0; --in_flight_, oldest_ = (oldest_ + 1) % used_slots_) {
      queue_->finish(*slots_[oldest_]);
      queue_->put(std::move(slots_[oldest_]->workspace));
    }
    queue_->resume();
    holding_ = ended_ = false;
    error_ = plan_error_ = pending_error_ = nullptr;
  }

  void retire_oldest() {
    holding_ = false;
    slots_[oldest_]->workspace->measure();
    position_ += slots_[oldest_]->count;
    queue_->put(std::move(slots_[oldest_]->workspace));
    oldest_ = (oldest_ + 1) % used_slots_;
    --in_flight_;
    if (pending_error_) fail(pending_error_);
  }

  void fill() {
    fit_to_memory();
    while (in_flight_ < used_slots_ && !ended_) {
      Slot& slot = *slots_[(oldest_ + in_flight_) % used_slots_];
      const Wait wait = in_flight_ == 0 ? Wait::yes : Wait::no;
      size_t parts = 0;
      try {
        snapshots_.take(*stage_, planned_);
        slot.count = stage_->plan(slot.tickets, wait);
        planned_ += slot.count;
        if (slot.count > 0) parts = stage_->parts({slot.tickets.data(), slot.count});
      } catch (...) {
        plan_error_ = std::current_exception();
      }
      if (parts == 0) {
        ended_ = wait == Wait::yes || plan_error_;
        return;
      }
      size_t missing_visits = 0;
      {
        const std::lock_guard lock(queue_->mutex);
        slot.reset(parts);
        queue_->waiting.push_back(&slot);
        if (pool_ && queue_->visits < helpers_.helpers()) {
          missing_visits = std::min(parts, helpers_.helpers() - queue_->visits);
          queue_->visits += missing_visits;
        }
      }
      ++in_flight_;
      for (; missing_visits > 0; --missing_visits) pool_->submit(queue_);
    }
  }

  // Where memory is limited, takes as many slots into use as fit, with room for one more chunk on
  // its way to or from another operator. One is used in any case; how large chunks are is known
  // when the first is there.
  void fit_to_memory() {
    if (!memory_->is_limited()) return;
    if (!memory_->has_room_for(0)) {
      use_slots(std::max<size_t>(1, in_flight_));
    } else if (used_slots_ < slots_.size() && largest_ > 0 && memory_->has_room_for(2 * largest_)) {
      if (++calm_ < kCalm) return;
      use_slots(used_slots_ + 1);
    }
  }

  // As many, with a workspace for each. `count` is not below in_flight_.
  void use_slots(size_t count) {
    std::ranges::rotate(slots_.begin(), slots_.begin() + static_cast<ptrdiff_t>(oldest_),
                        slots_.begin() + static_cast<ptrdiff_t>(used_slots_));
    oldest_ = 0;
    calm_ = 0;
    for (; used_slots_ < count; ++used_slots_) {
      auto workspace = std::make_unique<Workspace<T>>(*stage_, memory_);
      workspace->memory.set(largest_);  // what it will take
      queue_->put(std::move(workspace));
    }
    for (; used_slots_ > count; --used_slots_) queue_->drop_workspace();
  }

  // What the oldest chunk takes, now that it is known. All together may be over the limit for a
  // while, until others give back; that the pipeline can't do with less shows when it stays so.
  void charge(Slot& slot) {
    slot.workspace->measure();
    if (!memory_->is_limited()) return;
    largest_ = std::max(largest_, slot.workspace->memory.bytes());
    const bool is_over = in_flight_ == 1 && !memory_->has_room_for(0);
    overruns_ = is_over ? overruns_ + 1 : 0;
    const MemoryUse use = memory_->use();
    if (overruns_ > kMaxOverruns || slot.workspace->memory.bytes() > use.limit) {
      fail(std::make_exception_ptr(MemoryLimitExceeded(use)));
    }
  }

  [[noreturn]] void fail(const std::exception_ptr& error) {
    error_ = error;
    std::rethrow_exception(error_);
  }

  std::shared_ptr<Stage<T>> stage_;  // outlives the producers
  std::shared_ptr<WorkerPool> pool_;
  ThreadTuner helpers_;
  const std::shared_ptr<MemoryAccount> memory_;
  StageMonitor* const owner_;
  std::shared_ptr<PartQueue<T>> queue_;
  std::vector<std::unique_ptr<Slot>> slots_;  // workers have pointers to them
  size_t used_slots_ = 0;                     // the first of slots_, a ring
  size_t oldest_ = 0;
  size_t in_flight_ = 0;
  uint64_t position_ = 0;  // elements before the oldest chunk
  uint64_t planned_ = 0;   // elements, the chunks in flight included
  PlanSnapshots snapshots_;
  uint64_t largest_ = 0;  // bytes of a chunk so far, where memory is limited
  size_t overruns_ = 0;   // chunks in a row for which there was no room
  size_t calm_ = 0;       // chunks since used_slots_ changed, with room for more
  static constexpr size_t kCalm = 16;
  static constexpr size_t kMaxOverruns = 64;
  bool holding_ = false;              // the oldest chunk is with the consumer
  bool ended_ = false;                // the stage has no more to plan
  std::exception_ptr plan_error_;     // thrown when what was planned before has been returned
  std::exception_ptr pending_error_;  // thrown at the next call
  std::exception_ptr error_;          // thrown at every call
};

}  // namespace recordpipe
