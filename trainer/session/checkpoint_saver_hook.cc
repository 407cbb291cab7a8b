#include "recordpipe/trainer/session/checkpoint_saver_hook.h"

#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/session/training_session.h"

namespace recordpipe {
namespace {

bool may_pass(const Error& error) {
  return error.kind() != ErrorKind::busy &&
         dynamic_cast<const VariableNotFiniteError*>(&error) == nullptr;
}

}  // namespace

CheckpointSaverHook::CheckpointSaverHook(CheckpointFolder& checkpoints,
                                         CheckpointSaverOptions options)
    : checkpoints_(checkpoints),
      options_(std::move(options)),
      timer_("CheckpointSaverHook", options_.every, options_.now) {}

void CheckpointSaverHook::after_create_session(TrainingSession& session) {
  saved_step_ = session.restored_step();
  saved_accuracy_ = session.restored_accuracy();
  // A permanent error must be reported now, not after a day of training.
  try_to_save(session, [](const Error& error, bool) {
    return error.kind() == ErrorKind::no_space || error.kind() == ErrorKind::io;
  });
}

void CheckpointSaverHook::after_run(TrainingSession& session, const RunValues& values) {
  // A failed step has nothing to save: the session has been restored to an earlier step.
  if (session.step() == values.result.step && timer_.is_due(values.result.step))
    try_to_save(session, [](const Error& error, bool) { return may_pass(error); });
}

void CheckpointSaverHook::end(TrainingSession& session) {
  try_to_save(session,
              [](const Error& error, bool is_saved) { return is_saved && may_pass(error); });
}

std::string CheckpointSaverHook::save(TrainingSession& session) {
  if (saved_step_ == session.step() && saved_accuracy_ == session.validation_accuracy()) return "";
  std::string path;
  try {
    path = checkpoints_.save(session.trainer().variables(), session.state());
  } catch (const VariableNotFiniteError& error) {
    if (options_.nan == NanPolicy::fail || !go_back(session, error.what())) throw;
    return "";
  }
  saved_step_ = session.step();
  saved_accuracy_ = session.validation_accuracy();
  return path;
}

// No step follows, so the input position and the variables of other processes don't matter.
bool CheckpointSaverHook::go_back(TrainingSession& session, const std::string& why) {
  const auto restored = checkpoints_.restore(session.trainer().variables());
  if (!restored) return false;
  session.trainer().set_steps_done(restored->state.step);
  session.set_validation_accuracy(restored->state.validation_accuracy);
  saved_step_ = session.step();
  saved_accuracy_ = session.validation_accuracy();
  session.note(why + "; training stops with the weights of " + printable(restored->path));
  session.request_stop();
  return true;
}

void CheckpointSaverHook::try_to_save(
    TrainingSession& session, const std::function<bool(const Error&, bool is_saved)>& is_outlived) {
  timer_.update(session.step());
  const std::string step = std::to_string(session.step());
  std::string path;
  try {
    path = save(session);
  } catch (const Error& error) {
    const bool is_saved = checkpoints_.has(session.step());
    if (!is_outlived(error, is_saved)) throw;
    session.note((is_saved ? "the checkpoint of step " + step + " has no validation accuracy: "
                           : "no checkpoint at step " + step + ": ") +
                 error.what());
    return;
  }
  if (path.empty()) return;
  for (const auto& listener : options_.listeners) listener(path, session.step());
}

}  // namespace recordpipe
