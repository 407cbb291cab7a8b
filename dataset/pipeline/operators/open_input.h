// One input of interleave while it is open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "dataset/pipeline/engine/executor.h"
#include "dataset/pipeline/engine/memory_account.h"
#include "dataset/pipeline/engine/node.h"
#include "dataset/pipeline/engine/plan_state.h"
#include "dataset/pipeline/engine/stage_context.h"
#include "dataset/pipeline/engine/task_queue.h"
#include "dataset/pipeline/engine/value_store.h"
#include "recordpipe/internal/ticket.h"

namespace recordpipe::internal {

// The Dataset that an element of interleave's own input opened, run by an Executor of its own. Some
// elements are handed out while a task fetches the next; all of them are in the plan's store.
class OpenInput final : private TaskQueue::Task {
 public:
  // Starts a first pass. `id` is that of the element that opened it, `position` its number, and
  // `opened_at` the state of the input that it came from, there. A fetch gets `fetch_size` elements
  // or more, unless they are large.
  OpenInput(NodePtr node, const StageContext& context, const ElementId& id, uint64_t position,
            PlanState opened_at, size_t fetch_size, ValueStore& store, TaskQueue& queue);
  ~OpenInput() override;
  OpenInput(const OpenInput&) = delete;
  OpenInput& operator=(const OpenInput&) = delete;

  const ElementId& id() const { return id_; }
  uint64_t position() const { return position_; }
  const PlanState& opened_at() const { return opened_at_; }

  // Whether the next element is here already.
  bool has_next() const { return at_ < ready_.size(); }
  // Fetches what comes after the elements that are here, on the pool.
  void read_ahead();
  // Brings the next element here; false at the end. Throws what the planning throws, once: that is
  // the end, too.
  bool fetch();
  // The next element, once it is here.
  Ticket take() {
    ++taken_;
    return ready_[at_++];
  }

  // From any thread.
  void request_stop() { executor_.request_stop(); }

  // Where it stands. Restored before anything is fetched.
  bool has_failed() const { return failed_; }
  void save(PlanState& state) const { executor_.save(taken_, state); }
  void restore(const PlanState& state, bool failed);

 private:
  // Fetches one chunk; ahead of time several small ones.
  void run(bool is_needed) noexcept override;
  // Behind what was fetched.
  void end(std::exception_ptr error);
  void keep(const Chunk& chunk);
  // Of its first pass: derived from the id.
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
  size_t at_ = 0;       // in ready_
  uint64_t taken_ = 0;  // elements, since the executor's start
  bool reads_ahead_ = false;
  bool failed_ = false;  // it has ended with an error
  // The task's, while it runs.
  Executor executor_;
  // Handed over by the task.
  std::vector<Ticket> fetched_;
  bool has_ended_ = false;
  std::exception_ptr error_;
};

}  // namespace recordpipe::internal
