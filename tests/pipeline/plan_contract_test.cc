// Tests each operator separately against the contract of Plan: makes random sequences of calls,
// without an Executor, over sources that wait, end and fail anywhere, and compares the results with
// a plain list.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/pipeline/plan/node.h"
#include "dataset/pipeline/plan/plan.h"
#include "dataset/pipeline/plan/stage.h"
#include "dataset/pipeline/plan/stage_context.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/pipeline/dataset.h"
#include "tests/pipeline/naive/pipeline.h"
#include "tests/pipeline/operators.h"
#include "tests/pipeline/scripted_source.h"
#include "tests/pipeline/trials.h"
#include "tests/pipeline/value.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe::internal {
namespace {

using testing::StartsWith;
using Twin = naive::Pipeline<Value>;

// Each operator, and each again on batches, which gather rows ahead when called with Wait::no.
std::vector<TestedOperator> operators() {
  std::vector<TestedOperator> all = tested_operators();
  for (size_t i = 0, plain = all.size(); i < plain; ++i) {
    const TestedOperator op = all[i];
    const auto batched = [](const Twins& in) {
      return Twins{in.dataset.batch(3, DropRemainder::no, ValueCollator{}),
                   in.twin.batch(3).map(list_value)};
    };
    all.push_back({op.name + "_of_batches",
                   [=](const Twins& first, const Twins& second, const Arguments& arguments) {
                     return op.apply(batched(first), batched(second), arguments);
                   },
                   op.access, op.is_combining});
  }
  return all;
}

// Makes random calls of a plan and compares the results with the twin's list.
class Driver {
 public:
  Driver(const TestedOperator& op, uint64_t trial)
      : random_(derive_key(2027, 0), 0, trial), ledger_(std::make_shared<TicketLedger>()) {
    // A dataset with random access has no error at the end.
    const bool may_fail = op.access != RandomAccess::required && random_.below(2) == 0;
    std::vector<Twins> inputs;
    for (int i = 0; i < 2; ++i) {
      Script script{.size = random_.below(60), .seed = random_()};
      if (may_fail && random_.below(2) == 0) script.error = "the source failed";
      inputs.push_back({DatasetNode::source<Value>(std::make_shared<ScriptedNode>(script, ledger_)),
                        twin_of(script)});
    }
    has_errors_ = may_fail;
    const Twins made = op.apply(inputs[0], inputs[1], Arguments::draw(random_, directory_.path()));
    node_ = DatasetNode::of(made.dataset);
    twin_.emplace(made.twin);
    EXPECT_EQ(node_->sequential_operator().empty(), op.access == RandomAccess::kept);
    constexpr size_t kChunkSizes[] = {1, 3, 64};
    context_ = make_stage_context(
        {.threads = 1 + random_.below(2), .chunk_size = kChunkSizes[random_.below(3)]});
    keeps_tickets_ = op.name.starts_with("cache");
    plans_elsewhere_ = op.name.starts_with("prefetch");
    start_anew();
  }

  void run() {
    for (int i = 0; i < 60 && !testing::Test::HasFailure(); ++i) act();
    use_held(held_.size());
    restart(0);
    EXPECT_TRUE(keeps_tickets_ || ledger_->unused() == 0) << ledger_->unused() << " unused";
  }

  // Another thread calls request_stop() continuously. The effects depend on timing, so this test
  // only detects races (under ThreadSanitizer), a call that never returns, and a ticket used twice.
  void run_beside_stops() {
    const std::jthread other([this](const std::stop_token& is_done) {
      for (; !is_done.stop_requested(); std::this_thread::yield()) plan().request_stop();
    });
    PlanState start;
    for (int pass = 0; pass < 20; ++pass) {
      pass % 2 == 0 ? plan().restart(1) : restore_place(plan(), start, 1);
      if (pass == 0) plan().save(start);
      std::vector<Ticket> tickets(20);
      try {
        plan().discard(std::span(tickets).first(plan().plan(tickets, Wait::yes).count));
      } catch (const std::exception& error) {
        EXPECT_TRUE(has_errors_) << error.what();
      }
    }
  }

