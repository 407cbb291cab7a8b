#include "dataset/pipeline/plan/node.h"

#include <algorithm>

#include "dataset/pipeline/observe/stage_monitor.h"
#include "recordpipe/base/error.h"

namespace recordpipe::internal {

Node::Node(const ElementOps& element, std::vector<NodePtr> inputs)
    : element_(element), inputs_(std::move(inputs)), in_a_row_([this] {
        size_t most = 0;
        for (const NodePtr& input : inputs_) most = std::max(most, input->in_a_row_);
        return most + 1;
      }()) {
  if (in_a_row_ > kMaxInARow) {
    throw Error({.kind = ErrorKind::limit_exceeded,
                 .reason = "more than " + std::to_string(kMaxInARow) + " operators in a row",
                 .hint = "name all files in one source, or do the work of many functions in one"});
  }
}

Stage Node::make_stage(const StageContext& context) const {
  StageContext own = context;
  if (context.monitor) {
    own.stage = &context.monitor->add(describe_operator().stage_name(), *context.stage);
  }
  Stage stage = build_stage(own);
  StageMonitor* const monitor = context.monitor ? own.stage : nullptr;
  stage.plan->observe(context.memory, monitor);
  stage.work->observe(context.memory, monitor);
  return stage;
}

PlanDescription Node::describe() const {
  PlanDescription plan = describe_operator();
  for (const NodePtr& input : inputs_) plan.inputs.push_back(input->describe());
  describe_with_inputs(plan);
  return plan;
}

uint64_t Node::random_operators() const {
  uint64_t most = 0;
  for (const NodePtr& input : inputs_) most = std::max(most, input->random_operators());
  return most;
}

bool Node::may_lose_sources() const {
  return std::ranges::any_of(inputs_,
                             [](const NodePtr& input) { return input->may_lose_sources(); });
}

std::vector<Stage> MultiNode::make_inputs(const StageContext& context) const {
  std::vector<Stage> stages;
  for (const NodePtr& input : inputs()) stages.push_back(input->make_stage(context));
  return stages;
}

std::string MultiNode::first_sequential_operator() const {
  for (const NodePtr& input : inputs()) {
    if (std::string name = input->sequential_operator(); !name.empty()) return name;
  }
  return {};
}

}  // namespace recordpipe::internal
