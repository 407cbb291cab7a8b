#include "recordpipe/trainer/report/history_recorder.h"

#include <cmath>
#include <filesystem>
#include <limits>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "recordpipe/base/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

// Returns the result of step `step`: 64 images, `step` of them correct, and a loss of 1 / step.
StepResult result_of(uint64_t step) {
  return {.step = step,
          .learning_rate = 0.5 * static_cast<double>(step),
          .batch = {.loss = 1 / static_cast<double>(step), .correct = step, .images = 64}};
}

void add_steps(HistoryRecorder& recorder, uint64_t first, uint64_t last) {
  for (uint64_t step = first; step <= last; ++step) recorder.add(result_of(step), 0.5, 0.125);
}

std::vector<uint64_t> steps_of(const HistoryRecorder& recorder) {
  std::vector<uint64_t> steps;
  for (const TrainingPoint& point : recorder.history().training) steps.push_back(point.step);
  return steps;
}

using Steps = std::vector<uint64_t>;

TEST(HistoryRecorder, MakesPointsOfWindows) {
  HistoryRecorder recorder(posix_file_system(), "", {.window = 4});
  recorder.start(0);
  add_steps(recorder, 1, 9);
  EXPECT_EQ(steps_of(recorder), (Steps{4, 8}));
  const TrainingPoint& point = recorder.history().training[1];
  EXPECT_EQ(point.steps, 4u);
  EXPECT_EQ(point.images, 4 * 64u);
  EXPECT_EQ(point.correct, 5u + 6 + 7 + 8);
  EXPECT_DOUBLE_EQ(point.loss, (1.0 / 5 + 1.0 / 6 + 1.0 / 7 + 1.0 / 8) / 4);
  EXPECT_EQ(point.learning_rate, 4);
  EXPECT_EQ(point.seconds, 2);
  EXPECT_EQ(point.input_wait_seconds, 0.5);

  recorder.finish();
  recorder.finish();
  EXPECT_EQ(steps_of(recorder), (Steps{4, 8, 9}));
  EXPECT_EQ(recorder.history().training.back().steps, 1u);
}

TEST(HistoryRecorder, GivesAStepWithoutALossItsOwnPoint) {
  HistoryRecorder recorder(posix_file_system(), "", {.window = 4});
  recorder.start(0);
  add_steps(recorder, 1, 2);
  StepResult bad = result_of(3);
  bad.batch.loss = std::numeric_limits<double>::quiet_NaN();
  recorder.add(bad, 0.5, 0);
  EXPECT_EQ(steps_of(recorder), (Steps{2, 3}));
  EXPECT_EQ(recorder.history().training[0].loss, 0.75);
  EXPECT_TRUE(std::isnan(recorder.history().training[1].loss));
}

TEST(HistoryRecorder, RefusesWindowsOfNothing) {
  EXPECT_EQ(error_of([] { HistoryRecorder(posix_file_system(), "", {.window = 0}); }).kind(),
            ErrorKind::invalid_argument);
}

// With a file and without one.
TEST(HistoryRecorder, ForgetsWhatIsMadeAgain) {
  const TemporaryDirectory directory;
  for (const std::string& path : {std::string(), directory / "history"}) {
    HistoryRecorder recorder(posix_file_system(), path, {.window = 2});
    recorder.start(0);
    add_steps(recorder, 1, 7);
    recorder.add_validation(6, {.loss = 1, .correct = 1, .images = 4});
    recorder.start(4);
    EXPECT_EQ(steps_of(recorder), (Steps{2, 4}));
    EXPECT_TRUE(recorder.history().validation.empty());
    add_steps(recorder, 5, 8);
    EXPECT_EQ(steps_of(recorder), (Steps{2, 4, 6, 8}));
    EXPECT_EQ(recorder.history().training.back().steps, 2u);
  }
}

// The run ends without notice at various steps, as by SIGKILL, and resumes from the last
// checkpoint.
TEST(HistoryRecorder, TellsOfAllOfARunThatWasResumed) {
  const TemporaryDirectory directory;
  const std::string path = directory / "history";
  for (const uint64_t killed_at : {8, 9, 10, 11, 13}) {
    std::filesystem::remove(path);
    {
      HistoryRecorder recorder(posix_file_system(), path, {.window = 2});
      recorder.start(0);
      add_steps(recorder, 1, 8);
      recorder.add_validation(8, {.loss = 1.5, .correct = 1, .images = 4});
      add_steps(recorder, 9, killed_at);
    }
    HistoryRecorder recorder(posix_file_system(), path, {.window = 2});
    recorder.start(8);
    add_steps(recorder, 9, 14);

    HistoryRecorder whole(posix_file_system(), "", {.window = 2});
    whole.start(0);
    add_steps(whole, 1, 14);
    EXPECT_EQ(recorder.history().training, whole.history().training);
    ASSERT_EQ(recorder.history().validation.size(), 1u);
    EXPECT_EQ(recorder.history().validation[0],
              (EvaluationPoint{.step = 8, .loss = 1.5, .accuracy = 0.25}));
  }
}

TEST(HistoryRecorder, GoesOnAfterALineThatWasCutShort) {
  const TemporaryDirectory directory;
  const std::string path = directory / "history";
  write_file(path, "{\"step\": 2, \"ste");
  for (int run = 0; run < 2; ++run) {
    HistoryRecorder recorder(posix_file_system(), path, {.window = 2});
    recorder.start(2);
    EXPECT_EQ(steps_of(recorder), Steps());
    add_steps(recorder, 3, 4);
  }
  HistoryRecorder recorder(posix_file_system(), path);
  recorder.start(4);
  EXPECT_EQ(steps_of(recorder), (Steps{4}));
}

// Opening a FIFO would block forever, waiting for a writer.
TEST(HistoryRecorder, RefusesAFifo) {
  const TemporaryDirectory directory;
  const std::string path = directory / "history";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  HistoryRecorder recorder(posix_file_system(), path);
  EXPECT_EQ(error_of([&] { recorder.start(0); }).kind(), ErrorKind::unsupported);
}

}  // namespace
}  // namespace recordpipe
