#include "recordpipe/trainer/report/chart.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "recordpipe/trainer/report/axis.h"
#include "tools/support/html/escape_html.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxDots = 100;   // per marked line
constexpr size_t kMaxBands = 150;  // each has a tooltip

bool drawable(const ChartPoint& point) { return recordpipe::plottable(point.value); }

// A chart with its axes. Values become percentages of the drawing's width and height.
struct Drawing {
  const Chart& chart;
  std::vector<std::vector<ChartPoint>> lines;  // thinned
  Axis steps, values;

  double x(double step) const { return 100 * steps.place(step); }
  double y(double value) const { return 100 * (1 - values.place(value)); }
};

Drawing layout(const Chart& chart) {
  Drawing drawing = {.chart = chart, .lines = {}, .steps = {}, .values = {}};
  double least = 0, greatest = 0;
  for (const ChartLine& line : chart.lines) {
    drawing.lines.push_back(thinned(line.points));
    for (const ChartPoint& point : drawing.lines.back()) {
      if (!drawable(point)) continue;
      least = std::min(least, point.value);
      greatest = std::max(greatest, point.value);
    }
  }
  drawing.steps = step_axis(chart.first_step, chart.last_step);
  drawing.values = value_axis(least, greatest);
  return drawing;
}

std::string with_unit(const Drawing& drawing, double value) {
  const std::string& unit = drawing.chart.unit;
  return short_text(value) + (unit.empty() || unit == "%" ? unit : " " + unit);
}

std::string line_prefix(const ChartLine& line, std::string_view separator) {
  return line.name.empty() ? "" : line.name + std::string(separator);
}

std::string grid(const Drawing& drawing) {
  std::string svg = "<g class=\"grid\">";
  for (const double tick : drawing.values.ticks)
    svg += fmt::format(R"(<line x1="0" x2="100%" y1="{0:.2f}%" y2="{0:.2f}%"/>)"
                       R"(<text class="value" x="-8" y="{0:.2f}%" dy="0.32em">{1}</text>)",
                       drawing.y(tick), short_text(tick));
  for (const double tick : drawing.steps.ticks)
    svg += fmt::format(R"(<line x1="{0:.2f}%" x2="{0:.2f}%" y1="100%" y2="102%"/>)"
                       R"(<text class="step" x="{0:.2f}%" y="100%" dy="1.7em">{1:.0f}</text>)",
                       drawing.x(tick), tick);
  return svg + "</g>";
}

// The lines are in a separate drawing that is stretched; their strokes are not.
std::string paths(const Drawing& drawing) {
  std::string svg =
      R"(<svg width="100%" height="100%" viewBox="0 0 100 100" preserveAspectRatio="none">)";
  for (size_t i = 0; i < drawing.lines.size(); ++i) {
    std::string path;
    bool is_drawing = false;
    for (const ChartPoint& point : drawing.lines[i]) {
      if (drawable(point))
        path += fmt::format("{}{:.2f} {:.2f}", is_drawing ? "L" : "M", drawing.x(point.step),
                            drawing.y(point.value));
      is_drawing = drawable(point);
    }
    if (!path.empty()) svg += fmt::format(R"(<path class="line{}" d="{}"/>)", i, path);
  }
  return svg + "</svg>";
}

// For lines drawn with dots, and for points without neighbours, which are not part of a line.
std::string dots(const Drawing& drawing) {
  std::string svg;
  for (size_t i = 0; i < drawing.lines.size(); ++i) {
    const std::vector<ChartPoint>& points = drawing.lines[i];
    const bool marked = drawing.chart.lines[i].marked && points.size() <= kMaxDots;
    for (size_t at = 0; at < points.size(); ++at) {
      const bool has_neighbour = (at > 0 && drawable(points[at - 1])) ||
                                 (at + 1 < points.size() && drawable(points[at + 1]));
      if (drawable(points[at]) && (marked || !has_neighbour))
        svg += fmt::format(R"(<circle class="line{}" cx="{:.2f}%" cy="{:.2f}%" r="3"/>)", i,
                           drawing.x(points[at].step), drawing.y(points[at].value));
    }
  }
  return svg;
}

// The values of the lines nearest to `step`, one line of text each.
std::string values_at(const Drawing& drawing, double step) {
  std::string text;
  for (size_t i = 0; i < drawing.lines.size(); ++i) {
    const ChartPoint* nearest = nullptr;
    for (const ChartPoint& point : drawing.lines[i])
      if (drawable(point) &&
          (!nearest || std::abs(point.step - step) < std::abs(nearest->step - step)))
        nearest = &point;
    if (nearest)
      text +=
          fmt::format("{}step {:.0f}: {}{}", text.empty() ? "" : "\n", nearest->step,
                      line_prefix(drawing.chart.lines[i], " "), with_unit(drawing, nearest->value));
  }
  return text;
}

