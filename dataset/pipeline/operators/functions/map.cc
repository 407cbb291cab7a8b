// map: applies a function to each element, on all threads; the results are in order.
//
// Elements keep their ids. map uses the plan of its input, so it has random access if the input has
// it.
#include "dataset/pipeline/operators/functions/map.h"

#include <optional>
#include <string>
#include <utility>

#include "dataset/pipeline/plan/node.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

class MapProducer final : public Producer {
 public:
  MapProducer(std::unique_ptr<Producer> input, const ElementOps& element,
              const MapFunction& function)
      : input_(std::move(input)), inputs_(element), function_(function) {}

 protected:
  Failures do_produce(std::span<const Ticket> tickets, void* out) override {
    inputs_.grow(tickets.size());
    Failures failures = input_->produce(tickets, inputs_.data());
    function_.apply(tickets, inputs_.data(), out, failures);
    return failures;
  }

 private:
  std::unique_ptr<Producer> input_;
  ElementBuffer inputs_;
  const MapFunction& function_;
};

class MapNode final : public UnaryNode {
 public:
  MapNode(NodePtr input, std::unique_ptr<const MapFunction> function, const ElementOps& output,
          std::optional<uint64_t> seed)
      : UnaryNode(std::move(input), output), function_(std::move(function)), seed_(seed) {}
  uint64_t random_operators() const override {
    return input().random_operators() + (seed_ ? 1 : 0);
  }
  std::string sequential_operator() const override { return input().sequential_operator(); }
  Cardinality cardinality() const override { return input().cardinality(); }

 protected:
  PlanDescription describe_operator() const override {
    PlanDescription plan{"map", {}};
    if (seed_) {
      plan.name = "map_with_random";
      plan.parameters = {{"seed", *seed_}};
    }
    plan.add(function_->parameters());
    plan.is_element_wise = true;
    return plan;
  }
  Stage build_stage(const StageContext& context) const override {
    return mapped(input().make_stage(context), *function_, element());
  }

 private:
  std::unique_ptr<const MapFunction> function_;
  std::optional<uint64_t> seed_;
};

}  // namespace

Stage mapped(Stage input, const MapFunction& function, const ElementOps& output) {
  input.work = std::make_shared<Work>(
      output, /*is_heavy=*/true, [&function, inputs = std::move(input.work)] {
        return std::make_unique<MapProducer>(inputs->make_producer(), inputs->element(), function);
      });
  return input;
}

NodePtr map(NodePtr input, std::unique_ptr<const MapFunction> function, const ElementOps& output,
            std::optional<uint64_t> seed) {
  return std::make_shared<MapNode>(std::move(input), std::move(function), output, seed);
}

}  // namespace recordpipe::internal
