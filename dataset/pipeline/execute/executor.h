// Computes the values of a Stage in order, several chunks at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "dataset/parallel/crew.h"
#include "dataset/pipeline/execute/memory_account.h"
#include "dataset/pipeline/execute/part_queue.h"
#include "dataset/pipeline/execute/thread_tuner.h"
#include "dataset/pipeline/plan/stage.h"
#include "dataset/pipeline/plan/stage_context.h"
#include "dataset/pipeline/state/plan_snapshots.h"
#include "dataset/pipeline/state/plan_state.h"
#include "recordpipe/pipeline/internal/element_ops.h"
#include "recordpipe/pipeline/internal/ticket.h"

namespace recordpipe::internal {

// Computed elements, lent by an executor.
struct Chunk {
  std::span<const Ticket> tickets = {};
  void* values = nullptr;  // may be moved from or swapped
  const ElementOps* ops = nullptr;
  std::span<Failure> failures = {};
  std::span<const uint8_t> wanted = {};  // see Producer::wanted
  std::span<const uint64_t> sizes = {};  // see Producer::sizes

  bool empty() const { return tickets.empty(); }
  size_t size() const { return tickets.size(); }
  void* value(size_t i) const { return element_at(values, *ops, i); }
  // The error of element `i`; null if it was computed. May be called once per element: a thrown
  // exception has one owner, so that it isn't freed on one thread while another thread reads it.
  std::exception_ptr take_error_at(size_t i) const;
};

// A ring of chunks. next() returns the oldest chunk to the ring, plans as many new chunks as fit,
// distributes their parts to the workers, and returns the chunk that is now the oldest when its
// last part is done. A thread that waits computes parts itself meanwhile, so there is progress
// without any worker, and no worker waits for a part that no thread has begun. Used by one thread
// at a time.
class Executor {
 public:
  Executor(Stage stage, const StageContext& context);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Returns the next elements, valid until the next call; empty at the end. An error of an element
  // or of the plan is thrown after all elements before it have been returned, and again by every
  // later call.
  Chunk next();
  // Like next(), but also returns failed elements instead of throwing their errors.
  Chunk next_with_failures();

  // The number of elements before the chunk that next() returned last (before the next chunk if
  // there is none), counted from the last restart or restore.
  uint64_t position() const { return position_; }

  // The bytes of the largest chunk so far, if memory is limited. For the thread that calls next().
  uint64_t largest_chunk() const { return largest_; }
  const ElementOps& element() const { return stage_.work->element(); }
  size_t chunk_size() const { return stage_.chunk_size; }

  // From any thread: saves the state after the first `position` elements, however far planning is
  // ahead.
  void save(uint64_t position, PlanState& state) const { snapshots_.save(position, state); }
  // From any thread: positions before this one will not be saved any more.
  void release(uint64_t position) { snapshots_.release(position); }

  // Moves to a saved position; throws Error{invalid_argument} if it can't be reached.
  void restore(const PlanState& state, Epoch epoch);
  // Skips `count` elements without computing them, like advance_all(). Must precede the first
  // next() since the last restart or restore.
  Stop advance(uint64_t count, uint64_t& passed);

  // From any thread: makes next() return soon, without elements, whatever it is doing. Undone by
  // restart() and restore().
  void request_stop();
  // Finishes and drops the chunks in flight, so that their tickets are released, and starts again.
  void restart(Epoch epoch);

 private:
  void finish();
  void retire_oldest();
  void fill();
  void fit_to_memory();
  void use_slots(size_t count);
  void charge(ChunkSlot& slot);
  [[noreturn]] void fail(const std::exception_ptr& error);

  Stage stage_;  // outlives the producers
  std::shared_ptr<parallel::Crew> crew_;
  ThreadTuner helpers_;
  const std::shared_ptr<MemoryAccount> memory_;
  std::shared_ptr<PartQueue> queue_;
  std::vector<std::unique_ptr<ChunkSlot>> slots_;  // workers have pointers to the slots
  size_t used_slots_ = 0;                          // the ring is the first used_slots_ of slots_
  size_t oldest_ = 0;
  size_t in_flight_ = 0;
  uint64_t position_ = 0;  // number of elements before the oldest chunk
  uint64_t planned_ = 0;   // number of elements, including the chunks in flight
  PlanSnapshots snapshots_;
  uint64_t largest_ = 0;  // bytes of the largest chunk, if memory is limited
  size_t overruns_ = 0;   // consecutive chunks for which there was no room
  size_t calm_ = 0;       // chunks since used_slots_ changed, with room for more
  static constexpr size_t kCalm = 16;
  static constexpr size_t kMaxOverruns = 64;
  bool holding_ = false;              // the oldest chunk is held by the consumer
  bool ended_ = false;                // the plan has ended
  std::exception_ptr plan_error_;     // thrown after the elements planned before it
  std::exception_ptr pending_error_;  // thrown by the next call
  std::exception_ptr error_;          // thrown by every call
};

}  // namespace recordpipe::internal
