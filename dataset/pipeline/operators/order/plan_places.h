// Plans chosen elements of an input again, for operators whose saved state is the positions of the
// elements that they hold.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataset/pipeline/plan/plan.h"

namespace recordpipe::internal {

// Skips `count` elements of `input`; calls fail_state() if there are fewer.
void pass_over(Plan& input, uint64_t count);

// Adds to `out` the tickets of the elements at `places`, which ascend, of `input`, whose position
// is `at`, not above the first of them. Discards the elements in between. Afterwards, `at` is the
// position after the last of them. Calls fail_state() if places repeat, or if there are fewer
// elements. The tickets stay in `out` after an exception, too.
void plan_places(Plan& input, std::span<const uint64_t> places, uint64_t& at,
                 std::vector<Ticket>& out);

// Yields chosen elements of its input first, and all elements from a later position on. The state
// is this position, and the positions of the chosen elements.
class ChosenFirstPlan final : public OrderPlan {
 public:
  using OrderPlan::OrderPlan;

  // Makes the state of a plan that yields the elements at `places`, which ascend and are less than
  // `next`, and then the element at `next` and all after it.
  static void make_state(uint64_t next, std::span<const uint64_t> places, PlanState& state);
  bool can_save() const override { return true; }
  void save(PlanState& state) const override;

 protected:
  void charge_to(const std::shared_ptr<MemoryAccount>& account) override { charge_.open(account); }
  Stop do_plan(TicketSink& out, Wait wait) override;
  void do_restart(Epoch epoch) override;
  void do_restore(const PlanState& state, Epoch epoch) override;

 private:
  void forget();

  // The chosen elements, and their positions; those before chosen_at_ were yielded.
  std::vector<Ticket> chosen_;
  std::vector<uint64_t> places_;
  size_t chosen_at_ = 0;
  uint64_t next_ = 0;
  MemoryCharge charge_;
};

}  // namespace recordpipe::internal
