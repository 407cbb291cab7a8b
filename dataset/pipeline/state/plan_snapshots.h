// Saves the position of an executor's consumer, although the plan is ahead of the consumer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "dataset/pipeline/execute/memory_account.h"
#include "dataset/pipeline/execute/ring_buffer.h"
#include "dataset/pipeline/plan/plan.h"
#include "dataset/pipeline/state/plan_state.h"

namespace recordpipe::internal {

// Planning is ahead of the consumer by the chunks in flight, and a plan can't go back. So the
// plan's state is kept at intervals; a position is saved as the last state before it and the number
// of elements to skip from there. Skipping is cheap: nothing is computed. A large state, such as a
// shuffle's, is kept so rarely that copying it costs less than the planning in between. Only the
// few states that the consumer has not passed yet take memory, which is reused for later states.
class PlanSnapshots {
 public:
  // From now on, charges the memory of the states to `account`, including states kept for reuse.
  void charge_to(std::shared_ptr<MemoryAccount> account);

  // Drops all states and keeps the plan's current state, which is at `position`.
  void start(const Plan& plan, uint64_t position);
  // Keeps the plan's current state if the interval has passed and the plan can save it.
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
  size_t interval_ = kMinInterval;  // in chunks; like chunks_, used by the planning thread only
  size_t chunks_ = 0;               // chunks planned since the last snapshot
};

}  // namespace recordpipe::internal
