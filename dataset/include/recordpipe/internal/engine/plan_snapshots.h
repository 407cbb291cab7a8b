// Where an executor's consumer stands, though the plan has run ahead of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "recordpipe/internal/engine/memory_account.h"
#include "recordpipe/internal/engine/plan_state.h"
#include "recordpipe/internal/engine/ring_buffer.h"

namespace recordpipe {

// Planning is ahead of the consumer by the chunks in flight, and a plan can't be turned back. So
// its state is kept now and then, and a place is saved as the last state before it and how many
// elements to pass over from there. Passing over is cheap: nothing is computed. A state as large as
// a shuffle's is taken so rarely that copying it costs less than the planning in between; memory is
// that of the few states that the consumer has not passed yet, used again and again.
class PlanSnapshots {
 public:
  // What the states take, those that wait to be used again too, is charged there from now on.
  void charge_to(std::shared_ptr<MemoryAccount> account) {
    const std::lock_guard lock(mutex_);
    charge_.open(std::move(account));
  }

  // Drops all, and keeps the stage's present place, which is `position`.
  template <class S>
  void start(const S& stage, uint64_t position) {
    const std::lock_guard lock(mutex_);
    snapshots_.clear();
    released_ = position;
    keep(stage, position);
  }

  // Keeps the stage's present place, if it is time to.
  template <class S>
  void take(const S& stage, uint64_t position) {
    if (++chunks_ < interval_ || !stage.can_save()) return;
    const std::lock_guard lock(mutex_);
    while (snapshots_.size() > 1 && snapshots_[1].position <= released_) {
      snapshots_.pop_front();
    }
    keep(stage, position);
  }

  // From any thread: places before this one will not be saved any more.
  void release(uint64_t position) {
    const std::lock_guard lock(mutex_);
    released_ = position;
  }

  // From any thread; `position` is not before the one released.
  void save(uint64_t position, PlanState& state) const {
    const std::lock_guard lock(mutex_);
    size_t last = snapshots_.size() - 1;
    while (snapshots_[last].position > position) --last;
    state = snapshots_[last].state;
    state.passed_over += position - snapshots_[last].position;
  }

 private:
  struct Snapshot {
    uint64_t position = 0;
    PlanState state;
  };

  static size_t size_of(const PlanState& state) {
    size_t size = state.numbers.size();
    for (const PlanState& input : state.inputs) size += size_of(input);
    return size;
  }

  static uint64_t bytes_of(const PlanState& state) {
    uint64_t bytes = state.numbers.capacity() * sizeof(uint64_t);
    for (const PlanState& input : state.inputs) bytes += sizeof(PlanState) + bytes_of(input);
    return bytes;
  }

  template <class S>
  void keep(const S& stage, uint64_t position) {
    Snapshot& snapshot = snapshots_.add_back();
    snapshot.position = position;
    const uint64_t before = bytes_of(snapshot.state);  // of one that is used again
    stage.save(snapshot.state);
    charge_.set(charge_.bytes() - before + bytes_of(snapshot.state));
    // A chunk is some 64 elements of a source, or more: a number copied for each, at most.
    interval_ = std::max<size_t>(kMinInterval, size_of(snapshot.state) / 64);
    chunks_ = 0;
  }

  static constexpr size_t kMinInterval = 16;

  mutable std::mutex mutex_;
  RingBuffer<Snapshot> snapshots_;  // by position; at least one
  MemoryCharge charge_;
  uint64_t released_ = 0;
  size_t interval_ = kMinInterval;  // in chunks; this and chunks_ are the planning thread's
  size_t chunks_ = 0;               // planned since the last
};

}  // namespace recordpipe
