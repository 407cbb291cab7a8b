// The tree of Nodes behind a Dataset; each Node is an operator and its parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataset/pipeline/engine/plan_description.h"
#include "dataset/pipeline/engine/stage.h"
#include "dataset/pipeline/engine/stage_context.h"
#include "recordpipe/internal/element_ops.h"

namespace recordpipe::internal {

class Node;
using NodePtr = std::shared_ptr<const Node>;

class Node {
 public:
  explicit Node(const ElementOps& element, std::vector<NodePtr> inputs = {})
      : element_(element), inputs_(std::move(inputs)) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // The type of its elements.
  const ElementOps& element() const { return element_; }
  // The stage that runs the operator and its inputs; measured if the context has a monitor.
  Stage make_stage(const StageContext& context) const;

  // The description with its inputs.
  PlanDescription describe() const;
  // The number of operators up to this one that draw random numbers: separates the random streams
  // of two shuffles with the same seed. With several inputs, the maximum; inputs that use the same
  // streams differ in their epochs.
  virtual uint64_t random_operators() const;
  // The first operator, up to this one, whose elements come in one order only; empty if every
  // element can be accessed at any time (Plan::tickets_at).
  virtual std::string sequential_operator() const { return describe_operator().name; }

 protected:
  const std::vector<NodePtr>& inputs() const { return inputs_; }
  // The description of the operator alone, without `inputs`.
  virtual PlanDescription describe_operator() const = 0;
  // Completes `plan`, whose inputs are described, with the parts that depend on them.
  virtual void describe_with_inputs(PlanDescription& /*plan*/) const {}
  // Calls make_stage(context) of its inputs.
  virtual Stage build_stage(const StageContext& context) const = 0;

 private:
  const ElementOps& element_;
  const std::vector<NodePtr> inputs_;
};

// A Node with one input.
class UnaryNode : public Node {
 public:
  // Yields elements of the input's type, or of another.
  explicit UnaryNode(const NodePtr& input) : UnaryNode(input, input->element()) {}
  UnaryNode(NodePtr input, const ElementOps& element) : Node(element, {std::move(input)}) {}

 protected:
  const Node& input() const { return *inputs().front(); }
  // The input's stage with a plan of type P, constructed from the input's plan and `arguments`: for
  // operators that only change the order.
  template <class P, class... Arguments>
  Stage reordered(const StageContext& context, Arguments&&... arguments) const {
    Stage stage = input().make_stage(context);
    stage.plan = std::make_unique<P>(std::move(stage.plan), std::forward<Arguments>(arguments)...);
    return stage;
  }
};

// A Node with one or more inputs, of the same or other types.
class MultiNode : public Node {
 public:
  MultiNode(std::vector<NodePtr> inputs, const ElementOps& element)
      : Node(element, std::move(inputs)) {}

 protected:
  std::vector<Stage> make_inputs(const StageContext& context) const;
  // The first one of the inputs; empty if there is none.
  std::string first_sequential_operator() const;
};

}  // namespace recordpipe::internal