// Vertical bands, visible only under the pointer.
std::string bands(const Drawing& drawing) {
  std::vector<double> steps;
  for (const std::vector<ChartPoint>& points : drawing.lines)
    for (const ChartPoint& point : points)
      if (drawable(point)) steps.push_back(point.step);
  std::ranges::sort(steps);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  const size_t stride = steps.size() / kMaxBands + 1;

  std::string svg = "<g class=\"bands\">";
  double from = 0;
  for (size_t at = 0; at < steps.size(); at += stride) {
    const double to =
        at + stride < steps.size() ? drawing.x((steps[at] + steps[at + stride]) / 2) : 100;
    svg +=
        fmt::format(R"(<rect x="{:.2f}%" width="{:.2f}%" height="100%"><title>{}</title></rect>)",
                    from, to - from, escape_html(values_at(drawing, steps[at])));
    from = to;
  }
  return svg + "</g>";
}

// Shows the last value of each line.
std::string legend(const Drawing& drawing) {
  std::string html = "<ul class=\"legend\">";
  for (size_t i = 0; i < drawing.lines.size(); ++i) {
    const auto& points = drawing.lines[i];
    const auto last = std::find_if(points.rbegin(), points.rend(),
                                   [](const ChartPoint& point) { return drawable(point); });
    if (last == points.rend()) continue;
    const std::string& name = drawing.chart.lines[i].name;
    html += fmt::format(R"(<li class="line{}">{} <b>{}</b></li>)", i,
                        escape_html(name.empty() ? "last" : name),
                        escape_html(with_unit(drawing, last->value)));
  }
  return html + "</ul>";
}

std::string description(const Drawing& drawing) {
  std::string text = drawing.chart.title + " over steps";
  for (size_t i = 0; i < drawing.lines.size(); ++i) {
    const auto& points = drawing.lines[i];
    const auto is_plottable = [](const ChartPoint& point) { return drawable(point); };
    const auto first = std::ranges::find_if(points, is_plottable);
    const auto last = std::find_if(points.rbegin(), points.rend(), is_plottable);
    if (last == points.rend()) continue;
    text += fmt::format("; {}{} at step {:.0f}, {} at step {:.0f}",
                        line_prefix(drawing.chart.lines[i], ": "), with_unit(drawing, first->value),
                        first->step, with_unit(drawing, last->value), last->step);
  }
  return text;
}

std::string note(const Chart& chart) {
  size_t left_out = 0, most = 0;
  for (const ChartLine& line : chart.lines) {
    left_out += static_cast<size_t>(
        std::ranges::count_if(line.points, [](const auto& point) { return !drawable(point); }));
    most = std::max(most, line.points.size());
  }
  std::string text;
  if (most > kMaxChartPoints)
    text += fmt::format("Each drawn point is the mean of {} neighbouring points. ",
                        (most + kMaxChartPoints - 1) / kMaxChartPoints);
  if (left_out > 0)
    text +=
        fmt::format("{} value{} not drawn: not finite.", left_out, left_out == 1 ? " is" : "s are");
  return text.empty() ? "" : "<p class=\"note\">" + text + "</p>";
}

}  // namespace

std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, size_t most) {
  if (points.size() <= most) return points;
  const size_t group_size = (points.size() + most - 1) / most;
  std::vector<ChartPoint> groups;
  for (size_t begin = 0; begin < points.size(); begin += group_size) {
    const size_t end = std::min(begin + group_size, points.size());
    double sum = 0;
    size_t count = 0;
    for (size_t at = begin; at < end; ++at)
      if (drawable(points[at])) {
        sum += points[at].value;
        ++count;
      }
    const double mean =
        count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
    groups.push_back({.step = points[end - 1].step, .value = mean});
  }
  return groups;
}

std::string chart_html(const Chart& chart) {
  const Drawing drawing = layout(chart);
  const std::string unit =
      chart.unit.empty() ? "" : " <span>" + escape_html(chart.unit) + "</span>";
  return fmt::format(
      "<figure class=\"chart\">\n<figcaption><h3>{}{}</h3>{}</figcaption>\n"
      "<svg class=\"plot\" role=\"img\" aria-label=\"{}\">{}{}{}{}</svg>\n{}</figure>\n",
      escape_html(chart.title), unit, legend(drawing), escape_html(description(drawing)),
      grid(drawing), paths(drawing), dots(drawing), bands(drawing), note(chart));
}

}  // namespace recordpipe
