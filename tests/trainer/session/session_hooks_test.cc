// Tests the session hooks that write no files.
#include <cmath>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/trainer/session/step_timer.h"
#include "recordpipe/trainer/session/stop_at_step_hook.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/session/test_run.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class Action>
void expect_invalid(Action action) {
  EXPECT_EQ(error_of(action).kind(), ErrorKind::invalid_argument);
}

TEST(StepTimer, IsDueAtItsFirstCallAndThenEverySoManySteps) {
  StepTimer timer("me", {.steps = 3});
  EXPECT_TRUE(timer.is_due(1));
  EXPECT_TRUE(timer.is_due(1)) << "until it is updated";
  EXPECT_FALSE(timer.update(1));
  EXPECT_FALSE(timer.is_due(1));
  EXPECT_FALSE(timer.is_due(3));
  EXPECT_TRUE(timer.is_due(4));
  EXPECT_TRUE(timer.is_due(9));
  EXPECT_EQ(timer.update(9)->steps, 8u);
  EXPECT_FALSE(timer.is_due(11));
  timer.reset();
  EXPECT_TRUE(timer.is_due(10));
  EXPECT_FALSE(timer.update(10));
}

TEST(StepTimer, IsNotDueAgainInTooManySteps) {
  StepTimer timer("me", {.steps = UINT64_MAX});
  timer.update(5);
  EXPECT_FALSE(timer.is_due(6));
}

TEST(StepTimer, CountsSeconds) {
  double now = 100;
  StepTimer timer("me", {.seconds = 2.5}, [&] { return now; });
  EXPECT_TRUE(timer.is_due(1));
  timer.update(1);
  now = 102;
  EXPECT_FALSE(timer.is_due(1000));
  now = 102.5;
  EXPECT_TRUE(timer.is_due(1000));
  EXPECT_EQ(timer.update(1000)->seconds, 2.5);
}

TEST(StepTimer, WantsOneOfTheTwo) {
  expect_invalid([] { StepTimer("me", {}); });
  expect_invalid([] { StepTimer("me", {.steps = 1, .seconds = 1}); });
  expect_invalid([] { StepTimer("me", {.seconds = -1}); });
  expect_invalid([] { StepTimer("me", {.seconds = std::nan("")}); });
  EXPECT_THAT(error_of([] { StepTimer("me", {}); }).what(), HasSubstr("me needs"));
}

TEST(StopAtStepHook, CountsTheStepsOfAllRunsOrOfThisOne) {
  TestRun run;
  run.run({}, hooks(StopAtStepHook({.num_steps = 3})));
  EXPECT_EQ(run.steps().front(), 3u);
  run.run({}, hooks(StopAtStepHook({.num_steps = 3})));
  EXPECT_EQ(run.steps().front(), 6u);
  run.run({}, hooks(StopAtStepHook({.last_step = 7})));
  EXPECT_EQ(run.steps().front(), 7u);
}

// UINT64_MAX steps: the run continues until something else stops it.
TEST(StopAtStepHook, CountsToTheMostThereIs) {
  TestRun run;
  run.run(3);
  run.run(5, hooks(StopAtStepHook({.num_steps = UINT64_MAX})));
  EXPECT_EQ(run.steps().front(), 5u);
}

TEST(StopAtStepHook, MakesNoStepWhereTheRunIsAlreadyThere) {
  TestRun run;
  run.run(3);
  for (const uint64_t last_step : {3, 2}) {
    FunctionHook hook;
    hook.on_after = [](TrainingSession&, const RunValues&) { ADD_FAILURE() << "a step"; };
    run.run(last_step, hooks(hook));
  }
  TestRun none;
  none.run({}, hooks(StopAtStepHook({.num_steps = 0})));
  EXPECT_THAT(none.steps(), ElementsAre(0));
}

TEST(StopAtStepHook, WantsOneOfTheTwo) {
  expect_invalid([] { StopAtStepHook({}); });
  expect_invalid([] { StopAtStepHook({.last_step = 1, .num_steps = 1}); });
}

// A restored session continues to the same step.
TEST(StopAtStepHook, CountsOnceThroughFailures) {
  TestRun run;
  run.save_every = 2;
  bool failed = false;
  FunctionHook failing;
  failing.on_after = [&](TrainingSession&, const RunValues& values) {
    if (values.result.step != 5 || std::exchange(failed, true)) return;
    throw Error({.kind = ErrorKind::io, .reason = "once"});
  };
  Hooks list = hooks(failing);
  list.push_back(std::make_unique<StopAtStepHook>(StopAtStepOptions{.num_steps = 6}));
  run.run({}, std::move(list));
  EXPECT_TRUE(failed);
  EXPECT_EQ(run.steps().front(), 6u);
}

}  // namespace
}  // namespace recordpipe
