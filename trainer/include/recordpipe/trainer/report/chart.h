// A chart of lines over training steps: HTML with an inline SVG. It depends only on the report's
// style.
//
// The text size doesn't depend on the width of the chart. A line's value at a step appears as a
// tooltip (an SVG title; no script).
#pragma once

#include <string>
#include <vector>

namespace recordpipe {

struct ChartPoint {
  double step = 0;
  double value = 0;
};

struct ChartLine {
  std::string name = {};                // may be empty for a single line
  std::vector<ChartPoint> points = {};  // in ascending order of step
  bool marked = false;                  // draws a dot at each point
};

struct Chart {
  std::string title = {};
  std::string unit = {};              // shown after the title and after numbers: "%"
  std::vector<ChartLine> lines = {};  // at most two have their own colours
  double first_step = 0;
  double last_step = 0;
};

constexpr size_t kMaxChartPoints = 1000;  // the maximum drawn per line

// Reduces more than `most` points to groups of neighbours. The value of a group is the mean of its
// values, its step that of its last point. Points that can't be drawn are ignored; a group with no
// others stays one that can't be drawn.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points,
                                size_t most = kMaxChartPoints);

// A <figure>. At values that are NaN or infinite the line is interrupted; a note gives their
// number.
std::string chart_html(const Chart& chart);

}  // namespace recordpipe
