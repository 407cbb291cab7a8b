// from_generator: yields elements that a function makes one after the other.
//
// Sequential, with a new generator for each pass. Saved state: the number of elements; to restore
// it, a new generator is run up to there.
#include <utility>

#include "dataset/pipeline/execute/value_store.h"
#include "dataset/pipeline/plan/node.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

class GeneratorPlan final : public StorePlan {
 public:
  GeneratorPlan(std::shared_ptr<ValueStore> store, const GeneratorFunction& function)
      : StorePlan(std::move(store)), function_(function), value_(this->store().ops(), 1) {}

  void save(PlanState& state) const override { state.reset(0).numbers = {index_}; }

 protected:
  Stop do_plan(TicketSink& out, Wait) override {
    while (!out.is_full()) {
      if (!next()) return end_or_stop();
      out.push({{epoch_, index_++}, store().put(value_.data())});
    }
    return Stop::none;
  }

  Stop do_advance(uint64_t count, uint64_t& passed) override {
    for (; passed < count; ++passed, ++index_) {
      if (!next()) return end_or_stop();
    }
    return Stop::none;
  }

  void do_restart(Epoch epoch) override {
    generator_.reset();
    index_ = 0;
    epoch_ = epoch.ids;
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    const uint64_t made = PlanNumbers(state, 0).next();
    do_restart(epoch);
    uint64_t passed = 0;
    do_advance(made, passed);
    if (passed < made) fail_state();
  }

 private:
  // Returns false at the end, and after a request to stop. A generator that has thrown or ended is
  // not called again.
  bool next() {
    if (is_stopping()) return false;
    if (!generator_) generator_ = function_.start();
    if (generator_->next(value_.data())) return true;
    generator_.reset();
    return false;
  }

  const GeneratorFunction& function_;            // owned by the node
  std::unique_ptr<ElementGenerator> generator_;  // of this pass
  ElementBuffer value_;
  uint64_t index_ = 0;
  uint64_t epoch_ = 0;
};

class GeneratorNode final : public Node {
 public:
  GeneratorNode(std::unique_ptr<const GeneratorFunction> function, const ElementOps& element)
      : Node(element), function_(std::move(function)) {}

 protected:
  PlanDescription describe_operator() const override {
    return PlanDescription{"from_generator"}.with(function_->parameters());
  }
  Stage build_stage(const StageContext& context) const override {
    return make_store_stage<GeneratorPlan>(element(), context.chunk_size, *function_);
  }

 private:
  std::unique_ptr<const GeneratorFunction> function_;
};

}  // namespace

NodePtr from_generator(std::unique_ptr<const GeneratorFunction> function,
                       const ElementOps& element) {
  return std::make_shared<GeneratorNode>(std::move(function), element);
}

}  // namespace recordpipe::internal
