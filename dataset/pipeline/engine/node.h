// What a Dataset is made of: a tree of Nodes, each an operator and its parameters.
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

  // Of the type of its elements.
  const ElementOps& element() const { return element_; }
  // Runs it, and its inputs: measured, where the context has a monitor.
  Stage make_stage(const StageContext& context) const;

  // With its inputs.
  PlanDescription describe() const;
  // How many operators up to this one draw random numbers: keeps the streams of two shuffles with
  // the same seed apart. Of several inputs the most: where they use the same numbers they are told
  // apart by their epochs.
  virtual uint64_t random_operators() const;
  // The operator, this one or one before it, that yields elements in one order only; empty where
  // any element can be had at any time (Plan::tickets_at).
  virtual std::string sequential_operator() const { return describe_operator().name; }

 protected:
  const std::vector<NodePtr>& inputs() const { return inputs_; }
  // The operator alone, without `inputs`.
  virtual PlanDescription describe_operator() const = 0;
  // Adds to `plan`, whose inputs are described, what depends on them.
  virtual void describe_with_inputs(PlanDescription& /*plan*/) const {}
  // Asks its inputs to make_stage(context).
  virtual Stage build_stage(const StageContext& context) const = 0;

 private:
  const ElementOps& element_;
  const std::vector<NodePtr> inputs_;
};

// A Node with one input.
class UnaryNode : public Node {
 public:
  // Of the input's elements, or of others.
  explicit UnaryNode(const NodePtr& input) : UnaryNode(input, input->element()) {}
  UnaryNode(NodePtr input, const ElementOps& element) : Node(element, {std::move(input)}) {}

 protected:
  const Node& input() const { return *inputs().front(); }
  // The input's stage with a P for its plan, made of the input's and `arguments`: for operators
  // that change the order only.
  template <class P, class... Arguments>
  Stage reordered(const StageContext& context, Arguments&&... arguments) const {
    Stage stage = input().make_stage(context);
    stage.plan = std::make_unique<P>(std::move(stage.plan), std::forward<Arguments>(arguments)...);
    return stage;
  }
};

// A Node with inputs of the same or other types, at least one.
class MultiNode : public Node {
 public:
  MultiNode(std::vector<NodePtr> inputs, const ElementOps& element)
      : Node(element, std::move(inputs)) {}

 protected:
  std::vector<Stage> make_inputs(const StageContext& context) const;
  // Of the inputs.
  std::string first_sequential_operator() const;
};

}  // namespace recordpipe::internal
