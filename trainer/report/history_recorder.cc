#include "recordpipe/trainer/report/history_recorder.h"

#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/io/atomic_file.h"
#include "recordpipe/trainer/report/history_lines.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 30;  // about seven million points

std::span<const std::byte> text_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

RunHistory read_history(FileSystem& file_system, const std::string& path, uint64_t last_step) {
  const auto status = file_system.status(path);
  if (!status) return {};
  if (status->kind != FileKind::regular)
    throw Error({.kind = ErrorKind::unsupported, .path = path, .reason = "not a regular file"});
  const std::vector<std::byte> bytes = read_all(*file_system.open_source(path), kMaxBytes);
  return parse_history({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, last_step);
}

void write_history(FileSystem& file_system, const std::string& path, const RunHistory& history) {
  std::string text;
  for (const TrainingPoint& point : history.training) text += history_line(point);
  for (const EvaluationPoint& point : history.validation) text += history_line(point);
  AtomicFile file(file_system, path);
  file.write(text_bytes(text));
  file.commit();
}

}  // namespace

HistoryRecorder::HistoryRecorder(FileSystem& file_system, std::string path,
                                 const HistoryRecorderOptions& options)
    : file_system_(file_system), path_(std::move(path)), options_(options) {
  if (options.window == 0)
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "a point of a report's curves must have at least one step"});
}

void HistoryRecorder::start(uint64_t step) {
  window_ = {};
  if (path_.empty()) {
    std::erase_if(history_.training, [&](const auto& point) { return point.step > step; });
    std::erase_if(history_.validation, [&](const auto& point) { return point.step > step; });
    return;
  }
  file_.reset();
  history_ = read_history(file_system_, path_, step);
  write_history(file_system_, path_, history_);
  file_ = file_system_.create(path_, CreateMode::append);
}

void HistoryRecorder::add(const StepResult& result, double seconds, double input_wait_seconds) {
  const bool is_finite = std::isfinite(result.batch.loss);
  if (!is_finite) finish();
  window_.step = result.step;
  ++window_.steps;
  window_.images += result.batch.images;
  window_.correct += result.batch.correct;
  window_.loss += result.batch.loss;
  window_.learning_rate = result.learning_rate;
  window_.seconds += seconds;
  window_.input_wait_seconds += input_wait_seconds;
  if (!is_finite || result.step % options_.window == 0) finish();
}

void HistoryRecorder::add_validation(uint64_t step, const BatchResult& result) {
  const EvaluationPoint point = {
      .step = step,
      .loss = result.loss,
      .accuracy = static_cast<double>(result.correct) / static_cast<double>(result.images)};
  history_.validation.push_back(point);
  keep(history_line(point));
}

void HistoryRecorder::finish() {
  if (window_.steps == 0) return;
  TrainingPoint point = std::exchange(window_, {});
  point.loss /= static_cast<double>(point.steps);
  history_.training.push_back(point);
  keep(history_line(point));
}

void HistoryRecorder::keep(const std::string& line) {
  if (file_) file_->write(text_bytes(line));
}

}  // namespace recordpipe