 private:
  struct Held {
    Ticket ticket;
    naive::Item<Value> item;
  };
  struct Saved {
    PlanState state;
    uint64_t epoch;
    size_t at;
  };

  static Twin twin_of(const Script& script) {
    std::vector<Value> values;
    for (uint64_t i = 0; i < script.size; ++i)
      values.push_back(number_value(static_cast<int64_t>(i)));
    return naive::from_vector(std::move(values), script.error).map([](Value v) {
      const auto index = static_cast<uint64_t>(v.number);
      if (Script::fails(index)) throw Script::failure(index);
      return v;
    });
  }

  void act() {
    switch (random_.below(16)) {
      case 0:
        return restart(random_.below(3));
      case 1:
        if (plan().can_save()) {
          saved_.push_back({{}, epoch_, at_});
          plan().save(saved_.back().state);
        }
        return;
      case 2:
        if (random_.below(3) == 0) start_anew();
        return restore();
      case 3:
        return stop();
      case 4:
        return look_around();
      case 5:
      case 6:
      case 7:
        return advance(random_.below(3) == 0 ? 0 : random_.below(30));
      case 8:
      case 9:
        return use_held(random_.below(static_cast<uint32_t>(held_.size()) + 1));
      default:
        return plan_some();
    }
  }

  Plan& plan() { return *stage_->plan; }

  void start_anew() {
    use_held(held_.size());         // in the stage that planned them
    if (stage_) plan().restart(0);  // allowed, since all its tickets are used
    stage_.reset();
    stage_.emplace(node_->make_stage(random_.below(2) == 0 ? context_ : context_.unmonitored()));
    stand_at(0, 0);
    expect_pass(0);
  }

  void expect_pass(uint64_t epoch) {
    const auto [pass, is_new] = passes_.try_emplace(epoch);
    if (is_new) pass->second = twin_->pass(epoch);
    expected_ = &pass->second;
  }

  void stand_at(uint64_t epoch, size_t at) {
    epoch_ = epoch;
    at_ = at;
    has_ended_ = false;
    error_.clear();
  }

  void restart(uint64_t epoch) {
    plan().restart(epoch);
    expect_pass(epoch);
    stand_at(epoch, 0);
  }

  void restore() {
    if (saved_.empty()) return;
    const Saved& saved = saved_[random_.below(static_cast<uint32_t>(saved_.size()))];
    restore_place(plan(), saved.state, saved.epoch);
    expect_pass(saved.epoch);
    stand_at(saved.epoch, saved.at);
  }

  void stop() {
    std::vector<Ticket> tickets(5);
    if (random_.below(2) == 0 && !plans_elsewhere_) {
      // Requests the stop during do_plan(), unless the operator doesn't call its input.
      ledger_->set_interruption([this] { plan().request_stop(); });
      Planned planned;
      try {
        planned = plan().plan(tickets, Wait::yes);
      } catch (const std::exception& error) {
        expect_error(error);
      }
      // Tickets written before the stop are valid.
      const bool was_asked = !ledger_->take_interruption();
      expect_next(std::span(tickets).first(planned.count));
      EXPECT_TRUE(was_asked || planned.stop != Stop::requested);
      expect_true(planned.stop, /*waits=*/true, was_asked);
      plan().discard(std::span(tickets).first(planned.count));
    }
    plan().request_stop();
    expect_stopped([&] { return plan().plan(tickets, Wait::yes); });
    expect_stopped([&] { return plan().advance(5); });
    expect_stopped([&] { return plan().plan(tickets, Wait::no); });
    saved_.empty() || random_.below(2) == 0 ? restart(epoch_) : restore();
  }

