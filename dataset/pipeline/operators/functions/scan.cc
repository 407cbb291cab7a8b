// scan: a map that carries a state from element to element.
//
// Runs sequentially, in order. An element that fails leaves the state unchanged. If the state can
// be copied as bytes, it is saved with the input's position; otherwise the number of elements is
// saved, and the state is recomputed from the start.
#include <algorithm>
#include <span>
#include <utility>

#include "dataset/pipeline/execute/chunk_reader.h"
#include "dataset/pipeline/execute/value_store.h"
#include "dataset/pipeline/plan/node.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

class ScanPlan final : public StorePlan {
 public:
  ScanPlan(std::shared_ptr<ValueStore> store, Stage input, const ScanFunction& function,
           const StageContext& context)
      : StorePlan(std::move(store)),
        function_(function),
        reader_(std::move(input), context),
        state_(function.start()),
        outputs_(this->store().ops()),
        charge_(context.memory) {}

  void save(PlanState& state) const override {
    if (state_->words() > 0) {
      state.reset(1).numbers.resize(state_->words());
      state_->save(state.numbers.data());
      reader_.save(state.inputs[0]);
    } else {
      state.reset(0).numbers = {reader_.position()};
    }
  }

 protected:
  Stop do_plan(TicketSink& out, Wait) override {
    if (!reader_.fetch()) return end_or_stop();
    const size_t count = std::min(reader_.count_at_hand(), out.room().size());
    const std::span<Ticket> tickets = out.room().first(count);
    for (size_t i = 0; i < count; ++i) tickets[i] = {reader_.id(i), i};
    Failures failures = apply(count);
    store().put(outputs_.data(), tickets, failures);
    charge_.set(outputs_.bytes());
    out.take(count);
    return Stop::none;
  }

  void do_restart(Epoch epoch) override {
    state_ = function_.start();
    reader_.restart(epoch);
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    state_ = function_.start();
    if (state_->words() > 0) {
      PlanNumbers numbers(state, 1);
      if (numbers.rest().size() != state_->words()) fail_state();
      state_->restore(numbers.rest().data());
      reader_.restore(numbers.input(), epoch);
    } else {
      const uint64_t taken = PlanNumbers(state, 0).next();
      reader_.restart(epoch);
      while (reader_.position() < taken) {
        if (!reader_.fetch()) fail_state();
        apply(std::min<uint64_t>(taken - reader_.position(), reader_.count_at_hand()));
      }
    }
  }

  void do_request_stop() override { reader_.request_stop(); }

 private:
  // Applies the function to the next `count` inputs, which are at hand; returns the failures.
  Failures apply(size_t count) {
    outputs_.grow(count);
    Failures failures = reader_.take_failures(count);
    state_->apply(count, reader_.value(), outputs_.data(), failures);
    reader_.pass(count);
    return failures;
  }

  const ScanFunction& function_;  // owned by the node
  ChunkReader reader_;
  std::unique_ptr<ScanState> state_;
  ElementBuffer outputs_;  // results of the last apply(), followed by old values
  MemoryCharge charge_;    // for outputs_
};

class ScanNode final : public UnaryNode {
 public:
  ScanNode(NodePtr input, std::unique_ptr<const ScanFunction> function, const ElementOps& output)
      : UnaryNode(std::move(input), output), function_(std::move(function)) {}
  Cardinality cardinality() const override { return input().cardinality(); }

 protected:
  PlanDescription describe_operator() const override {
    return PlanDescription{"scan"}.with(function_->parameters());
  }
  Stage build_stage(const StageContext& context) const override {
    Stage stage = input().make_stage(context);
    const size_t chunk_size = stage.chunk_size;
    return make_store_stage<ScanPlan>(element(), chunk_size, std::move(stage), *function_, context);
  }

 private:
  std::unique_ptr<const ScanFunction> function_;
};

}  // namespace

NodePtr scan(NodePtr input, std::unique_ptr<const ScanFunction> function,
             const ElementOps& output) {
  return std::make_shared<ScanNode>(std::move(input), std::move(function), output);
}

}  // namespace recordpipe::internal
