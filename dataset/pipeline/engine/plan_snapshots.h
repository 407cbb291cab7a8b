// The position of an executor's consumer, although the plan is ahead of it.
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

// Planning is ahead of the consumer by the chunks in flight, and a plan can't go back. So its state
// is kept now and then; a position is saved as the last state before it and the number of elements
// to skip from there. Skipping is cheap: nothing is computed. A large state, such as a shuffle's,
// is kept so rarely that copying it costs less than the planning in between. The memory is that of
// the few states that the consumer has not passed yet, which are reused.
class PlanSnapshots {
 public:
  // From now on, the memory of the states, including those kept for reuse, is charged there.
  void charge_to(std::shared_ptr<MemoryAccount> account);

  // Drops all states and keeps the plan's current one, which is at `position`.
  void start(const Plan& plan, uint64_t position);
  // Keeps the plan's current state, if it is due.
  void take(const Plan& plan, uint64_t position);

  // From any thread: positions before this one will not be saved any more.
  void release(uint64_t position);
  // From any thread; `position` must not be before the released one.
  void save(uint64_t position, PlanState& state) const;

 private:
  struct Snapshot {
    uint64_t position = 0;
    PlanState state;
  };

  void keep(const Plan& plan, uint64_t position);

  static constexpr size_t kMinInterval = 16;

  mutable std::mutex mutex_;
  RingBuffer<Snapshot> snapshots_;  // in order of position; at least one
  MemoryCharge charge_;
  uint64_t released_ = 0;
  size_t interval_ = kMinInterval;  // in chunks; this and chunks_ belong to the planning thread
  size_t chunks_ = 0;               // chunks planned since the last snapshot
};

}  // namespace recordpipe::internal
