#include "dataset/pipeline/operators/order/plan_places.h"

#include <algorithm>

namespace recordpipe::internal {
namespace {

constexpr size_t kBlock = 256;
// Up to this number of unwanted tickets are planned and discarded, rather than skipped separately.
constexpr uint64_t kShortGap = 32;

// Plans the elements from `at` to places.back(), and discards those between the places.
void plan_run(Plan& input, std::span<const uint64_t> places, uint64_t& at,
              std::vector<Ticket>& scratch, std::vector<Ticket>& out) {
  scratch.resize(kBlock);
  size_t next = 0;
  while (at <= places.back()) {
    const Planned planned = input.plan(std::span(scratch).first(places.back() + 1 - at), Wait::yes);
    size_t unwanted = 0;
    for (size_t i = 0; i < planned.count; ++i, ++at) {
      if (places[next] == at) {
        out.push_back(scratch[i]);
        ++next;
      } else {
        scratch[unwanted++] = scratch[i];
      }
    }
    input.discard(std::span(scratch).first(unwanted));
    if (planned.stop != Stop::none && at <= places.back()) fail_state();
  }
}

}  // namespace

void pass_over(Plan& input, uint64_t count) {
  uint64_t passed = 0;
  advance_all(input, count, passed);
  if (passed < count) fail_state();
}

void plan_places(Plan& input, std::span<const uint64_t> places, uint64_t& at,
                 std::vector<Ticket>& out) {
  if (std::ranges::adjacent_find(places, std::ranges::greater_equal()) != places.end()) {
    fail_state();
  }
  out.reserve(out.size() + places.size());
  std::vector<Ticket> scratch;
  for (size_t begin = 0; begin < places.size();) {
    // A run of places with short gaps.
    size_t end = begin + 1;
    while (end < places.size() && places[end] - places[end - 1] <= kShortGap + 1 &&
           places[end] - places[begin] < kBlock) {
      ++end;
    }
    pass_over(input, places[begin] - at);
    at = places[begin];
    plan_run(input, places.subspan(begin, end - begin), at, scratch, out);
    begin = end;
  }
}

void ChosenFirstPlan::make_state(uint64_t next, std::span<const uint64_t> places,
                                 PlanState& state) {
  state.reset(0).numbers = {next};
  state.numbers.insert(state.numbers.end(), places.begin(), places.end());
}

void ChosenFirstPlan::save(PlanState& state) const {
  make_state(next_, std::span(places_).subspan(chosen_at_), state);
}

Stop ChosenFirstPlan::do_plan(TicketSink& out, Wait wait) {
  while (chosen_at_ < chosen_.size() && !out.is_full()) out.push(chosen_[chosen_at_++]);
  if (out.count() > 0) return Stop::none;
  const Planned planned = input().plan(out.room(), wait);
  out.take(planned.count);
  next_ += planned.count;
  return planned.stop;
}

void ChosenFirstPlan::do_restart(Epoch epoch) {
  forget();
  input().restart(epoch);
}

void ChosenFirstPlan::do_restore(const PlanState& state, Epoch epoch) {
  PlanNumbers numbers(state, 0);
  do_restart(epoch);
  const uint64_t next = numbers.next();
  const std::span<const uint64_t> places = numbers.rest();
  if (!places.empty() && places.back() >= next) fail_state();
  plan_places(input(), places, next_, chosen_);
  pass_over(input(), next - next_);
  places_.assign(places.begin(), places.end());
  next_ = next;
  charge_.set(chosen_.capacity() * sizeof(Ticket) + places_.capacity() * sizeof(uint64_t));
}

void ChosenFirstPlan::forget() {
  input().discard(std::span(chosen_).subspan(chosen_at_));
  chosen_.clear();
  places_.clear();
  chosen_at_ = 0;
  next_ = 0;
}

}  // namespace recordpipe::internal
