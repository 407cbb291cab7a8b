// Tests the guarantees of Plan for every operator: a call that returns fewer tickets than requested
// gives the reason; the end is sticky; errors repeat until a restart; advance() equals planning and
// discarding. The plan under test follows a list of steps.
#include "dataset/pipeline/plan/plan.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/pipeline/state/plan_state.h"
#include "recordpipe/pipeline/internal/ticket.h"

namespace recordpipe::internal {
namespace {

// One call of do_plan(): writes `count` tickets, then throws `error` or returns `stop`. If there is
// no room for all tickets, the next call continues the step.
struct Step {
  uint64_t count = 0;
  Stop stop = Stop::none;
  std::string error = {};
};

class SteppedPlan final : public Plan {
 public:
  explicit SteppedPlan(std::vector<Step> steps) : steps_(std::move(steps)) {}

  void discard(std::span<const Ticket> tickets) override {
    for (const Ticket& ticket : tickets) discarded.push_back(ticket.ref);
  }
  void save(PlanState& state) const override { state.reset(0).numbers = {next_}; }

  std::vector<uint64_t> discarded;
  std::vector<size_t> asked;           // the room in each call of do_plan()
  std::function<void()> interruption;  // called in do_plan()
  size_t stop_requests = 0;

 protected:
  Stop do_plan(TicketSink& out, Wait) override {
    asked.push_back(out.room().size());
    if (interruption) interruption();
    if (is_stopping()) return Stop::requested;
    if (at_ == steps_.size()) return Stop::end;
    const Step& step = steps_[at_];
    for (; done_ < step.count && !out.is_full(); ++done_)
      out.push({{epoch_, next_}, next_}), ++next_;
    if (done_ < step.count) return Stop::none;
    ++at_;
    done_ = 0;
    if (!step.error.empty()) throw std::runtime_error(step.error);
    return step.stop;
  }

  void do_restart(Epoch epoch) override {
    epoch_ = epoch.ids;
    at_ = next_ = done_ = 0;
  }
  void do_restore(const PlanState& state, Epoch epoch) override {
    if (PlanNumbers(state, 0).next() != 0) fail_state();
    do_restart(epoch);
  }
  void do_request_stop() override { ++stop_requests; }

