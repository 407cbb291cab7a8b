// Implements the common part of the operators that take elements from several inputs in turn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataset/pipeline/plan/plan.h"
#include "dataset/pipeline/plan/ref_store.h"
#include "dataset/pipeline/plan/stage.h"

namespace recordpipe::internal {

// The value that a ticket of a merging operator refers to.
struct InputRef {
  size_t input = 0;
  uint64_t ref = 0;  // the ref of the input's ticket
};

// Elements keep their ids, and each input has its own epoch (input_epoch). So random numbers differ
// between inputs and depend on the element, not on its position in the output.
class MergePlan : public Plan {
 public:
  explicit MergePlan(std::vector<std::unique_ptr<Plan>> inputs);

  void discard(std::span<const Ticket> tickets) override;
  bool can_save() const override;

  const std::shared_ptr<RefStore<InputRef>>& refs() const { return refs_; }

 protected:
  void charge_to(const std::shared_ptr<MemoryAccount>& account) override {
    refs_->charge_to(account);
  }
  void do_request_stop() override;

  size_t input_count() const { return inputs_.size(); }
  Plan& input(size_t i) { return *inputs_[i]; }
  // Turns the tickets of an input into tickets of this plan.
  void label(std::span<Ticket> tickets, size_t input);
  // Plans up to `room` tickets of an input, and records that they belong to this input.
  Planned plan_input(size_t input, TicketSink& out, size_t room, Wait wait);
  void restart_inputs(Epoch epoch);
  void save_inputs(PlanState& state) const;
  void restore_inputs(const PlanNumbers& numbers, Epoch epoch);

 private:
  std::vector<std::unique_ptr<Plan>> inputs_;
  std::shared_ptr<RefStore<InputRef>> refs_;
  std::vector<InputRef> labels_;
};

// Makes the stage of a MergePlan; `works` are those of its inputs.
Stage merge_stage(std::unique_ptr<MergePlan> plan, std::vector<std::shared_ptr<Work>> works,
                  size_t chunk_size);

// Makes the stage of a MergePlan of type P, constructed from its inputs' plans and `arguments`.
template <class P, class... Arguments>
Stage make_merge_stage(std::vector<Stage> inputs, Arguments&&... arguments) {
  std::vector<std::unique_ptr<Plan>> plans;
  std::vector<std::shared_ptr<Work>> works;
  size_t chunk_size = SIZE_MAX;
  for (Stage& input : inputs) {
    plans.push_back(std::move(input.plan));
    works.push_back(std::move(input.work));
    chunk_size = std::min(chunk_size, input.chunk_size);
  }
  return merge_stage(std::make_unique<P>(std::move(plans), std::forward<Arguments>(arguments)...),
                     std::move(works), chunk_size);
}

}  // namespace recordpipe::internal
