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

class Node {
 public:
  explicit Node(const ElementOps& element) : element_(element) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Of the type of its elements.
  const ElementOps& element() const { return element_; }
  // Runs it, and its inputs: measured, where the context has a monitor.
  Stage make_stage(const StageContext& context) const;

  virtual PlanDescription describe() const = 0;
  // How many operators up to this one draw random numbers: keeps the streams of two shuffles with
  // the same seed apart.
  virtual uint64_t random_operators() const = 0;
  // The operator, this one or one before it, that yields elements in one order only; empty where
  // any element can be had at any time (Plan::tickets_at).
  virtual std::string sequential_operator() const { return describe().name; }

 protected:
  // Asks its inputs to make_stage(context).
  virtual Stage build_stage(const StageContext& context) const = 0;

 private:
  const ElementOps& element_;
};

using NodePtr = std::shared_ptr<const Node>;

// A Node with one input.
class UnaryNode : public Node {
 public:
  // Of the input's elements, or of others.
  explicit UnaryNode(NodePtr input) : Node(input->element()), input_(std::move(input)) {}
  UnaryNode(NodePtr input, const ElementOps& element) : Node(element), input_(std::move(input)) {}
  uint64_t random_operators() const override { return input_->random_operators(); }

 protected:
  const Node& input() const { return *input_; }
  PlanDescription described(std::string name, std::vector<PlanParameter> parameters) const;

 private:
  NodePtr input_;
};

// A Node with inputs of the same or other types, at least one.
class MultiNode : public Node {
 public:
  MultiNode(std::vector<NodePtr> inputs, const ElementOps& element)
      : Node(element), inputs_(std::move(inputs)) {}
  // Where the inputs use the same numbers they are told apart by their epochs.
  uint64_t random_operators() const override;

 protected:
  std::vector<Stage> make_inputs(const StageContext& context) const;
  // Of the inputs.
  std::string first_sequential_operator() const;
  PlanDescription described(std::string name, std::vector<PlanParameter> parameters) const;

 private:
  std::vector<NodePtr> inputs_;
};

}  // namespace recordpipe::internal
