// Turns a Stage into values in order, with the work of several chunks under way at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "dataset/pipeline/engine/memory_account.h"
#include "dataset/pipeline/engine/part_queue.h"
#include "dataset/pipeline/engine/plan_snapshots.h"
#include "dataset/pipeline/engine/plan_state.h"
#include "dataset/pipeline/engine/stage.h"
#include "dataset/pipeline/engine/stage_context.h"
#include "dataset/pipeline/engine/thread_tuner.h"
#include "dataset/pipeline/engine/worker_pool.h"
#include "recordpipe/internal/element_ops.h"
#include "recordpipe/internal/ticket.h"

namespace recordpipe::internal {

// Elements that have been computed; lent by an executor.
struct Chunk {
  std::span<const Ticket> tickets = {};
  void* values = nullptr;  // may be moved from or swapped
  const ElementOps* ops = nullptr;
  std::span<Failure> failures = {};
  std::span<const uint8_t> wanted = {};  // see Producer::wanted

  bool empty() const { return tickets.empty(); }
  size_t size() const { return tickets.size(); }
  void* value(size_t i) const { return element_at(values, *ops, i); }
  // Why element `i` could not be computed; null where it was. Only once for each: what is thrown in
  // the end has one owner, so that it isn't freed on one thread while another looks at it.
  std::exception_ptr take_error_at(size_t i) const;
};

// A ring of chunks. next() gives the oldest chunk back to the ring, plans as many new ones as fit,
// hands their parts to the workers, and returns the now oldest chunk when its last part is done.
// Whoever waits does parts itself meanwhile, so there is progress whatever the workers do, and no
// worker waits for what nobody does yet. Used by one thread at a time.
class Executor {
 public:
  Executor(Stage stage, const StageContext& context);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // The next elements, valid until the next call; empty at the end. The error of one that could not
  // be computed, and what the planning threw, is thrown when all elements before it have been
  // returned, and again at every further call.
  Chunk next();
  // The same, but elements that could not be computed are elements like others. Only what the
  // planning threw ends it.
  Chunk next_with_failures();

  // How many elements come before the chunk that next() returned last, or where there is none,
  // before the next one: counted from the last restart or restore.
  uint64_t position() const { return position_; }

  // The bytes of a chunk so far, where memory is limited. On the thread of next().
  uint64_t largest_chunk() const { return largest_; }
  const ElementOps& element() const { return stage_.work->element(); }
  size_t chunk_size() const { return stage_.chunk_size; }

  // From any thread: the place after the first `position` elements, however far the plan is ahead.
  void save(uint64_t position, PlanState& state) const { snapshots_.save(position, state); }
  // From any thread: places before this one will not be saved any more.
  void release(uint64_t position) { snapshots_.release(position); }

  // Goes to a saved place; throws Error{invalid_argument} where it can't be reached.
  void restore(const PlanState& state, uint64_t epoch);
  // Passes over `count` elements without computing them, as advance_all(). Only before next() was
  // called for the first time since the last restart or restore.
  Stop advance(uint64_t count, uint64_t& passed);

  // From any thread: next() is to return nothing soon, whatever it is doing. Undone by restart()
  // and restore().
  void request_stop();
  // Finishes and drops what is under way, so that its tickets are used up, and starts again.
  void restart(uint64_t epoch);

 private:
  void finish();
  void retire_oldest();
  void fill();
  void fit_to_memory();
  void use_slots(size_t count);
  void charge(ChunkSlot& slot);
  [[noreturn]] void fail(const std::exception_ptr& error);

  Stage stage_;  // outlives the producers
  std::shared_ptr<WorkerPool> pool_;
  ThreadTuner helpers_;
  const std::shared_ptr<MemoryAccount> memory_;
  std::shared_ptr<PartQueue> queue_;
  std::vector<std::unique_ptr<ChunkSlot>> slots_;  // workers have pointers to them
  size_t used_slots_ = 0;                          // the first of slots_, a ring
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
  bool ended_ = false;                // there is no more to plan
  std::exception_ptr plan_error_;     // thrown when what was planned before has been returned
  std::exception_ptr pending_error_;  // thrown at the next call
  std::exception_ptr error_;          // thrown at every call
};

}  // namespace recordpipe::internal
