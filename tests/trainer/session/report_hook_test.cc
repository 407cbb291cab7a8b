#include "recordpipe/trainer/session/report_hook.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/faulty_file_system.h"
#include "tests/trainer/session/test_session.h"

namespace recordpipe {
namespace {

std::vector<uint64_t> steps_of(const RunHistory& history) {
  std::vector<uint64_t> steps;
  for (const TrainingPoint& point : history.training) steps.push_back(point.step);
  return steps;
}

using Steps = std::vector<uint64_t>;

TEST(ReportHook, RecordsARunAndGoesOnWhereItIsResumed) {
  TestSession session;
  session.save_after = 8;
  const std::string path = session.folder / "history.jsonl";
  {
    HistoryRecorder recorder(posix_file_system(), path, {.window = 4});
    session.run(10, std::make_unique<ReportHook>(recorder));
    EXPECT_EQ(steps_of(recorder.history()), (Steps{4, 8, 10}));
    const TrainingPoint& point = recorder.history().training.front();
    EXPECT_EQ(point.steps, 4u);
    EXPECT_EQ(point.images, 4 * 8u);
    EXPECT_EQ(point.learning_rate, 0.05);
    EXPECT_GT(point.loss, 0);
    EXPECT_GT(point.seconds, 0);
    EXPECT_LE(point.input_wait_seconds, point.seconds);
  }
  HistoryRecorder recorder(posix_file_system(), path, {.window = 4});
  session.run(12, std::make_unique<ReportHook>(recorder));  // from step 8
  EXPECT_EQ(steps_of(recorder.history()), (Steps{4, 8, 12}));
  EXPECT_EQ(recorder.history().training.back().steps, 4u);
}

// If writing the history fails at any point, the run still makes its steps and reports the failure,
// and the report is complete.
TEST(ReportHook, OutlivesAFullDisk) {
  size_t noted = 0;
  for (uint64_t call = 1;; ++call) {
    TestSession session;
    FaultyFileSystem files(posix_file_system());
    files.fail_call(call, FaultyFileSystem::Fault::error, ENOSPC);
    HistoryRecorder recorder(files, session.folder / "history.jsonl", {.window = 4});
    session.run(10, std::make_unique<ReportHook>(recorder));
    EXPECT_EQ(steps_of(recorder.history()), (Steps{4, 8, 10})) << files.failed_call();
    if (files.failed_call().empty()) break;
    noted += session.notes.size();
    for (const std::string& note : session.notes) EXPECT_TRUE(note.starts_with("not logged: "));
  }
  EXPECT_GE(noted, 3u);  // of three points
}

}  // namespace
}  // namespace recordpipe
