#include "dataset/pipeline/execute/executor.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "dataset/pipeline/observe/stage_monitor.h"

namespace recordpipe::internal {

std::exception_ptr Chunk::take_error_at(size_t i) const {
  if (failures.empty()) return nullptr;
  const auto found = std::ranges::lower_bound(failures, i, {}, &Failure::at);
  return found != failures.end() && found->at == i ? std::move(found->error) : nullptr;
}

Executor::Executor(Stage stage, const StageContext& context)
    : stage_(std::move(stage)),
      crew_(stage_.work->is_heavy() ? context.crew : nullptr),
      helpers_(context.threads - 1, context.tune_threads),
      memory_(context.memory),
      queue_(std::make_shared<PartQueue>(context.stage)) {
  // One chunk for each thread, one held by the consumer, and one ready.
  const size_t depth = crew_ ? 2 + context.threads : 1;
  for (size_t i = 0; i < depth; ++i) {
    slots_.push_back(std::make_unique<ChunkSlot>());
    slots_.back()->tickets.resize(stage_.chunk_size);
  }
  queue_->waiting.reserve(depth);
  queue_->idle.reserve(depth);
  use_slots(memory_->is_limited() ? 1 : depth);
  snapshots_.charge_to(memory_);
  snapshots_.start(*stage_.plan, 0);
}

Executor::~Executor() {
  request_stop();
  queue_->cancel();
}

Chunk Executor::next() {
  Chunk chunk = next_with_failures();
  if (chunk.failures.empty()) return chunk;
  const Failure& first = chunk.failures.front();
  if (first.at == 0) fail(first.error);
  pending_error_ = first.error;
  return {chunk.tickets.first(first.at), chunk.values, chunk.ops};
}

Chunk Executor::next_with_failures() {
  if (error_) std::rethrow_exception(error_);
  if (holding_) retire_oldest();
  fill();
  if (in_flight_ == 0) {
    if (plan_error_) fail(plan_error_);
    return {};
  }
  ChunkSlot& slot = *slots_[oldest_];
  helpers_.came(!queue_->is_done(slot));
  if (!queue_->wait(slot)) return {};
  holding_ = true;
  if (slot.broken) fail(slot.broken);
  charge(slot);
  Workspace& workspace = *slot.workspace;
  return {{slot.tickets.data(), slot.count}, workspace.values.data(),    &element(), slot.failures,
          workspace.producer->wanted(),      workspace.producer->sizes()};
}

void Executor::restore(const PlanState& state, Epoch epoch) {
  finish();
  position_ = planned_ = 0;
  stage_.plan->restore(state, epoch);
  snapshots_.start(*stage_.plan, 0);  // in use if the way to the position is cut short
  uint64_t passed = 0;
  try {
    advance(state.passed_over, passed);
  } catch (...) {
    // The position is in a shard's last group, which an error has cut short: it comes next.
    if (!state.is_reached(passed)) throw;
  }
  if (!state.is_reached(passed)) fail_state();
}

Stop Executor::advance(uint64_t count, uint64_t& passed) {
  const uint64_t before = passed;
  Stop stop = Stop::none;
  std::exception_ptr error;
  try {
    stop = advance_all(*stage_.plan, count, passed);
  } catch (...) {
    error = std::current_exception();
  }
  position_ += passed - before;
  planned_ += passed - before;
  // Only after a complete advance can the position be saved; otherwise the previous snapshot stays
  // in use.
  if (passed - before == count) snapshots_.start(*stage_.plan, planned_);
  if (error) std::rethrow_exception(error);
  return stop;
}

void Executor::request_stop() {
  // The queue first: producers that notice the plan's stop omit elements, and next() must not
  // return such chunks.
  queue_->request_stop();
  stage_.plan->request_stop();
}

void Executor::restart(Epoch epoch) {
  finish();
  stage_.plan->restart(epoch);
  position_ = planned_ = 0;
  snapshots_.start(*stage_.plan, 0);
}

void Executor::finish() {
  for (; in_flight_ > 0; --in_flight_, oldest_ = (oldest_ + 1) % used_slots_) {
    queue_->finish(*slots_[oldest_]);
    queue_->put(std::move(slots_[oldest_]->workspace));
  }
  queue_->resume();
  holding_ = ended_ = false;
  error_ = plan_error_ = pending_error_ = nullptr;
}

void Executor::retire_oldest() {
  holding_ = false;
  slots_[oldest_]->workspace->measure();
  position_ += slots_[oldest_]->count;
  queue_->put(std::move(slots_[oldest_]->workspace));
  oldest_ = (oldest_ + 1) % used_slots_;
  --in_flight_;
  if (pending_error_) fail(pending_error_);
}

void Executor::fill() {
  fit_to_memory();
  while (in_flight_ < used_slots_ && !ended_) {
    ChunkSlot& slot = *slots_[(oldest_ + in_flight_) % used_slots_];
    const Wait wait = in_flight_ == 0 ? Wait::yes : Wait::no;
    size_t parts = 0;
    slot.count = 0;
    try {
      snapshots_.take(*stage_.plan, planned_);
      const Planned planned = stage_.plan->plan(slot.tickets, wait);
      slot.count = planned.count;
      planned_ += planned.count;
      ended_ = planned.stop == Stop::end || planned.stop == Stop::requested;
      if (slot.count > 0) parts = stage_.work->parts({slot.tickets.data(), slot.count});
    } catch (...) {
      plan_error_ = std::current_exception();
      ended_ = true;
    }
    if (parts == 0) {
      // No tickets: the plan has given a reason to stop. With tickets, it may give one, too.
      return;
    }
    size_t missing_visits = 0;
    {
      const std::lock_guard lock(queue_->mutex);
      slot.reset(parts);
      queue_->waiting.push_back(&slot);
      if (crew_ && queue_->visits < helpers_.helpers()) {
        missing_visits = std::min(parts, helpers_.helpers() - queue_->visits);
        queue_->visits += missing_visits;
      }
    }
    ++in_flight_;
    for (; missing_visits > 0; --missing_visits) crew_->submit(queue_);
  }
}

// With a memory limit: activates as many slots as fit, leaving room for one more chunk in flight
// to or from another operator. At least one slot is active; chunk sizes are known once the first
// chunk exists.
void Executor::fit_to_memory() {
  if (!memory_->is_limited()) return;
  if (!memory_->has_room_for(0)) {
    use_slots(std::max<size_t>(1, in_flight_));
  } else if (used_slots_ < slots_.size() && largest_ > 0 && memory_->has_room_for(2 * largest_)) {
    if (++calm_ < kCalm) return;
    use_slots(used_slots_ + 1);
  }
}

// Uses `count` slots, with a workspace for each. `count` is not below in_flight_.
void Executor::use_slots(size_t count) {
  std::ranges::rotate(slots_.begin(), slots_.begin() + static_cast<ptrdiff_t>(oldest_),
                      slots_.begin() + static_cast<ptrdiff_t>(used_slots_));
  oldest_ = 0;
  calm_ = 0;
  for (; used_slots_ < count; ++used_slots_) {
    auto workspace = std::make_unique<Workspace>(stage_, memory_);
    workspace->memory.set(largest_);  // the bytes it will take
    queue_->put(std::move(workspace));
  }
  for (; used_slots_ > count; --used_slots_) queue_->drop_workspace();
}

// Charges the oldest chunk, whose size is now known. The total may exceed the limit by a chunk: two
// operators may take the same room, and what they took is kept for reuse. By more than that only
// temporarily, until other operators release memory; if it stays above, the pipeline can't run.
void Executor::charge(ChunkSlot& slot) {
  slot.workspace->measure();
  if (!memory_->is_limited()) return;
  largest_ = std::max(largest_, slot.workspace->memory.bytes());
  const MemoryUse use = memory_->use();
  const bool is_over = in_flight_ == 1 && use.bytes > use.limit && use.bytes - use.limit > largest_;
  overruns_ = is_over ? overruns_ + 1 : 0;
  if (overruns_ > kMaxOverruns || slot.workspace->memory.bytes() > use.limit) {
    fail(std::make_exception_ptr(MemoryLimitExceeded(use)));
  }
}

void Executor::fail(const std::exception_ptr& error) {
  error_ = error;
  std::rethrow_exception(error_);
}

}  // namespace recordpipe::internal
