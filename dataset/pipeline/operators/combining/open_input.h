// Reads one open input of interleave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "dataset/pipeline/execute/executor.h"
#include "dataset/pipeline/execute/memory_account.h"
#include "dataset/pipeline/execute/task_queue.h"
#include "dataset/pipeline/execute/value_store.h"
#include "dataset/pipeline/plan/node.h"
#include "dataset/pipeline/plan/stage_context.h"
#include "dataset/pipeline/state/plan_state.h"
#include "recordpipe/pipeline/internal/ticket.h"

namespace recordpipe::internal {

// A Dataset that an element of interleave's own input opened, with its own Executor. A task fetches
// elements while earlier ones are returned; all of them are in the plan's store.
class OpenInput final : private TaskQueue::Task {
 public:
  // Starts a first pass. `id` is the id of the element that opened the Dataset, `position` the
  // element's index, and `opened_at` the state of interleave's own input before that element. A
  // fetch gets at least `fetch_size` elements, unless they are large.
  OpenInput(NodePtr node, const StageContext& context, const ElementId& id, uint64_t position,
            PlanState opened_at, size_t fetch_size, ValueStore& store, TaskQueue& queue);
  ~OpenInput() override;
  OpenInput(const OpenInput&) = delete;
  OpenInput& operator=(const OpenInput&) = delete;

  const ElementId& id() const { return id_; }
  uint64_t position() const { return position_; }
  const PlanState& opened_at() const { return opened_at_; }

  // Whether the next element has been fetched.
  bool has_next() const { return at_ < ready_.size(); }
  // Starts a task that fetches the elements after the fetched ones, on the crew.
  void read_ahead();
  // Fetches the next element if necessary; returns false at the end. Throws the plan's error once,
  // which also ends the input.
  bool fetch();
  // Returns the next element, which must have been fetched.
  Ticket take() {
    ++taken_;
    return ready_[at_++];
  }

  // From any thread.
  void request_stop() { executor_.request_stop(); }

  // The input's position. restore() must come before the first fetch.
  bool has_failed() const { return failed_; }
  void save(PlanState& state) const { executor_.save(taken_, state); }
  void restore(const PlanState& state, bool failed);

 private:
  // Fetches one chunk or, when reading ahead, several small chunks.
  void run(bool is_needed) noexcept override;
  // Marks the end, after the fetched elements.
  void end(std::exception_ptr error);
  void keep(const Chunk& chunk);
  // The epoch of the input's first pass, derived from the id.
  uint64_t epoch() const { return child_id(id_, 0).epoch; }

  const ElementId id_;
  const uint64_t position_;
  const PlanState opened_at_;
  const size_t fetch_size_;
  const std::shared_ptr<MemoryAccount> memory_;
  ValueStore& store_;
  TaskQueue& queue_;
  const NodePtr node_;
  std::vector<Ticket> ready_;
  size_t at_ = 0;       // index in ready_
  uint64_t taken_ = 0;  // number of elements since the executor's start
  bool reads_ahead_ = false;
  bool failed_ = false;  // the input has ended with an error
  // Used by the running task.
  Executor executor_;
  // Handed over by the task.
  std::vector<Ticket> fetched_;
  bool has_ended_ = false;
  std::exception_ptr error_;
};

}  // namespace recordpipe::internal
