#include "recordpipe/trainer/session/logging_hook.h"

#include <utility>

#include <fmt/format.h>

#include "recordpipe/error.h"
#include "recordpipe/trainer/session/training_session.h"

namespace recordpipe {

LoggingHook::LoggingHook(LoggingOptions options)
    : options_(std::move(options)), since_last_("LoggingHook", {.steps = 1}, options_.now) {
  if (options_.every) timer_.emplace("LoggingHook", *options_.every, options_.now);
  if (!options_.every && !options_.at_end)
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "LoggingHook needs a number of steps or seconds, or at_end"});
}

void LoggingHook::after_create_session(TrainingSession&) {
  since_last_.reset();
  if (timer_) timer_->reset();
}

void LoggingHook::after_run(TrainingSession&, const RunValues& values) {
  const bool due = timer_ && timer_->is_due(values.result.step);
  if (due || options_.at_end) make_line(values);
  if (!due) return;
  timer_->update(values.result.step);
  tell(values.result.step);
}

void LoggingHook::end(TrainingSession& session) {
  if (options_.at_end && !line_.empty()) tell(session.step());
}

void LoggingHook::make_line(const RunValues& values) {
  line_.clear();
  for (const LoggedValue& value : options_.values)
    line_ += (line_.empty() ? "" : ", ") + value.name + " = " + value.text(values);
}

void LoggingHook::tell(uint64_t step) {
  const auto elapsed = since_last_.update(step);
  options_.sink(elapsed ? fmt::format("{} ({:.3f} sec)", line_, elapsed->seconds) : line_);
}

}  // namespace recordpipe
