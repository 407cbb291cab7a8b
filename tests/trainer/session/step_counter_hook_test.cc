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

  // The steps of the events with the hook's scalar, which is always 4.
  std::vector<int64_t> steps_told(uint64_t steps, const Every& every) {
    {
      EventWriter events(posix_file_system(), folder / "events");
      std::vector<std::unique_ptr<SessionHook>> hooks;
      hooks.push_back(
          std::make_unique<AfterRun>([this](TrainingSession&, const RunValues&) { time += 0.25; }));
      hooks.push_back(std::make_unique<StepCounterHook>(
          events, StepCounterOptions{.every = every, .now = [this] { return time; }}));
      run(steps, std::move(hooks));
    }
    std::vector<int64_t> told;
    for (const auto& event : events_in(folder / "events")) {
      const auto values = values_of(event);
      if (!values.contains("global_step/sec")) continue;
      EXPECT_EQ(values.at("global_step/sec").simple_value(), 4);
      told.push_back(event.step());
    }
    return told;
  }
};

TEST(StepCounterHook, TellsTheSpeedSinceItLastDid) {
  EXPECT_THAT(SteadySession().steps_told(25, {.steps = 10}), ElementsAre(11, 21));
}

TEST(StepCounterHook, CountsStepsBetweenTimes) {
  EXPECT_THAT(SteadySession().steps_told(9, {.seconds = 1}), ElementsAre(5, 9));
}

TEST(StepCounterHook, WantsStepsOrSeconds) {
  const TemporaryDirectory folder;
  EventWriter events(posix_file_system(), folder / "events");
  for (const Every every : {Every{}, Every{.steps = 1, .seconds = 1}})
    EXPECT_EQ(error_of([&] { StepCounterHook(events, {.every = every}); }).kind(),
              ErrorKind::invalid_argument);
}

}  // namespace
}  // namespace recordpipe
