// Tests the session hooks that write no files.
#include <algorithm>
#include <cmath>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/trainer/session/examples_per_second_hook.h"
#include "recordpipe/trainer/session/feed_hook.h"
#include "recordpipe/trainer/session/global_step_waiter_hook.h"
#include "recordpipe/trainer/session/logging_hook.h"
#include "recordpipe/trainer/session/stop_at_step_hook.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/test_run.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

LoggingOptions logging(std::vector<std::string>& lines, double& now) {
  return {.values = {{"step", [](const RunValues& v) { return std::to_string(v.result.step); }},
                     {"images",
                      [](const RunValues& v) { return std::to_string(v.result.batch.images); }}},
          .sink = [&lines](const std::string& line) { lines.push_back(line); },
          .now = [&now] { return now += 0.125; }};
}

TEST(LoggingHook, TellsValuesAndSeconds) {
  TestRun run;
  std::vector<std::string> lines;
  double now = 0;
  LoggingOptions options = logging(lines, now);
  options.every = {.steps = 2};
  run.run(4, hooks(LoggingHook(options)));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "step = 1, images = 4") << "at once, without the time before";
  EXPECT_THAT(lines[1], testing::MatchesRegex(R"(step = 3, images = 4 \(0\.[0-9]+ sec\))"));
}

TEST(LoggingHook, TellsTheEndIfToldSo) {
  TestRun run;
  std::vector<std::string> lines;
  double now = 0;
  LoggingOptions options = logging(lines, now);
  options.every = {};
  expect_invalid([&] { LoggingHook{options}; });
  options.at_end = true;
  run.run(4, hooks(LoggingHook(options)));
  EXPECT_THAT(lines, ElementsAre("step = 4, images = 4"));
  lines.clear();
  run.run(4, hooks(LoggingHook(options)));
  EXPECT_THAT(lines, IsEmpty()) << "no step, no line";
}

TEST(ExamplesPerSecondHook, TellsTheAverageAndTheLatest) {
  TestRun run;
  double now = 100;
  FunctionHook clock;
  // The first two steps take a second each, the others half a second.
  clock.on_before = [&](TrainingSession&, RunContext& context) {
    now += context.step < 2 ? 1 : 0.5;
  };
  std::vector<std::string> lines;
  Hooks list = hooks(clock);
  list.push_back(std::make_unique<ExamplesPerSecondHook>(
      ExamplesPerSecondOptions{.every = {.steps = 2},
                               .sink = [&](const std::string& line) { lines.push_back(line); },
                               .now = [&] { return now; }}));
  run.run(5, std::move(list));
  EXPECT_THAT(lines, ElementsAre("Average examples/sec: 4.0 (4.0), step = 2",
                                 "Average examples/sec: 5.3 (8.0), step = 4"));
}

TEST(ExamplesPerSecondHook, WantsStepsOrSeconds) {
  expect_invalid([] { ExamplesPerSecondHook({.every = {}}); });
  expect_invalid([] { ExamplesPerSecondHook({.every = {.steps = 1, .seconds = 1}}); });
}

TEST(FeedHook, TrainsOnWhatItIsGiven) {
  TestRun run, plain;
  ImageBatch mine;
  std::vector<uint64_t> asked;
  std::vector<std::vector<int32_t>> labels, plain_labels;
  const auto record = [](std::vector<std::vector<int32_t>>& to) {
    FunctionHook hook;
    hook.on_after = [&to](TrainingSession&, const RunValues& values) {
      to.emplace_back(values.batch.labels().begin(), values.batch.labels().end());
    };
    return hook;
  };
  plain.run(3, hooks(record(plain_labels)));
  mine.reset({.height = 4, .width = 4, .channels = 3, .layout = Layout::nchw}, 4);
  for (size_t row = 0; row < 4; ++row) {
    std::fill_n(reinterpret_cast<float*>(mine.image_at(row)), 48, static_cast<float>(row));
    mine.set_label(row, 2);
  }
  Hooks list = hooks(record(labels));
  list.push_back(std::make_unique<FeedHook>([&](uint64_t steps_done) {
    asked.push_back(steps_done);
    return steps_done == 1 ? &mine : nullptr;
  }));
  run.run(3, std::move(list));
  EXPECT_THAT(asked, ElementsAre(0, 1, 2));
  // The fed batch has not advanced the pipeline.
  EXPECT_THAT(labels, ElementsAre(plain_labels[0], ElementsAre(2, 2, 2, 2), plain_labels[1]));
}

TEST(GlobalStepWaiterHook, WaitsOnce) {
  TestRun run;
  uint64_t others = 0;
  int pauses = 0;
  FunctionHook later;
  later.on_after = [&](TrainingSession&, const RunValues&) { others = 0; };
  Hooks list = hooks(later);
  list.push_back(std::make_unique<GlobalStepWaiterHook>(
      GlobalStepWaiterOptions{.wait_until_step = 3,
                              .global_step = [&] { return others; },
                              .pause = [&] { ++pauses, ++others; }}));
  run.run(2, std::move(list));
  EXPECT_EQ(pauses, 3);
}

}  // namespace
}  // namespace recordpipe
