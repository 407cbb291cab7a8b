// Where an executor's consumer stands, though the plan has run ahead of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "dataset/pipeline/engine/memory_account.h"
#include "dataset/pipeline/engine/plan.h"
#include "dataset/pipeline/engine/plan_state.h"
#include "dataset/pipeline/engine/ring_buffer.h"

namespace recordpipe::internal {

// Planning is ahead of the consumer by the chunks in flight, and a plan can't be turned back. So
// its state is kept now and then, and a place is saved as the last state before it and how many
// elements to pass over from there. Passing over is cheap: nothing is computed. A state as large as
// a shuffle's is taken so rarely that copying it costs less than the planning in between; memory is
// that of the few states that the consumer has not passed yet, used again and again.
class PlanSnapshots {
 public:
  // What the states take, those that wait to be used again too, is charged there from now on.
  void charge_to(std::shared_ptr<MemoryAccount> account);

  // Drops all, and keeps the plan's present place, which is `position`.
  void start(const Plan& plan, uint64_t position);
  // Keeps the plan's present place, if it is time to.
  void take(const Plan& plan, uint64_t position);

  // From any thread: places before this one will not be saved any more.
  void release(uint64_t position);
  // From any thread; `position` is not before the one released.
  void save(uint64_t position, PlanState& state) const;

 private:
  struct Snapshot {
    uint64_t position = 0;
    PlanState state;
  };

  void keep(const Plan& plan, uint64_t position);

  static constexpr size_t kMinInterval = 16;

  mutable std::mutex mutex_;
  RingBuffer<Snapshot> snapshots_;  // by position; at least one
  MemoryCharge charge_;
  uint64_t released_ = 0;
  size_t interval_ = kMinInterval;  // in chunks; this and chunks_ are the planning thread's
  size_t chunks_ = 0;               // planned since the last
};

}  // namespace recordpipe::internal
