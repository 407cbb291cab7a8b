// Tests how a chart's lines are drawn. tests/view/report_test.py and report_page_test.py test the
// page.
#include "recordpipe/trainer/report/chart.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace recordpipe {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<ChartPoint> points(const std::vector<double>& values) {
  std::vector<ChartPoint> points;
  for (const double value : values)
    points.push_back({.step = static_cast<double>(points.size() + 1), .value = value});
  return points;
}

TEST(Thinned, LeavesFewPointsAsTheyAre) {
  const std::vector<ChartPoint> few = points({1, 2, 3});
  ASSERT_EQ(thinned(few, 3).size(), 3u);
  EXPECT_EQ(thinned(few, 3)[1].value, 2);
}

TEST(Thinned, TakesTheMeanOfNeighbours) {
  const std::vector<ChartPoint> groups = thinned(points({1, 3, 5, 7, 9}), 3);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].step, 2);
  EXPECT_EQ(groups[0].value, 2);
  EXPECT_EQ(groups[1].value, 6);
  EXPECT_EQ(groups[2].step, 5);  // an incomplete group
  EXPECT_EQ(groups[2].value, 9);
  EXPECT_LE(thinned(std::vector<ChartPoint>(1001), 1000).size(), 1000u);
}

TEST(Thinned, LeavesOutWhatIsNoNumber) {
  const std::vector<ChartPoint> groups = thinned(points({1, kNan, kNan, INFINITY, 1e300, 5}), 3);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].value, 1);
  EXPECT_TRUE(std::isnan(groups[1].value));
  EXPECT_EQ(groups[2].value, 5);
}

Chart chart(std::vector<ChartLine> lines) {
  return {.title = "Loss", .lines = std::move(lines), .first_step = 0, .last_step = 4};
}

TEST(ChartHtml, PlacesPointsInPercentOfItsSides) {
  const std::string html = chart_html(chart({{.points = points({4, 2, 3, 1})}}));
  EXPECT_THAT(html, HasSubstr(R"(d="M25.00 0.00L50.00 50.00L75.00 25.00L100.00 75.00")"));
  EXPECT_THAT(html, Not(HasSubstr("<circle")));
  EXPECT_THAT(html, Not(HasSubstr("class=\"note\"")));
  EXPECT_THAT(html, HasSubstr("aria-label=\"Loss over steps; 4 at step 1, 1 at step 4\""));
}

TEST(ChartHtml, InterruptsALineWhereAValueIsNone) {
  const std::string html = chart_html(chart({{.points = points({4, kNan, 3, 1})}}));
  EXPECT_THAT(html, HasSubstr(R"(d="M25.00 0.00M75.00 25.00L100.00 75.00")"));
  // The point to the left of the gap is on no line, so that it is drawn as a circle.
  EXPECT_THAT(html, HasSubstr(R"(<circle class="line0" cx="25.00%" cy="0.00%")"));
  EXPECT_THAT(html, HasSubstr("1 value is not drawn: not finite."));
  EXPECT_THAT(html, Not(ContainsRegex("[^a-z](nan|inf)[^a-z]")));
}

TEST(ChartHtml, IsAFrameWhereThereIsNothingToDraw) {
  for (const std::vector<ChartLine>& lines :
       {std::vector<ChartLine>{}, std::vector<ChartLine>(1),
        std::vector<ChartLine>{{.name = "train", .points = points({kNan, INFINITY})}}}) {
    const std::string html = chart_html(chart(lines));
    EXPECT_THAT(html, Not(HasSubstr("<path")));
    EXPECT_THAT(html, HasSubstr("aria-label=\"Loss over steps\""));
    EXPECT_THAT(html, Not(ContainsRegex("[^a-z](nan|inf)[^a-z]")));
  }
}

TEST(ChartHtml, MarksTheFewPointsOfALineThatWantsIt) {
  const auto dots = [](size_t count) {
    ChartLine line = {.name = "validation", .points = {}, .marked = true};
    for (size_t i = 0; i < count; ++i)
      line.points.push_back({.step = 4 * double(i) / double(count), .value = 1});
    const std::string html = chart_html(chart({line}));
    size_t found = 0;
    for (size_t at = html.find("<circle"); at != std::string::npos;
         at = html.find("<circle", at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(dots(20), 20u);
  EXPECT_EQ(dots(500), 0u);
}

TEST(ChartHtml, SaysWhatIsUnderThePointer) {
  const std::string html = chart_html(
      chart({{.name = "train", .points = points({4, 2, 3, 1})},
             {.name = "<validation>", .points = {{.step = 4, .value = 2.5}}, .marked = true}}));
  EXPECT_THAT(html, HasSubstr("<title>step 1: train 4\nstep 4: &lt;validation&gt; 2.5</title>"));
  EXPECT_THAT(html, HasSubstr("<title>step 4: train 1\nstep 4: &lt;validation&gt; 2.5</title>"));
}

}  // namespace
}  // namespace recordpipe
