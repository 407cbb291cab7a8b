// Logs lines of named values: tf.train.LoggingTensorHook.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/trainer/session/session_hook.h"
#include "recordpipe/trainer/session/step_timer.h"

namespace recordpipe {

struct LoggedValue {
  std::string name;
  // Returns the value as text; called when a line is due.
  std::function<std::string(const RunValues&)> text;
};

struct LoggingOptions {
  std::vector<LoggedValue> values = {};
  // Empty: at the end only.
  std::optional<Every> every = Every{.steps = 100};
  bool at_end = false;
  // Called with "learning_rate = 0.1, loss = 2.3026 (0.123 sec)"; the seconds since the last line.
  std::function<void(const std::string&)> sink = [](const std::string&) {};
  Clock now = steady_seconds;
};

class LoggingHook final : public SessionHook {
 public:
  // Throws Error{invalid_argument} if no line would ever be due.
  explicit LoggingHook(LoggingOptions options);

  void after_create_session(TrainingSession& session) override;
  void after_run(TrainingSession& session, const RunValues& values) override;
  void end(TrainingSession& session) override;

 private:
  void make_line(const RunValues& values);
  void tell(uint64_t step);

  const LoggingOptions options_;
  std::optional<StepTimer> timer_;
  StepTimer since_last_;  // for the seconds
  std::string line_;      // of the last step, if it may be needed at the end
};

}  // namespace recordpipe
