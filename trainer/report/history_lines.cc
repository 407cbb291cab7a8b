#include "recordpipe/trainer/report/history_lines.h"

#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

namespace recordpipe {
namespace {

using Json = nlohmann::ordered_json;

std::optional<uint64_t> count_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<uint64_t>();
}

std::optional<double> number_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::nullopt;
  if (found->is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::optional<TrainingPoint> training_point(const Json& line) {
  const auto step = count_in(line, "step"), steps = count_in(line, "steps"),
             images = count_in(line, "images"), correct = count_in(line, "correct");
  const auto loss = number_in(line, "loss"), learning_rate = number_in(line, "learning_rate"),
             seconds = number_in(line, "seconds"), wait = number_in(line, "input_wait_seconds");
  if (!step || !steps || !images || !correct || !loss || !learning_rate || !seconds || !wait ||
      *steps > *step)
    return std::nullopt;
  return TrainingPoint{.step = *step,
                       .steps = *steps,
                       .images = *images,
                       .correct = *correct,
                       .loss = *loss,
                       .learning_rate = *learning_rate,
                       .seconds = *seconds,
                       .input_wait_seconds = *wait};
}

std::optional<EvaluationPoint> evaluation_point(const Json& object) {
  if (!object.is_object()) return std::nullopt;
  const auto step = count_in(object, "step");
  const auto loss = number_in(object, "loss"), accuracy = number_in(object, "accuracy");
  if (!step || !loss || !accuracy) return std::nullopt;
  return EvaluationPoint{.step = *step, .loss = *loss, .accuracy = *accuracy};
}

template <class Point>
void append(std::vector<Point>& points, const std::optional<Point>& point, uint64_t last_step) {
  if (point && point->step <= last_step && (points.empty() || point->step > points.back().step))
    points.push_back(*point);
}

}  // namespace

std::string history_line(const TrainingPoint& point) {
  return Json{{"step", point.step},       {"steps", point.steps},
              {"images", point.images},   {"correct", point.correct},
              {"loss", point.loss},       {"learning_rate", point.learning_rate},
              {"seconds", point.seconds}, {"input_wait_seconds", point.input_wait_seconds}}
             .dump() +
         "\n";
}

std::string history_line(const EvaluationPoint& point) {
  const Json values = {{"step", point.step}, {"loss", point.loss}, {"accuracy", point.accuracy}};
  return Json{{"validation", values}}.dump() + "\n";
}

RunHistory parse_history(std::string_view text, uint64_t last_step) {
  RunHistory history;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // truncated
    const Json line = Json::parse(text.substr(0, end), nullptr, false);
    text.remove_prefix(end + 1);
    if (!line.is_object()) continue;
    const auto validation = line.find("validation");
    if (validation != line.end())
      append(history.validation, evaluation_point(*validation), last_step);
    else
      append(history.training, training_point(line), last_step);
  }
  return history;
}

}  // namespace recordpipe
