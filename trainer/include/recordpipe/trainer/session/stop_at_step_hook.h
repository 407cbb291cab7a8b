// Ends a run at a step: tf.train.StopAtStepHook.
#pragma once

#include <cstdint>
#include <optional>

#include "recordpipe/trainer/session/session_hook.h"

namespace recordpipe {

// Exactly one must be set.
struct StopAtStepOptions {
  std::optional<uint64_t> last_step = {};  // in total, including earlier runs
  std::optional<uint64_t> num_steps = {};  // of this run
};

class StopAtStepHook final : public SessionHook {
 public:
  // Throws Error{invalid_argument} unless exactly one is given.
  explicit StopAtStepHook(const StopAtStepOptions& options);

  // A run that has already reached the step makes no further step. (TensorFlow makes one.)
  void after_create_session(TrainingSession& session) override;
  void after_run(TrainingSession& session, const RunValues& values) override;

 private:
  const StopAtStepOptions options_;
  std::optional<uint64_t> last_step_;
};

}  // namespace recordpipe
