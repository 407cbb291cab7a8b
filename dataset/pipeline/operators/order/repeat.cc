// repeat: yields the whole input several times.
//
// Passes follow each other, each in its own epoch. No random access. Saved state: the number of the
// pass, whether it has been empty so far, and the input's position.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "dataset/base/require.h"
#include "dataset/pipeline/plan/node.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

// Each pass restarts the input with a new epoch, so that upstream random numbers are drawn anew. An
// empty pass ends an infinite repetition, which would otherwise never yield an element.
class RepeatPlan final : public OrderPlan {
 public:
  RepeatPlan(std::unique_ptr<Plan> input, int64_t count)
      : OrderPlan(std::move(input)), count_(count) {}

  void save(PlanState& state) const override {
    state.reset(1).numbers = {pass_, empty_pass_};
    input().save(state.inputs[0]);
  }

 protected:
  Stop do_plan(TicketSink& out, Wait wait) override {
    while (count_ != 0) {
      const Planned planned = input().plan(out.room(), wait);
      out.take(planned.count);
      if (planned.count > 0) {
        empty_pass_ = false;
        return Stop::none;
      }
      if (planned.stop != Stop::end) return planned.stop;
      if (!next_pass()) break;
    }
    return end_or_stop();
  }

  Stop do_advance(uint64_t count, uint64_t& passed) override {
    while (count_ != 0) {
      const uint64_t before = passed;
      const Stop stop = advance_all(input(), count - passed, passed);
      if (passed > before) empty_pass_ = false;
      if (stop != Stop::end || passed == count) return stop == Stop::end ? Stop::none : stop;
      if (!next_pass()) break;
    }
    return end_or_stop();
  }

  void do_restart(Epoch epoch) override {
    epoch_ = epoch;
    pass_ = 0;
    empty_pass_ = true;
    input().restart(nested_epoch(epoch_, 0));
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, 1);
    epoch_ = epoch;
    pass_ = numbers.next(last_pass());
    empty_pass_ = numbers.next_bool();
    restore_place(input(), numbers.input(), nested_epoch(epoch_, pass_));
  }

 private:
  uint64_t last_pass() const {
    return count_ < 0 ? UINT64_MAX : static_cast<uint64_t>(std::max<int64_t>(count_, 1) - 1);
  }

  // Called after the end of a pass: starts the next pass. Returns false if there is none.
  bool next_pass() {
    const bool is_for_nothing = count_ < 0 && empty_pass_;
    if (pass_ == last_pass() || is_for_nothing || is_stopping()) return false;
    empty_pass_ = true;
    input().restart(nested_epoch(epoch_, ++pass_));
    if (is_stopping()) input().request_stop();  // the request may have come before the restart
    return true;
  }

  const int64_t count_;  // -1: infinite
  Epoch epoch_;
  uint64_t pass_ = 0;
  bool empty_pass_ = true;
};

class RepeatNode final : public UnaryNode {
 public:
  RepeatNode(NodePtr input, int64_t count) : UnaryNode(std::move(input)), count_(count) {}
  Cardinality cardinality() const override {
    const Cardinality once = count_ == 0 ? 0 : input().cardinality();
    if (once <= 0) return once;
    if (count_ < 0) return kInfiniteCardinality;
    return once <= INT64_MAX / count_ ? once * count_ : kUnknownCardinality;
  }

 protected:
  PlanDescription describe_operator() const override { return {"repeat", {{"count", count_}}}; }
  Stage build_stage(const StageContext& context) const override {
    return reordered<RepeatPlan>(context, count_);
  }

 private:
  int64_t count_;
};

}  // namespace

NodePtr repeat(NodePtr input, int64_t count) {
  require(count >= -1, "repeat: count must be at least 0, or -1 for ever");
  return std::make_shared<RepeatNode>(std::move(input), count);
}

}  // namespace recordpipe::internal
