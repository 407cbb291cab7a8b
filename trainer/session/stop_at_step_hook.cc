#include "recordpipe/trainer/session/stop_at_step_hook.h"

#include <algorithm>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/session/training_session.h"

namespace recordpipe {

StopAtStepHook::StopAtStepHook(const StopAtStepOptions& options)
    : options_(options), last_step_(options.last_step) {
  if (options.last_step.has_value() == options.num_steps.has_value())
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "StopAtStepHook needs either the last step or a number of steps"});
}

void StopAtStepHook::after_create_session(TrainingSession& session) {
  // Only once: a session restored after a failure continues to the same step.
  if (!last_step_)
    last_step_ = session.step() + std::min(*options_.num_steps, UINT64_MAX - session.step());
  if (session.step() >= *last_step_) session.request_stop();
}

void StopAtStepHook::after_run(TrainingSession& session, const RunValues&) {
  // If the last step failed, it must not end the run.
  if (session.step() >= *last_step_) session.request_stop();
}

}  // namespace recordpipe
