// sample_from_datasets: mixes several datasets at random; each keeps its own order.
//
// The input of each element is drawn independently, by weight (Random(key, epoch, draw)). Saved
// state: the number of draws, which inputs have ended, and the positions in all inputs.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "dataset/base/require.h"
#include "dataset/pipeline/operators/combining/merge.h"
#include "dataset/pipeline/plan/node.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

class SamplePlan final : public MergePlan {
 public:
  SamplePlan(std::vector<std::unique_ptr<Plan>> inputs, const std::vector<uint64_t>& weights,
             uint64_t key, bool stop_on_empty)
      : MergePlan(std::move(inputs)),
        weights_(weights),
        key_(key),
        stop_on_empty_(stop_on_empty),
        left_(weights) {}

  void save(PlanState& state) const override {
    state.reset(input_count()).numbers = {draws_};
    for (const uint64_t weight : left_) state.numbers.push_back(weight > 0);
    save_inputs(state);
  }

 protected:
  Stop do_plan(TicketSink& out, Wait wait) override {
    while (!out.is_full()) {
      const size_t drawn = draw();
      if (drawn == input_count()) return Stop::end;
      const Planned planned = plan_input(drawn, out, 1, out.count() == 0 ? wait : Wait::no);
      if (planned.count == 0 && planned.stop != Stop::end) return planned.stop;
      ++draws_;
      if (planned.count > 0) continue;
      left_[drawn] = 0;
      if (stop_on_empty_) left_.assign(left_.size(), 0);
    }
    return Stop::none;
  }

  void do_restart(Epoch epoch) override {
    epoch_ = epoch.order;
    draws_ = 0;
    left_ = weights_;
    restart_inputs(epoch);
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, input_count());
    epoch_ = epoch.order;
    draws_ = numbers.next();
    for (size_t i = 0; i < left_.size(); ++i) left_[i] = numbers.next_bool() ? weights_[i] : 0;
    restore_inputs(numbers, epoch);
  }

 private:
  // Returns the index of the next element's input; input_count() if all inputs have ended.
  size_t draw() const {
    uint64_t total = 0;
    for (const uint64_t weight : left_) total += weight;
    if (total == 0) return left_.size();
    uint64_t rest = Random(key_, epoch_, draws_).below64(total);
    size_t input = 0;
    while (rest >= left_[input]) rest -= left_[input++];
    return input;
  }

  const std::vector<uint64_t>& weights_;  // owned by the node
  const uint64_t key_;
  const bool stop_on_empty_;
  uint64_t epoch_ = 0;
  uint64_t draws_ = 0;
  std::vector<uint64_t> left_;  // weights; 0 for inputs that have ended
};

// Converts weights to integer multiples of 2^-62 of their sum, so that the draws are the same on
// every machine. A weight above 0 becomes at least 1.
std::vector<uint64_t> whole_weights(const std::vector<double>& weights) {
  const auto fail = [](const char* reason) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = std::string("sample_from_datasets: ") + reason});
  };
  double sum = 0;
  for (const double weight : weights) {
    if (!(weight >= 0) || !std::isfinite(weight)) fail("weights must be numbers of at least 0");
    sum += weight;
  }
  if (!std::isfinite(sum) || !(sum > 0)) fail("the sum of the weights must be above 0 and finite");
  std::vector<uint64_t> whole;
  for (const double weight : weights) {
    const auto parts = static_cast<uint64_t>(std::llround(weight / sum * 0x1p62));
    whole.push_back(weight > 0 ? std::max<uint64_t>(parts, 1) : 0);
  }
  return whole;
}

class SampleNode final : public MultiNode {
 public:
  SampleNode(std::vector<NodePtr> inputs, const ElementOps& element, std::vector<uint64_t> weights,
             uint64_t seed, bool stop_on_empty)
      : MultiNode(std::move(inputs), element),
        weights_(std::move(weights)),
        seed_(seed),
        stop_on_empty_(stop_on_empty) {}
  uint64_t random_operators() const override { return MultiNode::random_operators() + 1; }
  Cardinality cardinality() const override {
    if (stop_on_empty_) return kUnknownCardinality;
    Cardinality total = 0;
    for (size_t i = 0; i < inputs().size(); ++i) {
      if (weights_[i] > 0) total = sum_of_cardinalities(total, inputs()[i]->cardinality());
    }
    return total;
  }

 protected:
  PlanDescription describe_operator() const override {
    std::string parts;
    for (const uint64_t weight : weights_) {
      parts += (parts.empty() ? "" : ":") + std::to_string(weight);
    }
    return {"sample_from_datasets",
            {{"weights", std::move(parts)},
             {"seed", seed_},
             {"stop_on_empty_dataset", stop_on_empty_}}};
  }
  Stage build_stage(const StageContext& context) const override {
    return make_merge_stage<SamplePlan>(make_inputs(context), weights_, order_key(seed_),
                                        stop_on_empty_);
  }

 private:
  std::vector<uint64_t> weights_;
  uint64_t seed_;
  bool stop_on_empty_;
};

}  // namespace

NodePtr sample(std::vector<NodePtr> inputs, std::vector<double> weights, uint64_t seed,
               bool stop_on_empty) {
  if (weights.empty()) weights.assign(inputs.size(), 1);
  require(!inputs.empty() && weights.size() == inputs.size(),
          "sample_from_datasets: needs at least one dataset, and a weight for "
          "each or none");
  const ElementOps& element = inputs.front()->element();
  return std::make_shared<SampleNode>(std::move(inputs), element, whole_weights(weights), seed,
                                      stop_on_empty);
}

}  // namespace recordpipe::internal
