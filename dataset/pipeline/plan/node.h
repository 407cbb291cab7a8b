// The tree of Nodes behind a Dataset; each Node is an operator and its parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataset/pipeline/observe/plan_description.h"
#include "dataset/pipeline/plan/stage.h"
#include "dataset/pipeline/plan/stage_context.h"
#include "recordpipe/pipeline/cardinality.h"
#include "recordpipe/pipeline/internal/element_ops.h"

namespace recordpipe::internal {

class Node;
using NodePtr = std::shared_ptr<const Node>;

// Returns unknown if int64_t can't hold `count`.
constexpr Cardinality known_cardinality(uint64_t count) {
  return count <= INT64_MAX ? static_cast<int64_t>(count) : kUnknownCardinality;
}
constexpr Cardinality sum_of_cardinalities(Cardinality a, Cardinality b) {
  if (a == kInfiniteCardinality || b == kInfiniteCardinality) return kInfiniteCardinality;
  if (a == kUnknownCardinality || b == kUnknownCardinality) return kUnknownCardinality;
  return known_cardinality(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

class Node {
 public:
  // Throws Error{limit_exceeded} for more than kMaxInARow operators in a row.
  explicit Node(const ElementOps& element, std::vector<NodePtr> inputs = {});
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // The type of the elements.
  const ElementOps& element() const { return element_; }
  // Makes the stage that runs the operator and its inputs. If the context has a monitor, the stage
  // is measured.
  Stage make_stage(const StageContext& context) const;

  // Describes the operator and its inputs.
  PlanDescription describe() const;
  // The number of operators up to this one that draw random numbers. It separates the random
  // numbers that two maps with the same seed draw for an element; orders depend on the seed only
  // (order_key). For several inputs, the maximum: inputs may share a stream, because each input has
  // its own epoch of ids.
  virtual uint64_t random_operators() const;
  // The name of the first operator, up to and including this one, that supports only sequential
  // access; empty if all operators support random access (Plan::tickets_at).
  virtual std::string sequential_operator() const { return describe_operator().name; }
  // Whether elements may stand for a lost source (lost_sources.h).
  virtual bool may_lose_sources() const;
  // The number of elements of a pass.
  virtual Cardinality cardinality() const { return kUnknownCardinality; }

  // An operator calls the one before it, so the threads' stacks limit how long a chain may be.
  static constexpr size_t kMaxInARow = 4096;

 protected:
  const std::vector<NodePtr>& inputs() const { return inputs_; }
  // Describes the operator alone, without `inputs`.
  virtual PlanDescription describe_operator() const = 0;
  // Completes `plan`, which already describes the inputs, with the parts that depend on them.
  virtual void describe_with_inputs(PlanDescription& /*plan*/) const {}
  // Builds the operator's stage; calls make_stage(context) on each input.
  virtual Stage build_stage(const StageContext& context) const = 0;

 private:
  const ElementOps& element_;
  const std::vector<NodePtr> inputs_;
  const size_t in_a_row_;  // of the longest chain that ends here
};

// A Node with one input.
class UnaryNode : public Node {
 public:
  // Without `element`, the elements have the input's type.
  explicit UnaryNode(const NodePtr& input) : UnaryNode(input, input->element()) {}
  UnaryNode(NodePtr input, const ElementOps& element) : Node(element, {std::move(input)}) {}

 protected:
  const Node& input() const { return *inputs().front(); }
  // Returns the input's stage with a plan of type P, constructed from the input's plan and
  // `arguments`. For operators that only change the order.
  template <class P, class... Arguments>
  Stage reordered(const StageContext& context, Arguments&&... arguments) const {
    Stage stage = input().make_stage(context);
    stage.plan = std::make_unique<P>(std::move(stage.plan), std::forward<Arguments>(arguments)...);
    return stage;
  }
};

// A Node with one or more inputs, whose elements may have different types.
class MultiNode : public Node {
 public:
  MultiNode(std::vector<NodePtr> inputs, const ElementOps& element)
      : Node(element, std::move(inputs)) {}

 protected:
  std::vector<Stage> make_inputs(const StageContext& context) const;
  // The first sequential_operator() of the inputs that is not empty; empty if all are.
  std::string first_sequential_operator() const;
};

}  // namespace recordpipe::internal
