// repeat: the whole input again and again.
//
// By default for ever. One pass after the other, each in an epoch of its own. No random access.
// Saved: the number of the pass, and the input's place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"

namespace recordpipe {

// Each pass restarts the input with an epoch of its own, so that what is random upstream is drawn
// anew. A pass without any element ends a repetition for ever, which would never yield.
template <Element T>
class RepeatStage final : public OrderStage<T> {
 public:
  RepeatStage(std::unique_ptr<Stage<T>> upstream, int64_t count)
      : OrderStage<T>(std::move(upstream)), count_(count) {}

  size_t do_plan(std::span<Ticket> out, Wait wait) override {
    if (count_ == 0) return 0;
    do {
      if (const size_t planned = this->upstream().plan(out, wait)) {
        empty_pass_ = false;
        return planned;
      }
      if (wait == Wait::no) break;  // perhaps not the end
    } while (next_pass());
    return 0;
  }

  uint64_t do_advance(uint64_t count) override {
    if (count_ == 0) return 0;
    do {
      if (const uint64_t passed = this->upstream().advance(count)) {
        empty_pass_ = false;
        return passed;
      }
    } while (next_pass());
    return 0;
  }

  void save(PlanState& state) const override {
    state.reset(1).numbers = {pass_, empty_pass_};
    this->upstream().save(state.inputs[0]);
  }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, 1);
    epoch_ = epoch;
    pass_ = numbers.next();
    empty_pass_ = numbers.next_bool();
    restore_place(this->upstream(), numbers.input(), nested_epoch(epoch_, pass_));
  }

  void do_restart(uint64_t epoch) override {
    epoch_ = epoch;
    pass_ = 0;
    empty_pass_ = true;
    this->upstream().restart(nested_epoch(epoch_, 0));
  }

 private:
  // After the end of a pass. False where it was the last.
  bool next_pass() {
    const bool more = count_ < 0 ? !empty_pass_ : pass_ + 1 < static_cast<uint64_t>(count_);
    if (!more || this->stop_requested()) return false;
    empty_pass_ = true;
    this->upstream().restart(nested_epoch(epoch_, ++pass_));
    return true;
  }

  const int64_t count_;  // -1: for ever
  uint64_t epoch_ = 0;
  uint64_t pass_ = 0;
  bool empty_pass_ = true;
};

template <Element T>
class RepeatNode final : public UnaryNode<T> {
 public:
  RepeatNode(std::shared_ptr<const Node<T>> upstream, int64_t count)
      : UnaryNode<T>(std::move(upstream)), count_(count) {}
  std::unique_ptr<Stage<T>> build_stage(const StageContext& context) const override {
    return std::make_unique<RepeatStage<T>>(this->upstream().make_stage(context), count_);
  }

  PlanDescription describe() const override {
    return this->described("repeat", {{"count", count_}});
  }

 private:
  int64_t count_;
};

}  // namespace recordpipe
