// Steps per second, for TensorBoard: tf.train.StepCounterHook.
#pragma once

#include "recordpipe/trainer/session/session_hook.h"
#include "recordpipe/trainer/session/step_timer.h"
#include "recordpipe/trainer/summary/event_writer.h"

namespace recordpipe {

struct StepCounterOptions {
  Every every = {.steps = 100};
  Clock now = steady_seconds;
};

// The scalar global_step/sec: the speed since the last one; the first step alone has none. Time
// between steps, for evaluations and checkpoints, is included.
class StepCounterHook final : public SessionHook {
 public:
  // `events` must outlive the hook.
  explicit StepCounterHook(EventWriter& events, const StepCounterOptions& options = {});

  void after_create_session(TrainingSession& session) override;
  void after_run(TrainingSession& session, const RunValues& values) override;

 private:
  EventWriter& events_;
  StepTimer timer_;
};

}  // namespace recordpipe
