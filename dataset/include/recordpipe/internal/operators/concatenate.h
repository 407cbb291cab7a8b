// concatenate: one input after the other.
//
// In order: all of the first, then all of the second. With random access where both have it. Saved:
// which input it is, and the places in both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/operators/merge.h"

namespace recordpipe {

template <Element T>
class ConcatenateStage final : public MergeStage<T> {
 public:
  explicit ConcatenateStage(StageInputs<T> inputs) : MergeStage<T>(std::move(inputs)) {}

  size_t do_plan(std::span<Ticket> out, Wait wait) override {
    for (; at_ < this->input_count(); ++at_) {
      if (const size_t planned = this->input(at_).plan(out, wait)) {
        this->label(out.first(planned), at_);
        return planned;
      }
      if (wait == Wait::no) break;  // perhaps not the end
    }
    return 0;
  }

  uint64_t do_advance(uint64_t count) override {
    for (; at_ < this->input_count(); ++at_) {
      if (const uint64_t passed = this->input(at_).advance(count)) return passed;
    }
    return 0;
  }

  uint64_t size() override {
    sizes_.clear();
    uint64_t all = 0;
    for (size_t i = 0; i < this->input_count(); ++i) {
      sizes_.push_back(this->input(i).size());
      all += sizes_.back();
    }
    return all;
  }

  void tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    uint64_t first = 0;
    for (size_t i = 0; i < this->input_count(); first += sizes_[i++]) {
      places_.clear();
      at_places_.clear();
      for (size_t k = 0; k < places.size(); ++k) {
        if (places[k] < first || places[k] - first >= sizes_[i]) continue;
        places_.push_back(places[k] - first);
        at_places_.push_back(k);
      }
      tickets_.resize(places_.size());
      this->input(i).tickets_at(places_, tickets_);
      this->label(tickets_, i);
      for (size_t k = 0; k < tickets_.size(); ++k) out[at_places_[k]] = tickets_[k];
    }
  }

  void do_restart(uint64_t epoch) override {
    at_ = 0;
    this->restart_inputs(epoch);
  }

  void save(PlanState& state) const override {
    state.reset(this->input_count()).numbers = {at_};
    this->save_inputs(state);
  }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, this->input_count());
    at_ = numbers.next(this->input_count());
    this->restore_inputs(numbers, epoch);
  }

 private:
  size_t at_ = 0;
  // For random access.
  std::vector<uint64_t> sizes_;
  std::vector<uint64_t> places_;
  std::vector<size_t> at_places_;
  std::vector<Ticket> tickets_;
};

template <Element T>
class ConcatenateNode final : public MergeNode<T> {
 public:
  using MergeNode<T>::MergeNode;
  std::unique_ptr<Stage<T>> build_stage(const StageContext& context) const override {
    return std::make_unique<ConcatenateStage<T>>(this->make_inputs(context));
  }
  std::string sequential_operator() const override { return this->first_sequential_operator(); }
  PlanDescription describe() const override { return this->described("concatenate", {}); }
};

}  // namespace recordpipe
