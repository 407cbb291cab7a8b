// flat_map over vectors, and unbatch: one element becomes several.
//
// Keeps the order. The ids of the new elements are derived from the id of the original element and
// their index (child_id). How many elements a failing input element would have yielded is unknown,
// so its failing element stands for a lost source (lost_sources.h). A vector may be followed by a
// dataset, whose elements are read on, and by an error (FlatMapRest). Saved state: the input's
// position, and the position inside the current element.
#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "dataset/pipeline/execute/chunk_reader.h"
#include "dataset/pipeline/execute/memory_account.h"
#include "dataset/pipeline/execute/value_store.h"
#include "dataset/pipeline/operators/functions/map.h"
#include "dataset/pipeline/plan/lost_sources.h"
#include "dataset/pipeline/plan/node.h"
#include "dataset/pipeline/plan/open_files.h"
#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

FlatMapRest* no_rest(void* /*vector*/) { return nullptr; }

class FlattenPlan final : public StorePlan {
 public:
  FlattenPlan(std::shared_ptr<ValueStore> store, Stage vectors, FlatMapRestOf rest_of,
              const StageContext& context)
      : StorePlan(std::move(store)),
        context_(context_of_inputs(context)),
        rest_of_(rest_of),
        vectors_(std::move(vectors), context) {}

  void save(PlanState& state) const override {
    state.reset(1).numbers = {place_};
    vectors_.save(state.inputs[0]);
  }

 protected:
  Stop do_plan(TicketSink& out, Wait) override {
    while (out.count() == 0) {
      if (is_stopping()) return Stop::requested;
      if (!vectors_.fetch()) return end_or_stop();
      while (vectors_.is_at_hand() && !out.is_full() && plan_one(out)) continue;
    }
    return Stop::none;
  }

  void do_restart(Epoch epoch) override {
    close();
    place_ = 0;
    vectors_.restart(epoch);
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, 1);
    close();
    place_ = numbers.next();
    vectors_.restore(numbers.input(), epoch);
  }

  void do_request_stop() override {
    vectors_.request_stop();
    const std::lock_guard lock(mutex_);
    if (inside_) inside_->elements.request_stop();
  }

 private:
  // The dataset of the current element.
  struct Inside {
    Inside(NodePtr n, const StageContext& context)
        : node(std::move(n)), elements(node->make_stage(context), context) {}

    const NodePtr node;
    ChunkReader elements;
  };

  // Returns as many elements of the current element as fit, possibly none. Returns false if the
  // next ones must be waited for, and after a request to stop.
  bool plan_one(TicketSink& out) {
    const ElementId parent = vectors_.id();
    std::exception_ptr error = vectors_.take_error();
    if (!error) {
      const VectorOps& ops = *vectors_.element().vector;
      void* const vector = vectors_.value();
      plan_vector(ops.data(vector), ops.size(vector), out);
      if (place_ < ops.size(vector)) return true;  // `out` is full
      if (FlatMapRest* const rest = rest_of_(vector)) {
        if (!plan_inside(*rest, ops.size(vector), out)) return false;
        if (inside_ || (rest->error && out.is_full())) return true;
        error = std::move(rest->error);
      }
    }
    if (error) out.push(lost_source(parent, std::move(error), store(), context_));
    place_ = 0;
    vectors_.pass();
    return true;
  }

  void plan_vector(void* values, uint64_t size, TicketSink& out) {
    const uint64_t left = size - std::min(place_, size);  // a saved one may be larger
    const std::span<Ticket> tickets = out.room().first(std::min(left, out.room().size()));
    for (Ticket& ticket : tickets) {
      ticket = {child_id(vectors_.id(), place_), place_};
      ++place_;
    }
    store().put(values, tickets, {});
    out.take(tickets.size());
  }

  // The same for the dataset, if there is one, which follows `before` elements. At its end, closes
  // it; an error that ends it becomes the error of `rest`.
  bool plan_inside(FlatMapRest& rest, uint64_t before, TicketSink& out) {
    try {
      if (rest.dataset) open(rest, before);
      if (!inside_) return true;
      if (!inside_->elements.is_at_hand()) {
        if (out.count() > 0) return false;  // don't let finished elements wait
        if (!inside_->elements.fetch()) {
          if (is_stopping()) return false;
          close();
          return true;
        }
      }
    } catch (const MemoryLimitExceeded&) {
      throw;
    } catch (...) {
      if (is_stopping()) return false;
      rest.error = std::current_exception();
      close();
      return true;
    }
    ChunkReader& elements = inside_->elements;
    const size_t count = std::min(elements.count_at_hand(), out.room().size());
    const std::span<Ticket> tickets = out.room().first(count);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t index = ends_source(elements.id(i)) ? kEndOfSource : place_;
      tickets[i] = {child_id(vectors_.id(), index), i};
      ++place_;
    }
    Failures failures = elements.take_failures(count);
    store().put(elements.value(), tickets, failures);
    out.take(count);
    elements.pass(count);
    return true;
  }

  void open(FlatMapRest& rest, uint64_t before) {
    auto opened = std::make_unique<Inside>(std::move(rest.dataset), context_);
    opened->elements.restart(rest.epoch);
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping()) opened->elements.request_stop();
      inside_ = std::move(opened);
    }
    uint64_t passed = 0;
    if (place_ > before) (void)inside_->elements.advance(place_ - before, passed);
  }

  void close() {
    std::unique_ptr<Inside> closed;
    const std::lock_guard lock(mutex_);
    closed.swap(inside_);
  }

  const StageContext context_;
  const FlatMapRestOf rest_of_;
  ChunkReader vectors_;
  uint64_t place_ = 0;  // in the current element
  std::mutex mutex_;    // guards inside_ against request_stop() from another thread
  std::unique_ptr<Inside> inside_;
};

