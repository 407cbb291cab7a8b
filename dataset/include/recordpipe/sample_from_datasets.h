// sample_from_datasets: several datasets mixed by chance.
//
// Each element comes from an input drawn with the given weights; the elements of one input keep
// their order. Saved: how many draws there were, which inputs have ended, and the places in all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/dataset.h"
#include "recordpipe/internal/operators/merge.h"
#include "recordpipe/philox.h"

namespace recordpipe {

enum class StopOnEmptyDataset { no, yes };

// Draw d is Random(key, epoch, d).below64(the weights of the inputs that have not ended). One that
// finds its input at the end yields nothing, and is the last for it.
template <Element T>
class SampleStage final : public MergeStage<T> {
 public:
  SampleStage(StageInputs<T> inputs, const std::vector<uint64_t>& weights, uint64_t key,
              StopOnEmptyDataset stop)
      : MergeStage<T>(std::move(inputs)),
        weights_(weights),
        key_(key),
        stop_on_empty_(stop == StopOnEmptyDataset::yes),
        left_(weights) {}

  size_t do_plan(std::span<Ticket> out, Wait wait) override {
    size_t planned = 0;
    while (planned < out.size()) {
      const size_t drawn = draw();
      if (drawn == this->input_count()) break;
      const Wait here = planned == 0 ? wait : Wait::no;
      try {
        if (this->input(drawn).plan(out.subspan(planned, 1), here) == 1) {
          this->label(out.subspan(planned++, 1), drawn);
          ++draws_;
          continue;
        }
      } catch (...) {
        if (planned == 0) throw;  // else thrown again by the next call
        break;
      }
      if (here == Wait::no) break;  // perhaps not the end
      ++draws_;
      left_[drawn] = 0;
      if (stop_on_empty_) left_.assign(left_.size(), 0);
    }
    return planned;
  }

  void do_restart(uint64_t epoch) override {
    epoch_ = epoch;
    draws_ = 0;
    left_ = weights_;
    this->restart_inputs(epoch);
  }

  void save(PlanState& state) const override {
    state.reset(this->input_count()).numbers = {draws_};
    for (const uint64_t weight : left_) state.numbers.push_back(weight > 0);
    this->save_inputs(state);
  }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, this->input_count());
    epoch_ = epoch;
    draws_ = numbers.next();
    for (size_t i = 0; i < left_.size(); ++i) left_[i] = numbers.next_bool() ? weights_[i] : 0;
    this->restore_inputs(numbers, epoch);
  }

 private:
  // Which input comes next; input_count() where all have ended.
  size_t draw() const {
    uint64_t total = 0;
    for (const uint64_t weight : left_) total += weight;
    if (total == 0) return left_.size();
    uint64_t rest = Random(key_, epoch_, draws_).below64(total);
    size_t input = 0;
    while (rest >= left_[input]) rest -= left_[input++];
    return input;
  }

  const std::vector<uint64_t>& weights_;  // the node's
  const uint64_t key_;
  const bool stop_on_empty_;
  uint64_t epoch_ = 0;
  uint64_t draws_ = 0;
  std::vector<uint64_t> left_;  // weights, 0 for inputs that have ended
};

// `weights` as parts of about 2^62: whole numbers, so that the draws are the same on any machine.
// However small one is beside the others, it is no 0: its input is drawn when those have run out.
inline std::vector<uint64_t> whole_weights(std::span<const double> weights) {
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

template <Element T>
class SampleNode final : public MergeNode<T> {
 public:
  SampleNode(typename MergeNode<T>::Inputs inputs, std::vector<uint64_t> weights, uint64_t seed,
             StopOnEmptyDataset stop)
      : MergeNode<T>(std::move(inputs)), weights_(std::move(weights)), seed_(seed), stop_(stop) {}
  std::unique_ptr<Stage<T>> build_stage(const StageContext& context) const override {
    const uint64_t key = derive_key(seed_, MergeNode<T>::random_operators());
    return std::make_unique<SampleStage<T>>(this->make_inputs(context), weights_, key, stop_);
  }
  uint64_t random_operators() const override { return MergeNode<T>::random_operators() + 1; }
  PlanDescription describe() const override {
    std::string parts;
    for (const uint64_t weight : weights_) {
      parts += (parts.empty() ? "" : ":") + std::to_string(weight);
    }
    return this->described("sample_from_datasets",
                           {{"weights", std::move(parts)},
                            {"seed", seed_},
                            {"stop_on_empty_dataset", stop_ == StopOnEmptyDataset::yes}});
  }

 private:
  std::vector<uint64_t> weights_;
  uint64_t seed_;
  StopOnEmptyDataset stop_;
};

// A mixture of `datasets` (at least one), with the options and the epoch of the first. `weights`
// says how likely each is; none: all alike. An input that has run out is drawn no more, unless the
// whole is to stop there (tf.data's stop_on_empty_dataset, whose default is no, too). An input of
// weight 0 never comes, one of any other weight does: it counts as a multiple of 2^-62 of the sum
// of the weights, 1 at least. Throws Error{invalid_argument} for weights that are negative, not
// finite, or all 0.
template <Element T>
Dataset<T> sample_from_datasets(const std::vector<Dataset<T>>& datasets,
                                std::vector<double> weights, uint64_t seed,
                                StopOnEmptyDataset stop_on_empty = StopOnEmptyDataset::no) {
  if (weights.empty()) weights.assign(datasets.size(), 1);
  if (datasets.empty() || weights.size() != datasets.size()) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason =
                     "sample_from_datasets: needs at least one dataset, and a weight for each "
                     "or none"});
  }
  typename MergeNode<T>::Inputs inputs;
  for (const Dataset<T>& dataset : datasets) inputs.push_back(dataset.node());
  return datasets.front().template with<T>(std::make_shared<SampleNode<T>>(
      std::move(inputs), whole_weights(weights), seed, stop_on_empty));
}

}  // namespace recordpipe
