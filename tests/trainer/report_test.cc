// How a report gets to its place. What its page holds: tests/view/report_test.py.
#include "trainer/report/report.h"

#include <cerrno>
#include <filesystem>

#include <gmock/gmock.h>
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

TEST(ReportHtml, ShowsMistakesOfAnyImageItCanAndNoOthers) {
  const auto html = [](size_t channels) {
    Evaluation evaluation = {.total = {.loss = 1, .correct = 0, .images = 1},
                             .confusion = ConfusionMatrix(2),
                             .image = {.channels = channels, .height = 2, .width = 3}};
    evaluation.confusion.add(0, 1);
    evaluation.mistakes = {{.label = 0,
                            .prediction = 1,
                            .probability = 0.9,
                            .pixels = std::vector<uint8_t>(6 * channels)}};
    return report_html({.final_evaluation = FinalEvaluation{.evaluation = evaluation}});
  };
  EXPECT_THAT(html(1), testing::HasSubstr("<img src=\"data:image/png;base64,"));
  EXPECT_THAT(html(3), testing::HasSubstr("width=\"3\" height=\"2\""));
  EXPECT_THAT(html(5), testing::Not(testing::HasSubstr("<img")));
}

}  // namespace
}  // namespace recordpipe
