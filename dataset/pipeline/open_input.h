// One input of interleave while it is open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "dataset/pipeline/executor.h"
#include "dataset/pipeline/node.h"
#include "dataset/pipeline/plan_state.h"
#include "dataset/pipeline/stage.h"
#include "dataset/pipeline/stage_context.h"

namespace recordpipe {

// The Dataset that an element of interleave's own input opened, run by an Executor of its own.
template <Element U>
class OpenInput {
 public:
  using Input = std::shared_ptr<const Node<U>>;
  using Chunk = typename Executor<U>::Chunk;

  // What its elements may point into.
  struct Source {
    Input node;
    std::shared_ptr<Stage<U>> stage;
  };

  // Starts a first pass. `id` is that of the element that opened it, `position` its number, and
  // `opened_at` the state of the input that it came from, there.
  OpenInput(Input node, const StageContext& context, const ElementId& id, uint64_t position,
            PlanState opened_at)
      : id_(id),
        position_(position),
        opened_at_(std::move(opened_at)),
        source_(std::make_shared<Source>(Source{node, node->make_stage(context)})),
        executor_(source_->stage, context) {
    executor_.restart(epoch());
  }

  const ElementId& id() const { return id_; }
  uint64_t position() const { return position_; }
  const PlanState& opened_at() const { return opened_at_; }
  const std::shared_ptr<Source>& source() const { return source_; }

  // Of its first pass: derived from the id.
  uint64_t epoch() const { return child_id(id_, 0).epoch; }

  // Whether the next element is here already.
  bool has_next() const { return at_ < chunk_.size(); }
  // Brings it here; false at the end. Throws what the planning throws, once: that is the end, too.
  bool fetch() {
    if (has_next()) return true;
    if (failed_) return false;
    at_ = 0;
    chunk_ = {};
    try {
      chunk_ = executor_.next_with_failures();
    } catch (...) {
      failed_ = true;
      throw;
    }
    executor_.release(executor_.position());
    return !chunk_.empty();
  }
  // The next element is the one at at() of chunk(), once it is here.
  const Chunk& chunk() const { return chunk_; }
  size_t at() const { return at_; }
  void pass() { ++at_; }

  // From any thread.
  void request_stop() { executor_.request_stop(); }

  // Where it stands.
  bool has_failed() const { return failed_; }
  void save(PlanState& state) const { executor_.save(executor_.position() + at_, state); }
  void restore(const PlanState& state, bool failed) {
    failed_ = failed;
    restore_place(executor_, state, epoch());
  }

 private:
  const ElementId id_;
  const uint64_t position_;
  const PlanState opened_at_;
  const std::shared_ptr<Source> source_;
  Executor<U> executor_;
  Chunk chunk_;
  size_t at_ = 0;
  bool failed_ = false;  // it has ended with an error
};

}  // namespace recordpipe
