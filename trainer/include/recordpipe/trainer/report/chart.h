// A chart of lines over training steps: HTML with an inline SVG, which needs nothing else but the
// report's style.
//
// Text keeps its size however wide the chart is shown. What a line has at a step is said where the
// pointer rests (the SVG's own titles: no script).
#pragma once

#include <string>
#include <vector>

namespace recordpipe {

struct ChartPoint {
  double step = 0;
  double value = 0;
};

struct ChartLine {
  std::string name = {};                // may be empty where there is no other line
  std::vector<ChartPoint> points = {};  // by ascending step
  bool marked = false;                  // each point gets a dot
};

struct Chart {
  std::string title = {};
  std::string unit = {};              // behind the title and behind numbers: "%"
  std::vector<ChartLine> lines = {};  // two at most have colours of their own
  double first_step = 0;
  double last_step = 0;
};

constexpr size_t kMostChartPoints = 1000;  // that are drawn of a line

// Of more than `most` points groups of neighbours become one: the mean of their values, at the step
// of the group's last. Points that can't be drawn count for nothing; a group of nothing else stays
// one that can't be drawn.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points,
                                size_t most = kMostChartPoints);

// A <figure>. Where a value is no number, or infinite, the line is interrupted, and a note says how
// many there were.
std::string chart_html(const Chart& chart);

}  // namespace recordpipe
