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
  // Called after each saved checkpoint. What one throws ends the run; but after an error that may
  // pass (SessionOptions::recoveries) the session goes on from this checkpoint, for which no
  // listener is called again.
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
// newest, and the next one is tried when it is due. Exceptions are thrown only at the end (any
// Error, unless the step is already saved and only its accuracy is new), at the start (any but
// Error{no_space} and Error{io}), if another run has taken the folder (Error{busy}), and as set by
// CheckpointSaverOptions::nan.
class CheckpointSaverHook final : public SessionHook {
 public:
  // `checkpoints` must outlive it.
  CheckpointSaverHook(CheckpointFolder& checkpoints, CheckpointSaverOptions options);

  void after_create_session(TrainingSession& session) override;
  void after_run(TrainingSession& session, const RunValues& values) override;
  void end(TrainingSession& session) override;

 private:
  // Returns the path of the new checkpoint; "" if there is nothing new to save.
  std::string save(TrainingSession& session);
  bool go_back(TrainingSession& session, const std::string& why);
  // is_outlived(error, is_saved): whether the run continues after an error. is_saved: a checkpoint
  // of the step is there, which lacks only the validation accuracy.
  void try_to_save(TrainingSession& session,
                   const std::function<bool(const Error&, bool is_saved)>& is_outlived);

  CheckpointFolder& checkpoints_;
  const CheckpointSaverOptions options_;
  StepTimer timer_;
  std::optional<uint64_t> saved_step_;
  std::optional<double> saved_accuracy_;
};

}  // namespace recordpipe
