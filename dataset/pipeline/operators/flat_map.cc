// flat_map over vectors, and unbatch: one element becomes several.
//
// Keeps the order. The ids of the new elements are derived from the id of the original element and
// their index (child_id). A failing input element yields one failing element. Saved state: the
// input's position, and the position inside the current element.
#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "dataset/pipeline/engine/chunk_reader.h"
#include "dataset/pipeline/engine/node.h"
#include "dataset/pipeline/engine/value_store.h"
#include "dataset/pipeline/operators/map.h"
#include "recordpipe/internal/operators.h"

namespace recordpipe::internal {
namespace {

class FlattenPlan final : public StorePlan {
 public:
  FlattenPlan(std::shared_ptr<ValueStore> store, Stage vectors, const StageContext& context)
      : StorePlan(std::move(store)), vectors_(std::move(vectors), context) {}

  void save(PlanState& state) const override {
    state.reset(1).numbers = {place_};
    vectors_.save(state.inputs[0]);
  }

 protected:
  Stop do_plan(TicketSink& out, Wait) override {
    while (out.count() == 0) {
      if (!vectors_.fetch()) return end_or_stop();
      while (vectors_.is_at_hand() && !out.is_full()) plan_one(out);
    }
    return Stop::none;
  }

  void do_restart(Epoch epoch) override {
    place_ = 0;
    vectors_.restart(epoch);
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, 1);
    place_ = numbers.next();
    vectors_.restore(numbers.input(), epoch);
  }

  void do_request_stop() override { vectors_.request_stop(); }

 private:
  // Returns as many elements of the current vector as fit, possibly none.
  void plan_one(TicketSink& out) {
    const ElementId parent = vectors_.id();
    if (auto error = vectors_.take_error()) {
      const uint64_t place = ends_source(parent) ? kEndOfSource : 0;
      out.push({child_id(parent, place), store().put_failure(std::move(error))});
    } else {
      const VectorOps& ops = *vectors_.element().vector;
      void* const vector = vectors_.value();
      const size_t size = ops.size(vector);
      const uint64_t left = size - std::min<uint64_t>(place_, size);  // a saved one may be larger
      const std::span<Ticket> tickets = out.room().first(std::min(left, out.room().size()));
      for (Ticket& ticket : tickets) {
        ticket = {child_id(parent, place_), place_};
        ++place_;
      }
      store().put(ops.data(vector), tickets, {});
      out.take(tickets.size());
      if (place_ < size) return;
    }
    place_ = 0;
    vectors_.pass();
  }

  ChunkReader vectors_;
  uint64_t place_ = 0;  // in the current element's vector
};

Stage flattened(Stage vectors, const StageContext& context) {
  const ElementOps& element = vectors.work->element().vector->element;
  return make_store_stage<FlattenPlan>(element, context.chunk_size, std::move(vectors), context);
}

class FlatMapNode final : public UnaryNode {
 public:
  FlatMapNode(NodePtr input, std::unique_ptr<const MapFunction> function, const ElementOps& vector)
      : UnaryNode(std::move(input), vector.vector->element),
        function_(std::move(function)),
        vector_(vector) {}

 protected:
  PlanDescription describe_operator() const override {
    PlanDescription plan{"flat_map"};
    plan.add(function_->parameters());
    return plan;
  }
  Stage build_stage(const StageContext& context) const override {
    return flattened(mapped(input().make_stage(context), *function_, vector_), context);
  }

 private:
  std::unique_ptr<const MapFunction> function_;
  const ElementOps& vector_;
};

class UnbatchNode final : public UnaryNode {
 public:
  explicit UnbatchNode(NodePtr input) : UnaryNode(input, input->element().vector->element) {}

 protected:
  PlanDescription describe_operator() const override { return {"unbatch", {}}; }
  Stage build_stage(const StageContext& context) const override {
    return flattened(input().make_stage(context), context);
  }
};

}  // namespace

NodePtr flat_map(NodePtr input, std::unique_ptr<const MapFunction> function,
                 const ElementOps& vector) {
  return std::make_shared<FlatMapNode>(std::move(input), std::move(function), vector);
}

NodePtr unbatch(NodePtr input) { return std::make_shared<UnbatchNode>(std::move(input)); }

}  // namespace recordpipe::internal