  // The end and an error are sticky.
  void expect_stopped(const std::function<Planned()>& call) {
    try {
      const Planned planned = call();
      EXPECT_EQ(planned.count, 0u);
      EXPECT_TRUE(planned.stop == Stop::requested || planned.stop == Stop::end);
      expect_true(planned.stop, /*waits=*/true, /*was_asked=*/true);
      EXPECT_TRUE(error_.empty()) << "no error any more";
    } catch (const std::exception& error) {
      expect_error(error);
    }
  }

  // Whether the next result is an error or the end.
  bool is_over() const { return at_ == expected_->items.size(); }

  // Checks that the error comes after all elements and is the same on each call.
  void expect_error(const std::exception& error) {
    EXPECT_TRUE(is_over()) << at_ << " of " << expected_->items.size() << ": " << error.what();
    ASSERT_FALSE(expected_->error.empty()) << error.what();
    EXPECT_THAT(error.what(), StartsWith(expected_->error));
    EXPECT_TRUE(error_.empty() || error.what() == error_) << error.what();
    error_ = error.what();
  }

  // Checks that the tickets belong to the next elements.
  void expect_next(std::span<const Ticket> tickets) {
    ASSERT_LE(tickets.size(), expected_->items.size() - at_);
    for (const Ticket& ticket : tickets) EXPECT_EQ(ticket.id, expected_->items[at_++].id);
  }

  // Checks that `stop` is a valid reason. The end is sticky.
  void expect_true(Stop stop, bool waits, bool was_asked) {
    switch (stop) {
      case Stop::none:
        EXPECT_FALSE(has_ended_);
        return;
      case Stop::would_wait:
        EXPECT_FALSE(waits || has_ended_);
        return;
      case Stop::requested:
        EXPECT_TRUE(was_asked && !has_ended_);
        return;
      case Stop::end:
        EXPECT_TRUE(is_over()) << at_ << " of " << expected_->items.size();
        EXPECT_EQ(expected_->error, "");
        has_ended_ = true;
        return;
    }
  }

  void plan_some() {
    std::vector<Ticket> tickets(1 + random_.below(12));
    const Wait wait = random_.below(3) == 0 ? Wait::no : Wait::yes;
    const size_t first = at_;
    Planned planned;
    try {
      planned = plan().plan(tickets, wait);
      EXPECT_TRUE(planned.count > 0 || planned.stop != Stop::none) << "no tickets and no reason";
      EXPECT_TRUE(error_.empty()) << "no error any more";
    } catch (const std::exception& error) {
      return expect_error(error);
    }
    expect_next(std::span(tickets).first(planned.count));
    expect_true(planned.stop, wait == Wait::yes, /*was_asked=*/false);
    for (size_t i = 0; i < at_ - first; ++i)
      held_.push_back({tickets[i], expected_->items[first + i]});
  }

  void advance(uint64_t count) {
    try {
      const Planned passed = plan().advance(count);
      EXPECT_EQ(passed.count, std::min<uint64_t>(count, expected_->items.size() - at_));
      at_ += passed.count;
      if (count > 0) expect_true(passed.stop, /*waits=*/true, /*was_asked=*/false);
      EXPECT_TRUE(plan().can_save() || passed.count < count || count == 0);
      EXPECT_TRUE(expected_->error.empty() || passed.count > 0 || count == 0) << "no error";
      EXPECT_TRUE(passed.count > 0 || count == 0 || has_ended_);
    } catch (const std::exception& error) {
      EXPECT_GT(count, 0u);
      expect_error(error);
    }
  }

  // Uses random access, which must not change the plan's position.
  void look_around() {
    if (has_errors_ || !node_->sequential_operator().empty()) return;
    ASSERT_EQ(plan().size(), expected_->items.size());
    if (expected_->items.empty()) return;
    std::vector<uint64_t> places(random_.below(5));
    for (uint64_t& place : places) {
      place = random_.below(static_cast<uint32_t>(expected_->items.size()));
    }
    std::vector<Ticket> tickets(places.size());
    plan().tickets_at(places, tickets);
    for (size_t i = 0; i < places.size(); ++i)
      held_.push_back({tickets[i], expected_->items[places[i]]});
  }

