#include "recordpipe/trainer/report/report.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "recordpipe/io/atomic_file.h"
#include "recordpipe/trainer/report/axis.h"
#include "recordpipe/trainer/report/chart.h"
#include "recordpipe/trainer/report/evaluation_section.h"
#include "recordpipe/trainer/report/report_style.h"
#include "tools/support/html/escape_html.h"

namespace recordpipe {
namespace {

std::string head(const RunReport& report) {
  return fmt::format(R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{0}</title>
<style>{1}</style>
</head>
<body>
<header>
<h1>{0}</h1>
)",
                     escape_html(report.title), kReportStyle);
}

std::string notes(const RunReport& report) {
  std::string html;
  for (const std::string& note : report.notes)
    html += "<p class=\"alert\">" + escape_html(note) + "</p>\n";
  return html + "</header>\n";
}

std::string facts(const RunReport& report) {
  if (report.facts.empty()) return "";
  std::string html = "<section>\n<h2>Run</h2>\n<dl class=\"facts\">\n";
  for (const RunFact& fact : report.facts)
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_html(fact.name),
                        escape_html(fact.value));
  return html + "</dl>\n</section>\n";
}

// A chart line of one value of each training point.
template <class Value>
ChartLine training_line(const RunHistory& history, const Value& value) {
  ChartLine line;
  for (const TrainingPoint& point : history.training)
    line.points.push_back({.step = static_cast<double>(point.step), .value = value(point)});
  return line;
}

template <class Value>
ChartLine validation_line(const RunHistory& history, const Value& value) {
  ChartLine line = {.name = "validation", .marked = true};
  for (const EvaluationPoint& point : history.validation)
    line.points.push_back({.step = static_cast<double>(point.step), .value = value(point)});
  return line;
}

double percentage(double part, double whole) { return 100 * part / whole; }

std::vector<Chart> charts_of(const RunHistory& history) {
  Chart loss = {.title = "Loss",
                .lines = {training_line(history, [](const auto& point) { return point.loss; })}};
  Chart accuracy = {
      .title = "Accuracy", .unit = "%", .lines = {training_line(history, [](const auto& point) {
                                          return percentage(static_cast<double>(point.correct),
                                                            static_cast<double>(point.images));
                                        })}};
  if (!history.validation.empty()) {
    loss.lines.front().name = accuracy.lines.front().name = "train";
    loss.lines.push_back(
        validation_line(history, [](const EvaluationPoint& point) { return point.loss; }));
    accuracy.lines.push_back(validation_line(
        history, [](const EvaluationPoint& point) { return 100 * point.accuracy; }));
  }
  return {
      loss,
      accuracy,
      {.title = "Learning rate",
       .lines = {training_line(history, [](const auto& point) { return point.learning_rate; })}},
      {.title = "Speed",
       .unit = "images/s",
       .lines = {training_line(
           history,
           [](const auto& point) { return static_cast<double>(point.images) / point.seconds; })}},
      {.title = "Time spent waiting for input",
       .unit = "%",
       .lines = {training_line(history, [](const auto& point) {
         return percentage(point.input_wait_seconds, point.seconds);
       })}}};
}

// "4:02:10"
std::string duration_text(double seconds) {
  if (!plottable(seconds)) return "–";
  const auto whole = static_cast<uint64_t>(std::max(0.0, seconds));
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

// "1 step", "20 steps"
std::string steps_text(uint64_t steps) {
  return fmt::format("{} step{}", steps, steps == 1 ? "" : "s");
}

std::string summary(const RunHistory& history, uint64_t first_step) {
  std::string text =
      first_step > 0 ? fmt::format("From step {} on; earlier steps are not recorded. ", first_step)
                     : "";
  if (history.training.empty()) return text;
  double seconds = 0, waited = 0;
  uint64_t steps = 0, images = 0, window = 0;
  for (const TrainingPoint& point : history.training) {
    window = std::max(window, point.steps);
    seconds += point.seconds;
    waited += point.input_wait_seconds;
    steps += point.steps;
    images += point.images;
  }
  text += fmt::format("{} in {}", steps_text(steps), duration_text(seconds));
  if (seconds > 0)
    text +=
        fmt::format(": {} images/s, {:.2f}% of the time spent waiting for input",
                    short_text(static_cast<double>(images) / seconds), percentage(waited, seconds));
  text += window > 1 ? fmt::format(". A point is the mean of {} steps.", window) : ".";
  const uint64_t made = history.training.back().step - first_step;
  if (made > steps)
    text += fmt::format(" {} in between are not recorded.", steps_text(made - steps));
  return text;
}

std::string training(const RunHistory& history) {
  if (history.training.empty() && history.validation.empty())
    return "<section>\n<h2>Training</h2>\n<p>No steps were recorded.</p>\n</section>\n";
  uint64_t first_step = history.training.empty()
                            ? history.validation.front().step
                            : history.training.front().step - history.training.front().steps;
  uint64_t last_step = first_step;
  if (!history.training.empty()) last_step = history.training.back().step;
  if (!history.validation.empty()) {
    first_step = std::min(first_step, history.validation.front().step);
    last_step = std::max(last_step, history.validation.back().step);
  }
  std::string html = "<section>\n<h2>Training</h2>\n<p>" + summary(history, first_step) +
                     "</p>\n<div class=\"charts\">\n";
  for (Chart& chart : charts_of(history)) {
    chart.first_step = static_cast<double>(first_step);
    chart.last_step = static_cast<double>(last_step);
    html += chart_html(chart);
  }
  return html + "</div>\n</section>\n";
}

}  // namespace

std::string report_html(const RunReport& report) {
  std::string html =
      head(report) + notes(report) + "<main>\n" + facts(report) + training(report.history);
  if (report.final_evaluation)
    html += evaluation_html(*report.final_evaluation, report.class_names);
  return html + "</main>\n</body>\n</html>\n";
}

void write_report(FileSystem& file_system, const std::string& path, const RunReport& report) {
  const std::string html = report_html(report);
  AtomicFile file(file_system, path);
  file.write(std::as_bytes(std::span(html)));
  file.commit();
}

}  // namespace recordpipe
