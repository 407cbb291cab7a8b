#include "recordpipe/trainer/session/step_counter_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/session/test_session.h"
#include "tests/trainer/summary/event_files.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;

// A session in which every step takes a quarter of a second.
struct SteadySession : TestSession {
  double time = 100;

  void run_with(uint64_t steps, StepCounterOptions options) {
    std::vector<std::unique_ptr<SessionHook>> hooks;
    hooks.push_back(
        std::make_unique<AfterRun>([this](TrainingSession&, const RunValues&) { time += 0.25; }));
    options.now = [this] { return time; };
    hooks.push_back(std::make_unique<StepCounterHook>(std::move(options)));
    run(steps, std::move(hooks));
  }
};

TEST(StepCounterHook, TellsTheSpeedSinceItLastDid) {
  SteadySession session;
  std::vector<std::string> lines;
  {
    EventWriter events(posix_file_system(), session.folder / "events");
    session.run_with(25, {.every = {.steps = 10},
                          .sink = [&](const std::string& line) { lines.push_back(line); },
                          .events = &events});
  }
  EXPECT_THAT(lines, ElementsAre("global_step/sec: 4", "global_step/sec: 4"));
  const auto events = events_in(session.folder / "events");
  ASSERT_EQ(events.size(), 3u);
  for (const size_t i : {1, 2}) {
    EXPECT_EQ(events[i].step(), 10 * static_cast<int64_t>(i) + 1);
    EXPECT_EQ(values_of(events[i]).at("global_step/sec").simple_value(), 4);
  }
}

TEST(StepCounterHook, CountsStepsBetweenTimes) {
  SteadySession session;
  std::vector<std::string> lines;
  session.run_with(9, {.every = {.seconds = 1},
                       .sink = [&](const std::string& line) { lines.push_back(line); }});
  EXPECT_THAT(lines, ElementsAre("global_step/sec: 4", "global_step/sec: 4"));
}

TEST(StepCounterHook, WantsStepsOrSeconds) {
  for (const Every every : {Every{}, Every{.steps = 1, .seconds = 1}})
    EXPECT_EQ(error_of([&] { StepCounterHook({.every = every}); }).kind(),
              ErrorKind::invalid_argument);
}

}  // namespace
}  // namespace recordpipe
