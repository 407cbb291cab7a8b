// Where the time of a step goes: tf.train.ProfilerHook.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "recordpipe/chrome_trace.h"
#include "recordpipe/file.h"
#include "recordpipe/trainer/session/session_hook.h"
#include "recordpipe/trainer/session/step_timer.h"

namespace recordpipe {

struct ProfilerOptions {
  Every every = {.steps = 1000};
  Clock now = steady_seconds;
};

// Writes FOLDER/timeline-STEP.json, to look at in https://ui.perfetto.dev or chrome://tracing: the
// wait for the batch; loading it, forward, backward, update; and each node in forward and backward,
// of backends that can tell. The first step of a session, which is no step like others, is passed
// over. A file that can't be written is noted, and the training goes on. What a killed run has left
// half-written is removed at the start.
class ProfilerHook final : public SessionHook {
 public:
  // The folder is made when it is needed. `file_system` must outlive the hook.
  ProfilerHook(FileSystem& file_system, std::string folder, ProfilerOptions options = {});

  void after_create_session(TrainingSession& session) override;
  void before_run(TrainingSession& session, RunContext& context) override;
  void after_run(TrainingSession& session, const RunValues& values) override;

 private:
  FileSystem& file_system_;
  const std::string folder_;
  StepTimer timer_;
  std::shared_ptr<ChromeTrace> trace_;  // of the step that is being made, if it was due
  ChromeTrace::Time begin_ = {};        // of that step
};

}  // namespace recordpipe
