// Steps per second, for a log or for TensorBoard: tf.train.StepCounterHook.
#pragma once

#include <functional>
#include <string>

#include "recordpipe/trainer/session/session_hook.h"
#include "recordpipe/trainer/session/step_timer.h"
#include "recordpipe/trainer/summary/event_writer.h"

namespace recordpipe {

struct StepCounterOptions {
  Every every = {.steps = 100};
  // Called with "global_step/sec: 12.5".
  std::function<void(const std::string&)> sink = [](const std::string&) {};
  // Receives the scalar global_step/sec; null: none. Must outlive the hook.
  EventWriter* events = nullptr;
  Clock now = steady_seconds;
};

// The speed since the last report; the first step alone is not reported. Time between steps, for
// evaluations and checkpoints, is included.
class StepCounterHook final : public SessionHook {
 public:
  explicit StepCounterHook(StepCounterOptions options);

  void after_create_session(TrainingSession& session) override;
  void after_run(TrainingSession& session, const RunValues& values) override;

 private:
  const StepCounterOptions options_;
  StepTimer timer_;
};

}  // namespace recordpipe
