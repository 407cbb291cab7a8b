// Reports the training speed: the tutorials' ExamplesPerSecondHook.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "recordpipe/trainer/session/session_hook.h"
#include "recordpipe/trainer/session/step_timer.h"

namespace recordpipe {

struct ExamplesPerSecondOptions {
  Every every = {.steps = 100};
  // Called with "Average examples/sec: 1024.5 (1031.2), step = 300": over all steps of this run,
  // and since the last line.
  std::function<void(const std::string&)> sink = [](const std::string&) {};
  Clock now = steady_seconds;
};

class ExamplesPerSecondHook final : public SessionHook {
 public:
  explicit ExamplesPerSecondHook(ExamplesPerSecondOptions options);

  void after_create_session(TrainingSession& session) override;
  void after_run(TrainingSession& session, const RunValues& values) override;

 private:
  const ExamplesPerSecondOptions options_;
  StepTimer timer_;
  double total_seconds_ = 0;
  size_t total_examples_ = 0, recent_examples_ = 0;
};

}  // namespace recordpipe