 private:
  const std::vector<Step> steps_;
  size_t at_ = 0;
  uint64_t done_ = 0;  // tickets of the current step
  uint64_t next_ = 0;
  uint64_t epoch_ = 0;
};

// Returns the refs of the tickets from one call of plan().
std::vector<uint64_t> refs(Plan& plan, size_t room, Wait wait, Stop stop) {
  std::vector<Ticket> tickets(room);
  const Planned planned = plan.plan(tickets, wait);
  EXPECT_EQ(planned.stop, stop);
  std::vector<uint64_t> refs;
  for (const Ticket& ticket : std::span(tickets).first(planned.count)) refs.push_back(ticket.ref);
  return refs;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

using Refs = std::vector<uint64_t>;

TEST(Plan, SaysWhyItReturnedLess) {
  SteppedPlan plan({{2}, {0, Stop::would_wait}, {1, Stop::would_wait}, {1}});
  plan.restart(0);
  EXPECT_EQ(refs(plan, 5, Wait::yes, Stop::none), (Refs{0, 1}));
  EXPECT_EQ(refs(plan, 5, Wait::no, Stop::would_wait), Refs{});
  EXPECT_EQ(refs(plan, 5, Wait::no, Stop::would_wait), Refs{2});
  EXPECT_EQ(refs(plan, 5, Wait::no, Stop::none), Refs{3});
  EXPECT_EQ(refs(plan, 5, Wait::no, Stop::end), Refs{});
}

TEST(Plan, OnlyTheEndStays) {
  SteppedPlan plan({{2, Stop::end}, {3}});
  plan.restart(0);
  EXPECT_EQ(refs(plan, 5, Wait::yes, Stop::end), (Refs{0, 1}));
  EXPECT_EQ(refs(plan, 5, Wait::yes, Stop::end), Refs{});
  EXPECT_EQ(plan.advance(3).stop, Stop::end);
  plan.request_stop();
  EXPECT_EQ(refs(plan, 5, Wait::yes, Stop::end), Refs{});
  EXPECT_EQ(plan.asked.size(), 1u);
  plan.restart(0);
  EXPECT_EQ(refs(plan, 1, Wait::yes, Stop::none), Refs{0});
}

TEST(Plan, AnErrorComesAfterTheTicketsThatWereWrittenBefore) {
  SteppedPlan plan({{2, Stop::none, "broken"}, {3}});
  plan.restart(0);
  EXPECT_EQ(refs(plan, 5, Wait::yes, Stop::none), (Refs{0, 1}));
  std::vector<Ticket> room(5);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(error_of([&] { plan.plan(room, Wait::yes); }), "broken");
    EXPECT_EQ(error_of([&] { plan.plan(room, Wait::no); }), "broken");
    EXPECT_EQ(error_of([&] { plan.advance(1); }), "broken");
    plan.request_stop();
  }
  EXPECT_EQ(plan.asked.size(), 1u);
  plan.restart(0);
  EXPECT_EQ(refs(plan, 5, Wait::yes, Stop::none), (Refs{0, 1}));
  PlanState start;
  start.numbers = {0};
  plan.restore(start, 0);
  EXPECT_EQ(refs(plan, 5, Wait::yes, Stop::none), (Refs{0, 1}));
}

TEST(Plan, AStateThatDoesNotFitIsAnErrorUntilItStartsAgain) {
  SteppedPlan plan({Step{2}});
  PlanState other;
  other.numbers = {7};
  const std::string reason = error_of([&] { plan.restore(other, 0); });
  EXPECT_NE(reason.find("does not fit"), std::string::npos);
  EXPECT_EQ(error_of([&] { plan.advance(1); }), reason);
  plan.restart(0);
  EXPECT_EQ(plan.advance(2).count, 2u);
}

TEST(Plan, StopsUntilItStartsAgain) {
  SteppedPlan plan({{2}, {2}});
  plan.restart(0);
  EXPECT_EQ(refs(plan, 2, Wait::yes, Stop::none), (Refs{0, 1}));
  plan.request_stop();
  EXPECT_EQ(plan.stop_requests, 1u);
  EXPECT_EQ(refs(plan, 5, Wait::yes, Stop::requested), Refs{});
  EXPECT_EQ(refs(plan, 5, Wait::no, Stop::requested), Refs{});
  EXPECT_EQ(plan.advance(2).stop, Stop::requested);
  EXPECT_EQ(plan.asked.size(), 1u);
  plan.restart(0);
  EXPECT_EQ(refs(plan, 5, Wait::yes, Stop::none), (Refs{0, 1}));
}

TEST(Plan, AdvancePlansAndDiscards) {
  SteppedPlan plan({{2}, {3}, {5}});
  plan.restart(0);
  const Planned passed = plan.advance(7);
  EXPECT_EQ(passed.count, 7u);
  EXPECT_EQ(passed.stop, Stop::none);
  EXPECT_EQ(plan.discarded, (Refs{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(refs(plan, 2, Wait::yes, Stop::none), (Refs{7, 8}));
  EXPECT_EQ(plan.advance(9).count, 1u);
  EXPECT_EQ(plan.advance(9).stop, Stop::end);
}

TEST(Plan, AdvanceReturnsWhatComesBeforeAnError) {
  SteppedPlan plan({{2}, {3, Stop::none, "broken"}});
  plan.restart(0);
  const Planned passed = plan.advance(9);
  EXPECT_EQ(passed.count, 5u);
  EXPECT_EQ(passed.stop, Stop::none);
  EXPECT_EQ(plan.discarded, (Refs{0, 1, 2, 3, 4}));
  EXPECT_EQ(error_of([&] { plan.advance(9); }), "broken");
}

TEST(Plan, AdvanceIsInterruptedByAStop) {
  SteppedPlan plan({{2}, {2}, {2}});
  plan.restart(0);
  plan.interruption = [&] {
    if (plan.asked.size() == 2) plan.request_stop();
  };
  const Planned passed = plan.advance(6);
  EXPECT_EQ(passed.count, 2u);
  EXPECT_EQ(passed.stop, Stop::requested);
  EXPECT_EQ(plan.discarded, (Refs{0, 1}));
}

TEST(Plan, AnOperatorIsNeverAskedForNothing) {
  SteppedPlan plan({Step{2}});
  plan.restart(0);
  const Planned passed = plan.advance(0);
  EXPECT_EQ(passed.count, 0u);
  EXPECT_EQ(passed.stop, Stop::none);
  EXPECT_TRUE(plan.asked.empty());
}

// An operator may look ahead without waiting even if its caller allows waiting.
TEST(Plan, WhatMayWaitIsNotToldToWait) {
  SteppedPlan plan({{2, Stop::would_wait}, {2, Stop::would_wait}});
  plan.restart(0);
  EXPECT_EQ(refs(plan, 5, Wait::yes, Stop::none), (Refs{0, 1}));
  EXPECT_EQ(plan.advance(2).count, 2u);
}

TEST(Plan, HasNoRandomAccessUnlessItSaysSo) {
  SteppedPlan plan({Step{2}});
  EXPECT_THROW(plan.size(), std::logic_error);
  const std::vector<uint64_t> places{0};
  std::vector<Ticket> tickets(1);
  EXPECT_THROW(plan.tickets_at(places, tickets), std::logic_error);
}

}  // namespace
}  // namespace recordpipe::internal
