// Saves checkpoints during a session: tf.train.CheckpointSaverHook.
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
  // Called after each saved checkpoint.
  std::vector<std::function<void(const std::string& path, uint64_t step)>> listeners = {};
  // If a variable is not finite, `fail` throws VariableNotFiniteError; `stop` ends the run like
  // request_stop(), with the variables and step of the newest checkpoint.
  NanPolicy nan = NanPolicy::fail;
  Clock now = steady_seconds;
};

// Saves right after the start, unless the step was just restored; whenever it is due; and at the
// end. A step is saved again if its validation accuracy has become known since.
//
// If a checkpoint can't be written, because the disk is full or the folder is read-only, the run
// continues: the hook reports it through the session's note, the previous checkpoint stays the
// newest, and the next one is tried when it is due. Exceptions are thrown only for the last
// checkpoint (any Error), for the first (any but Error{no_space} and Error{io}), if another run has
// taken the folder (Error{busy}), and as set by CheckpointSaverOptions::nan. If the step is
// already saved and only its accuracy is new, only the last two are thrown.
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
  std::optional<double> saved_accuracy_;
};

}  // namespace recordpipe
