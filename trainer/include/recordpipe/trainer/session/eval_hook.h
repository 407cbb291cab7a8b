// Evaluates every so often while a session trains, and keeps the best that it has seen.
#pragma once

#include <functional>
#include <optional>

#include "recordpipe/trainer/checkpoint/checkpoint_folder.h"
#include "recordpipe/trainer/session/session_hook.h"
#include "recordpipe/trainer/session/step_timer.h"

namespace recordpipe {

struct EvalOptions {
  // At the multiples of so many steps, wherever the run was resumed; or the first time after so
  // many seconds, not at once.
  Every every = {.steps = 1000};
  bool at_end = true;
  // Of the session's variables on images that are not trained on. What ends by Error{cancelled}
  // requests the session's stop, and counts for nothing. Where it ends by another Error, the
  // session's note says so, and the training goes on.
  std::function<BatchResult()> evaluate = {};
  // Told each result, and whether it is the best so far.
  std::function<void(uint64_t step, const BatchResult& result, bool best)> listener =
      [](uint64_t, const BatchResult&, bool) {};
  Clock now = steady_seconds;
};

// What is more accurate than best.safetensors replaces it, also in a run that was resumed, unless
// its loss is no number.
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
