// What a Dataset is made of: a chain of Nodes, each an operator and its parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/measured_stage.h"
#include "recordpipe/internal/engine/plan_description.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/stage_context.h"

namespace recordpipe {

template <Element T>
class Node {
 public:
  virtual ~Node() = default;

  // A stage that is measured, and so are its inputs, where the context has a monitor.
  std::unique_ptr<Stage<T>> make_stage(const StageContext& context) const {
    StageContext own = context;
    if (context.monitor) own.stage = &context.monitor->add(describe().name, *context.stage);
    std::unique_ptr<Stage<T>> stage = build_stage(own);
    stage->charge_to(context.memory);
    if (!context.monitor) return stage;
    return std::make_unique<MeasuredStage<T>>(std::move(stage), *own.stage, context.memory);
  }

  virtual PlanDescription describe() const = 0;
  // How many operators up to this one draw random numbers: keeps the streams of two shuffles with
  // the same seed apart.
  virtual uint64_t random_operators() const = 0;
  // The operator, this one or one before it, that yields elements in one order only; empty where
  // any element can be had at any time (Stage::tickets_at).
  virtual std::string sequential_operator() const { return describe().name; }

 protected:
  // Asks its inputs to make_stage(context).
  virtual std::unique_ptr<Stage<T>> build_stage(const StageContext& context) const = 0;
};

// A Node with one input.
template <Element T, Element Upstream = T>
class UnaryNode : public Node<T> {
 public:
  explicit UnaryNode(std::shared_ptr<const Node<Upstream>> upstream)
      : upstream_(std::move(upstream)) {}
  uint64_t random_operators() const override { return upstream_->random_operators(); }

 protected:
  const Node<Upstream>& upstream() const { return *upstream_; }

  PlanDescription described(std::string name, std::vector<PlanParameter> parameters) const {
    PlanDescription plan{.name = std::move(name), .parameters = std::move(parameters)};
    plan.inputs.push_back(upstream_->describe());
    return plan;
  }

 private:
  std::shared_ptr<const Node<Upstream>> upstream_;
};

}  // namespace recordpipe
