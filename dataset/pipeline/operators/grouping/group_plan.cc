#include "dataset/pipeline/operators/grouping/group_plan.h"

#include <algorithm>

#include "dataset/pipeline/operators/order/plan_places.h"

namespace recordpipe::internal {

GroupPlan::GroupPlan(std::unique_ptr<Plan> measured, std::shared_ptr<Batching> shared)
    : OrderPlan(std::move(measured)), shared_(std::move(shared)) {}

void GroupPlan::discard(std::span<const Ticket> tickets) {
  discard_batches(tickets, shared_->groups, input());
}

void GroupPlan::save(PlanState& state) const {
  state.reset(1).numbers = {next_};
  std::vector<uint64_t> places(again_.begin() + static_cast<std::ptrdiff_t>(again_at_),
                               again_.end());
  const auto keep = [&](const Group& group) {
    places.insert(places.end(), group.places.begin(), group.places.end());
  };
  std::ranges::for_each(complete_, keep);
  for_each_open(keep);
  std::ranges::sort(places);
  ChosenFirstPlan::make_state(taken_, places, state.inputs[0]);
}

void GroupPlan::drop(Group& group) {
  input().discard(group.members);
  held_ -= group.members.size();
  group = {};
}

void GroupPlan::charge_to(const std::shared_ptr<MemoryAccount>& account) {
  shared_->groups.charge_to(account);
  charge_.open(account);
}

Stop GroupPlan::do_plan(TicketSink& out, Wait wait) {
  while (!out.is_full()) {
    if (!complete_.empty()) {
      held_ -= complete_.front().members.size();
      TicketGroup& members = complete_.front().members;
      const bool is_end = members.size() == 1 && ends_source(members.front().id);
      out.push({{epoch_, is_end ? kEndOfSource : next_}, shared_->groups.put(members)});
      ++next_;
      complete_.pop_front();
    } else if (row_at_ < rows_.size()) {
      add_row();
    } else if (out.count() > 0) {
      break;  // don't let complete groups wait
    } else if (input_ended_) {
      return Stop::end;
    } else {
      const Stop stop = fetch(wait);
      if (stop == Stop::end && rows_.empty()) {
        input_ended_ = true;
        complete_all();
      } else if (rows_.empty()) {
        return stop;
      }
    }
  }
  charge_.set(held_ * (sizeof(Ticket) + sizeof(uint64_t)));
  return Stop::none;
}

Stop GroupPlan::fetch(Wait wait) {
  row_at_ = 0;
  rows_.resize(kStep);
  Planned planned;
  try {
    planned = input().plan(rows_, wait);
  } catch (...) {
    rows_.clear();
    throw;
  }
  rows_.resize(planned.count);
  return planned.stop;
}

void GroupPlan::add_row() {
  const size_t row = row_at_++;
  const uint64_t place = again_at_ < again_.size() ? again_[again_at_++] : taken_++;
  ++held_;
  if (measured().is_failed(row)) {
    complete_.push_back({{rows_[row]}, {place}});
  } else {
    add(rows_[row], place, measured().sizes(row));
  }
}

void GroupPlan::forget(Epoch epoch) {
  const auto discard_members = [&](const Group& group) { input().discard(group.members); };
  std::ranges::for_each(complete_, discard_members);
  for_each_open(discard_members);
  input().discard(std::span(rows_).subspan(row_at_));
  clear();
  complete_.clear();
  rows_.clear();
  again_.clear();
  row_at_ = again_at_ = 0;
  taken_ = 0;
  input_ended_ = false;
  epoch_ = epoch.ids;
  next_ = 0;
  held_ = 0;
  charge_.set(0);
}

void GroupPlan::do_restart(Epoch epoch) {
  forget(epoch);
  input().restart(epoch);
}

void GroupPlan::do_restore(const PlanState& state, Epoch epoch) {
  PlanNumbers numbers(state, 1);
  forget(epoch);
  next_ = numbers.next();
  restore_place(input(), numbers.input(), epoch);
  PlanNumbers places(numbers.input(), 0);
  taken_ = places.next();
  again_.assign(places.rest().begin(), places.rest().end());
}

}  // namespace recordpipe::internal
