// Writes timelines of single steps: tf.train.ProfilerHook.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/chrome_trace.h"
#include "recordpipe/trainer/session/session_hook.h"
#include "recordpipe/trainer/session/step_timer.h"

namespace recordpipe {

struct ProfilerOptions {
  Every every = {.steps = 1000};
  Clock now = steady_seconds;
};

// Whether a file of this name is a timeline, timeline-STEP.json.
bool is_timeline_name(std::string_view name);

// Writes FOLDER/timeline-STEP.json for https://ui.perfetto.dev or chrome://tracing. It shows the
// wait for the batch, load, forward, backward and update, and each node in forward and backward if
// the backend can measure nodes. The first step of a session is skipped, because it is not typical.
// If a file can't be written, the session's note reports it and the training continues. Incomplete
// files of killed runs are removed at the start.
class ProfilerHook final : public SessionHook {
 public:
  // The folder is made when it is first needed. `file_system` must outlive the hook.
  ProfilerHook(FileSystem& file_system, std::string folder, ProfilerOptions options = {});

  void after_create_session(TrainingSession& session) override;
  void before_run(TrainingSession& session, RunContext& context) override;
  void after_run(TrainingSession& session, const RunValues& values) override;

 private:
  FileSystem& file_system_;
  const std::string folder_;
  StepTimer timer_;
  std::shared_ptr<ChromeTrace> trace_;  // of the current step, if it is due
  ChromeTrace::Time begin_ = {};        // of that step
};

}  // namespace recordpipe
