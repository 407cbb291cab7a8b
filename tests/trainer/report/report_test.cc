// Tests how a report's file is written. tests/view/report_test.py tests the page.
#include "recordpipe/trainer/report/report.h"

#include <cerrno>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/faulty_file_system.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

TEST(WriteReport, IsWrittenWholeOrNotAtAll) {
  const TemporaryDirectory directory;
  const std::string path = directory / "report.html";
  write_file(path, "old");
  const RunReport report = {.title = "new"};
  const uint64_t runs = for_every_fault(
      posix_file_system(), ENOSPC, [&](FileSystem& files) { write_report(files, path, report); },
      [&](const FaultyFileSystem& files) {
        const std::string found = read_file(path);
        EXPECT_TRUE(found == "old" || found == report_html(report)) << files.failed_call();
      },
      [&] { write_file(path, "old"); });
  EXPECT_GT(runs, 4u);
  EXPECT_EQ(read_file(path), report_html(report));
}

// Returns a bool, because the page is too long to print when a test fails.
bool shows(const RunReport& report, std::string_view text) {
  return report_html(report).find(text) != std::string::npos;
}

TEST(ReportHtml, SaysWhichStepsItDoesNotKnow) {
  RunReport report;
  report.history.training = {{.step = 20, .steps = 10}, {.step = 30, .steps = 10}};
  EXPECT_TRUE(shows(report, "From step 10 on; earlier steps are not recorded. 20 steps in"));
  EXPECT_FALSE(shows(report, "between are not"));
  report.history.training.push_back({.step = 50, .steps = 10});
  EXPECT_TRUE(shows(report, "10 steps in between are not recorded."));
}

TEST(ReportHtml, ShowsMistakesOfAnyImageItCanAndNoOthers) {
  const auto report = [](size_t channels) {
    Evaluation evaluation = {.total = {.loss = 1, .correct = 0, .images = 1},
                             .confusion = ConfusionMatrix(2),
                             .image = {.channels = channels, .height = 2, .width = 3}};
    evaluation.confusion.add(0, 1);
    evaluation.mistakes = {{.label = 0,
                            .prediction = 1,
                            .probability = 0.9,
                            .pixels = std::vector<uint8_t>(6 * channels)}};
    return RunReport{.final_evaluation = FinalEvaluation{.evaluation = evaluation}};
  };
  EXPECT_TRUE(shows(report(1), "<img src=\"data:image/png;base64,"));
  EXPECT_TRUE(shows(report(3), "width=\"3\" height=\"2\""));
  EXPECT_FALSE(shows(report(5), "<img"));
}

}  // namespace
}  // namespace recordpipe
