#include "recordpipe/trainer/session/training_session.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/trainer/backend/replicated/communicator.h"
#include "recordpipe/trainer/session/share_restored.h"
#include "recordpipe/trainer/session/step_timer.h"

namespace recordpipe {

TrainingSession::TrainingSession(Trainer& trainer, CheckpointFolder& checkpoints,
                                 SessionOptions options,
                                 std::vector<std::unique_ptr<SessionHook>> hooks)
    : TrainingSession(trainer, &checkpoints, std::move(options), std::move(hooks)) {}

TrainingSession::TrainingSession(Trainer& trainer, SessionOptions options,
                                 std::vector<std::unique_ptr<SessionHook>> hooks)
    : TrainingSession(trainer, nullptr, std::move(options), std::move(hooks)) {}

TrainingSession::TrainingSession(Trainer& trainer, CheckpointFolder* checkpoints,
                                 SessionOptions options,
                                 std::vector<std::unique_ptr<SessionHook>> hooks)
    : trainer_(trainer),
      checkpoints_(checkpoints),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      data_seed_(options_.seed) {
  for (const auto& hook : hooks_) hook->begin();
  restore();
  for (const auto& hook : hooks_) hook->after_create_session(*this);
}

void TrainingSession::run() {
  last_step_end_ = steady_seconds();
  int failures = 0;
  uint64_t furthest = step();
  // A stop requested in a step that fails takes effect when the step has been repeated.
  uint64_t stop_at = std::numeric_limits<uint64_t>::max();
  bool restored = true;  // false from a failure until the checkpoint is restored
  while (!is_to_stop()) {
    const uint64_t next = step() + 1;
    try {
      if (restored) {
        run_step();
        // Repeated steps don't reset the count: a step that always fails may be far from the
        // checkpoint.
        if (step() > furthest) {
          furthest = step();
          failures = 0;
        }
      } else {
        restore_after_failure();
        restored = true;
      }
    } catch (const Error& error) {
      if (!can_recover(error) || ++failures > options_.recoveries) throw;
      note((restored ? "step " + std::to_string(next) : std::string("restoring the checkpoint")) +
           " failed: " + error.what());
      // A stop requested in a restore that fails takes effect when one succeeds: end() of the hooks
      // must not see variables that are restored in part.
      if (std::exchange(stop_requested_, false)) stop_at = std::min(stop_at, restored ? next : 0);
      restored = false;
    }
    if (restored && step() >= stop_at) stop_requested_ = true;
  }
  end_hooks();
}

// Calls all of them even if one throws: the last one may be the one that saves the variables.
void TrainingSession::end_hooks() {
  std::exception_ptr first;
  for (const auto& hook : hooks_) {
    try {
      hook->end(*this);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

// A stop requested in one process stops all.
bool TrainingSession::is_to_stop() {
  if (options_.processes) stop_requested_ = any(*options_.processes, stop_requested_);
  return stop_requested_;
}

bool TrainingSession::can_recover(const Error& error) const {
  const bool may_pass = (error.kind() == ErrorKind::io || error.kind() == ErrorKind::network) &&
                        !dynamic_cast<const DeviceError*>(&error);
  const bool alone = !options_.processes || options_.processes->size() == 1;
  return may_pass && alone && checkpoints_ && checkpoints_->has_checkpoint();
}

void TrainingSession::run_step() {
  RunContext context = {.step = step()};
  for (const auto& hook : hooks_) hook->before_run(*this, context);
  const double asked = steady_seconds();
  const ImageBatch* batch = context.feed ? context.feed : batches_->next();
  const double waited = steady_seconds() - asked;
  if (!batch)
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "the training batches have ended",
                 .hint = "use repeat() without a count"});

  StepResult result;
  std::optional<NotFiniteError> not_finite;
  try {
    result = trainer_.step(*batch, options_.learning_rate);
    validation_accuracy_.reset();
  } catch (const NotFiniteError& error) {
    not_finite = error;
    result = {.step = step() + 1,
              .learning_rate = options_.learning_rate(step()),
              .batch = {.loss = std::numeric_limits<double>::quiet_NaN(), .images = batch->size()}};
  }
  const double now = steady_seconds();
  const RunValues values = {.result = result,
                            .batch = *batch,
                            .seconds = now - last_step_end_,
                            .input_wait_seconds = waited,
                            .not_finite = not_finite ? &*not_finite : nullptr};
  last_step_end_ = now;
  for (const auto& hook : hooks_) hook->after_run(*this, values);
  if (not_finite && !stop_requested_) throw *not_finite;
}

void TrainingSession::restore_after_failure() {
  restore();
  if (!restored_step_)
    throw Error({.kind = ErrorKind::not_found,
                 .path = checkpoints_->directory(),
                 .reason = "the checkpoints are gone",
                 .hint = "run it again to begin with the first step"});
  for (const auto& hook : hooks_) hook->after_create_session(*this);
}

// Restores the newest intact checkpoint, or the initial state.
void TrainingSession::restore() {
  initialize(trainer_.variables(), options_.seed);
  std::optional<RestoredCheckpoint> restored;
  if (checkpoints_) restored = checkpoints_->restore(trainer_.variables());
  if (options_.processes) share_restored(*options_.processes, trainer_.variables(), restored);
  restored_step_ = restored ? std::optional(restored->state.step) : std::nullopt;
  restored_path_ = restored ? restored->path : "";
  restored_accuracy_ = restored ? restored->state.validation_accuracy : std::nullopt;
  validation_accuracy_ = restored_accuracy_;
  if (!restored) {
    trainer_.set_steps_done(0);
    data_seed_ = options_.seed;
    open_batches();
    return;
  }
  for (const Error& damaged : restored->damaged) note(std::string("skipped: ") + damaged.what());
  note("resumed from " + printable(restored_path_) + " at step " +
       std::to_string(restored->state.step));
  note_changes(restored->state);
  trainer_.set_steps_done(restored->state.step);
  restore_batches(restored->state);
}

void TrainingSession::open_batches() {
  batches_.reset();
  dataset_ = options_.batches(data_seed_);
  batches_ = dataset_->iterate();
}

void TrainingSession::restore_batches(const TrainingState& state) {
  std::string reason;
  if (state.input_state.empty()) {
    reason = "the checkpoint has no input position";
  } else if (state.seed != options_.seed) {
    reason = "the seed has changed";
  } else {
    data_seed_ = state.data_seed;
    open_batches();
    try {
      batches_->restore(state.input_state);
      return;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::invalid_argument) throw;
      reason = (error.path().empty() ? "" : printable(error.path()) + ": ") + error.reason();
    }
  }
  // The new order and distortions must differ from the order and the distortions of the steps
  // before.
  data_seed_ = derive_key(options_.seed, state.step);
  open_batches();
  note("the input starts over, in a new order: " + reason);
}

void TrainingSession::note_changes(const TrainingState& state) const {
  for (const auto& [name, now] : options_.settings) {
    const auto before = state.settings.find(name);
    if (before != state.settings.end() && before->second != now)
      note(name + " was " + printable(before->second) + " and is now " + now);
  }
}

// The bytes must depend on the position only, not on how the run came there. But an iterator's
// state also includes values that depend on how far its threads have read ahead and on where it
// started. A new iterator restored to this position keeps only the position and the files that it
// opened on the way; a second one restored from that state opens no others.
std::string TrainingSession::input_state() const {
  const auto at = [this](const std::string& state) {
    Iterator<ImageBatch> there = dataset_->iterate();
    there.restore(state);
    return there.state();
  };
  return at(at(batches_->state()));
}

TrainingState TrainingSession::state() const {
  return {.step = step(),
          .seed = options_.seed,
          .data_seed = data_seed_,
          .input_state = input_state(),
          .plan_hash = dataset_->plan_hash(),
          .settings = options_.settings,
          .validation_accuracy = validation_accuracy_};
}

}  // namespace recordpipe
