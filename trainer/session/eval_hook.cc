#include "recordpipe/trainer/session/eval_hook.h"

#include <cmath>
#include <string>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/session/training_session.h"

namespace recordpipe {

EvalHook::EvalHook(CheckpointFolder& checkpoints, EvalOptions options)
    : checkpoints_(checkpoints),
      options_(std::move(options)),
      timer_("EvalHook", options_.every, options_.now) {}

void EvalHook::after_create_session(TrainingSession& session) {
  best_ = checkpoints_.best_accuracy();
  timer_.reset();
  timer_.update(session.step());
  evaluated_step_ = session.step();
  if (session.step() == 0 || session.validation_accuracy()) return;
  // The checkpoint's step was not evaluated, or not to the end.
  evaluated_step_.reset();
  if (options_.every.steps > 0 && is_due(session.step())) evaluate(session);
}

void EvalHook::after_run(TrainingSession& session, const RunValues& values) {
  if (session.step() != values.result.step || !is_due(values.result.step)) return;
  timer_.update(values.result.step);
  evaluate(session);
}

bool EvalHook::is_due(uint64_t step) const {
  return options_.every.steps > 0 ? step % options_.every.steps == 0 : timer_.is_due(step);
}

void EvalHook::end(TrainingSession& session) {
  if (options_.at_end && evaluated_step_ != session.step()) evaluate(session);
}

void EvalHook::evaluate(TrainingSession& session) {
  evaluated_step_ = session.step();
  BatchResult result;
  try {
    result = options_.evaluate();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::cancelled)
      session.request_stop();
    else
      session.note(std::string("not evaluated: ") + error.what());
    return;
  }
  const double accuracy =
      result.images == 0 ? 0
                         : static_cast<double>(result.correct) / static_cast<double>(result.images);
  bool best = std::isfinite(result.loss) && (!best_ || accuracy > *best_);
  session.set_validation_accuracy(accuracy);
  if (best) {
    try {
      checkpoints_.save_best(session.trainer().variables(), session.state());
      best_ = accuracy;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::busy) throw;  // another run has taken the folder
      session.note(std::string("the best checkpoint was not saved: ") + error.what());
      best = false;
    }
  }
  options_.listener(session.step(), result, best);
}

}  // namespace recordpipe
