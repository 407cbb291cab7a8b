#include "recordpipe/trainer/report/history_lines.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace recordpipe {
namespace {

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

TrainingPoint point(uint64_t step) {
  return {.step = step,
          .steps = 10,
          .images = 640,
          .correct = 71,
          .loss = 1.0 / 3,
          .learning_rate = 0.1,
          .seconds = 0.5,
          .input_wait_seconds = 0.01};
}

TEST(HistoryLines, ComeBackAsTheyWere) {
  const EvaluationPoint evaluation = {.step = 15, .loss = 2.0 / 7, .accuracy = 0.1};
  const RunHistory history = parse_history(
      history_line(point(10)) + history_line(evaluation) + history_line(point(20)), kAll);
  EXPECT_EQ(history.training, (std::vector{point(10), point(20)}));
  EXPECT_EQ(history.validation, std::vector{evaluation});
}

TEST(HistoryLines, KeepNumbersThatAreNone) {
  TrainingPoint bad = point(10);
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    bad.loss = value;
    const RunHistory history = parse_history(history_line(bad), kAll);
    ASSERT_EQ(history.training.size(), 1u);
    EXPECT_TRUE(std::isnan(history.training[0].loss));
  }
}

TEST(HistoryLines, EndAtTheLastStep) {
  const std::string text = history_line(point(10)) + history_line(point(20)) +
                           history_line(EvaluationPoint{.step = 20}) + history_line(point(30)) +
                           history_line(EvaluationPoint{.step = 30});
  const RunHistory history = parse_history(text, 20);
  EXPECT_EQ(history.training.size(), 2u);
  EXPECT_EQ(history.validation.size(), 1u);
  EXPECT_TRUE(parse_history(text, 0).training.empty());
}

TEST(HistoryLines, ThatAreCutShortOrDamagedArePassedOver) {
  const std::string line = history_line(point(20));
  for (size_t size = 0; size < line.size(); ++size) {
    const RunHistory history = parse_history(history_line(point(10)) + line.substr(0, size), kAll);
    EXPECT_EQ(history.training.size(), 1u);
    // Another line is appended after the partial one.
    EXPECT_LE(
        parse_history(line.substr(0, size) + "\n" + history_line(point(30)), kAll).training.size(),
        2u);
  }
  for (
      const std::string damaged :
      {"", "null", "[]", "[[[[", "\"\"", "7", "{}", "\xff", R"({"validation": 3})",
       R"({"validation": {"step": "x", "loss": 1, "accuracy": 1}})", R"({"step": 20})",
       R"({"step":-1,"steps":1,"images":1,"correct":1,"loss":1,"learning_rate":1,"seconds":1,"input_wait_seconds":1})",
       R"({"step":5,"steps":6,"images":1,"correct":1,"loss":1,"learning_rate":1,"seconds":1,"input_wait_seconds":1})",
       R"({"step":20,"steps":1,"images":1.5,"correct":1,"loss":1,"learning_rate":1,"seconds":1,"input_wait_seconds":1})",
       R"({"step":20,"steps":1,"images":1,"correct":1,"loss":"1","learning_rate":1,"seconds":1,"input_wait_seconds":1})"}) {
    const RunHistory history =
        parse_history(history_line(point(10)) + damaged + "\n" + history_line(point(30)), kAll);
    EXPECT_EQ(history.training, (std::vector{point(10), point(30)})) << damaged;
    EXPECT_TRUE(history.validation.empty()) << damaged;
  }
}

TEST(HistoryLines, ThatGoBackArePassedOver) {
  const std::string text = history_line(point(20)) + history_line(point(20)) +
                           history_line(point(10)) + history_line(point(30));
  EXPECT_EQ(parse_history(text, kAll).training, (std::vector{point(20), point(30)}));
}

}  // namespace
}  // namespace recordpipe
