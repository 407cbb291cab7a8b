// Saves checkpoints while a session trains: tf.train.CheckpointSaverHook.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/trainer/checkpoint/checkpoint_folder.h"
#include "recordpipe/trainer/session/nan_hook.h"
#include "recordpipe/trainer/session/session_hook.h"
#include "recordpipe/trainer/session/step_timer.h"

namespace recordpipe {

struct CheckpointSaverOptions {
  Every every = {.steps = 1000};
  // Called after each that was saved.
  std::vector<std::function<void(const std::string& path, uint64_t step)>> listeners = {};
  // Where a variable isn't finite any more: `fail` throws VariableNotFiniteError; `stop` ends the
  // run as if it had been asked to, with the newest checkpoint's variables and step.
  NanPolicy nan = NanPolicy::fail;
  Clock now = steady_seconds;
};

// Right after the start, unless the step was just restored; when it is due; and at the end.
//
// A run outlives a checkpoint that can't be written, on a full disk or in a folder that may no more
// be written: the session's note says so, the checkpoint before stays the newest, and the next one
// is tried when it is due. Thrown are the Error of the last one, at the end; of the first one, at
// the start, any but Error{no_space} and Error{io}; and what CheckpointSaverOptions::nan says.
class CheckpointSaverHook final : public SessionHook {
 public:
  // `checkpoints` must outlive it.
  CheckpointSaverHook(CheckpointFolder& checkpoints, CheckpointSaverOptions options);

  void after_create_session(TrainingSession& session) override;
  void after_run(TrainingSession& session, const RunValues& values) override;
  void end(TrainingSession& session) override;

 private:
  void save(TrainingSession& session);
  bool go_back(TrainingSession& session, const std::string& why);
  void try_to_save(TrainingSession& session, const std::function<bool(const Error&)>& is_outlived);

  CheckpointFolder& checkpoints_;
  const CheckpointSaverOptions options_;
  StepTimer timer_;
  std::optional<uint64_t> saved_step_;
};

}  // namespace recordpipe