Stage flattened(Stage vectors, FlatMapRestOf rest_of, const StageContext& context) {
  const ElementOps& element = vectors.work->element().vector->element;
  return make_store_stage<FlattenPlan>(element, context.chunk_size, std::move(vectors), rest_of,
                                       context);
}

class FlatMapNode final : public UnaryNode {
 public:
  FlatMapNode(NodePtr input, std::unique_ptr<const MapFunction> function, const ElementOps& vector,
              FlatMapRestOf rest_of)
      : UnaryNode(std::move(input), vector.vector->element),
        function_(std::move(function)),
        vector_(vector),
        rest_of_(rest_of) {}
  bool may_lose_sources() const override { return true; }

 protected:
  PlanDescription describe_operator() const override {
    return PlanDescription{"flat_map"}.with(function_->parameters());
  }
  Stage build_stage(const StageContext& context) const override {
    return flattened(mapped(input().make_stage(context), *function_, vector_), rest_of_, context);
  }

 private:
  std::unique_ptr<const MapFunction> function_;
  const ElementOps& vector_;
  FlatMapRestOf rest_of_;
};

class UnbatchNode final : public UnaryNode {
 public:
  explicit UnbatchNode(NodePtr input) : UnaryNode(input, input->element().vector->element) {}
  bool may_lose_sources() const override { return true; }

 protected:
  PlanDescription describe_operator() const override { return {"unbatch", {}}; }
  Stage build_stage(const StageContext& context) const override {
    return flattened(input().make_stage(context), no_rest, context);
  }
};

}  // namespace

NodePtr flat_map(NodePtr input, std::unique_ptr<const MapFunction> function,
                 const ElementOps& vector) {
  return flat_map(std::move(input), std::move(function), vector, no_rest);
}

NodePtr flat_map(NodePtr input, std::unique_ptr<const MapFunction> function,
                 const ElementOps& vector, FlatMapRestOf rest_of) {
  return std::make_shared<FlatMapNode>(std::move(input), std::move(function), vector, rest_of);
}

NodePtr unbatch(NodePtr input) { return std::make_shared<UnbatchNode>(std::move(input)); }

}  // namespace recordpipe::internal