  // Produces or discards `count` held tickets, in any order.
  void use_held(size_t count) {
    std::vector<Held> used;
    for (; count > 0; --count) {
      std::swap(held_[random_.below(static_cast<uint32_t>(held_.size()))], held_.back());
      used.push_back(std::move(held_.back()));
      held_.pop_back();
    }
    std::vector<Ticket> tickets;
    for (const Held& held : used) tickets.push_back(held.ticket);
    if (random_.below(3) == 0) return stage_ ? plan().discard(tickets) : void();
    if (tickets.empty()) return;
    std::vector<Value> values(tickets.size());
    const Failures failures = stage_->work->make_producer()->produce(tickets, values.data());
    auto failure = failures.begin();
    for (size_t i = 0; i < used.size(); ++i) {
      std::string error;
      if (failure != failures.end() && failure->at == i) {
        error = message_of((failure++)->error);
      } else {
        EXPECT_EQ(values[i], used[i].item.value);
      }
      EXPECT_EQ(error, used[i].item.error);
    }
  }

  static std::string message_of(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& thrown) {
      return thrown.what();
    }
  }

  TemporaryDirectory directory_;
  Random random_;
  std::shared_ptr<TicketLedger> ledger_;
  bool has_errors_ = false;
  bool keeps_tickets_ = false;    // like an executor that isn't restarted
  bool plans_elsewhere_ = false;  // plans on a separate thread
  NodePtr node_;
  std::optional<Twin> twin_;
  StageContext context_;
  std::optional<Stage> stage_;
  std::map<uint64_t, naive::Elements<Value>> passes_;  // of the epochs so far
  const naive::Elements<Value>* expected_ = nullptr;   // of this epoch
  uint64_t epoch_ = 0;
  size_t at_ = 0;
  bool has_ended_ = false;
  std::string error_;  // the error that was thrown
  std::vector<Held> held_;
  std::vector<Saved> saved_;
};

class PlanContract : public testing::TestWithParam<TestedOperator> {};

TEST_P(PlanContract, HoldsInAnySequenceOfCalls) {
  for (uint64_t trial = 0; trial < trial_count() && !HasFailure(); ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    Driver(GetParam(), trial).run();
  }
}

// When the position is restored, the error may no longer occur.
TEST(Prefetch, SavesAPlaceBeforeAnErrorThatIsNoneInTheMiddleOfAGroup) {
  const auto context = make_stage_context({.threads = 1, .chunk_size = 3});
  const auto every_third = [&](const Script& script) {
    const auto source = DatasetNode::source<Value>(
        std::make_shared<ScriptedNode>(script, std::make_shared<TicketLedger>()));
    return DatasetNode::of(source.shard(3, 0).prefetch(2));
  };
  const NodePtr failing = every_third({.size = 11, .error = "lost connection", .seed = 1});
  const Stage failing_stage = failing->make_stage(context);
  failing_stage.plan->restart(0);
  uint64_t passed = 0;
  EXPECT_ANY_THROW(advance_all(*failing_stage.plan, 10, passed));
  EXPECT_EQ(passed, 4u);  // 0, 3, 6, 9
  PlanState state;
  failing_stage.plan->save(state);

  const NodePtr whole = every_third({.size = 30, .seed = 1});
  const Stage whole_stage = whole->make_stage(context);
  restore_place(*whole_stage.plan, state, 0);
  std::vector<Ticket> tickets(1);
  ASSERT_EQ(whole_stage.plan->plan(tickets, Wait::yes).count, 1u);
  EXPECT_EQ(tickets[0].id.index, 12u);
  whole_stage.plan->discard(tickets);
}

TEST_P(PlanContract, IsToldToStopAtAnyTime) {
  for (uint64_t trial = 0; trial < 10 && !HasFailure(); ++trial) {
    Driver(GetParam(), trial).run_beside_stops();
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, PlanContract, testing::ValuesIn(operators()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace recordpipe::internal
