// Evaluates at intervals during a session, and keeps the best checkpoint.
#pragma once

#include <functional>
#include <optional>

#include "recordpipe/trainer/checkpoint/checkpoint_folder.h"
#include "recordpipe/trainer/session/session_hook.h"
#include "recordpipe/trainer/session/step_timer.h"

namespace recordpipe {

struct EvalOptions {
  // In steps: at the multiples of this number, also in a resumed run, which begins with the
  // evaluation of its checkpoint's step if that is due and the checkpoint records no accuracy (for
  // example because the evaluation was interrupted). In seconds: the first time after this
  // interval, not at once.
  Every every = {.steps = 1000};
  bool at_end = true;
  // Evaluates the session's variables on images that are not trained on. If it throws
  // Error{cancelled}, the result is ignored and the session is asked to stop. After any other Error
  // the training continues; the session's note reports it.
  std::function<BatchResult()> evaluate = {};
  // Called with each result, and whether it has become best.safetensors.
  std::function<void(uint64_t step, const BatchResult& result, bool best)> listener =
      [](uint64_t, const BatchResult&, bool) {};
  Clock now = steady_seconds;
};

// A result more accurate than best.safetensors replaces that file, also in a resumed run, unless
// its loss is not finite. If it can't be saved, the session's note reports it, and the next result
// needn't exceed it. Add the hook before the CheckpointSaverHook: then the checkpoint of an
// evaluated step has the accuracy, and no later run evaluates the step again.
class EvalHook final : public SessionHook {
 public:
  // `checkpoints` must outlive it.
  EvalHook(CheckpointFolder& checkpoints, EvalOptions options);

  void after_create_session(TrainingSession& session) override;
  void after_run(TrainingSession& session, const RunValues& values) override;
  void end(TrainingSession& session) override;

 private:
  bool is_due(uint64_t step) const;
  void evaluate(TrainingSession& session);

  CheckpointFolder& checkpoints_;
  const EvalOptions options_;
  StepTimer timer_;
  std::optional<double> best_;
  std::optional<uint64_t> evaluated_step_;
};

}  // namespace recordpipe
