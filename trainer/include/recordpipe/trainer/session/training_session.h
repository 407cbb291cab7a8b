// A training run that can be stopped or killed at any moment and resumed:
// tf.train.MonitoredTrainingSession.
//
//     CheckpointFolder checkpoints(posix_file_system(), "jobs/one");
//     std::vector<std::unique_ptr<SessionHook>> hooks;
//     hooks.push_back(std::make_unique<StopAtStepHook>(StopAtStepOptions{.last_step = 1000}));
//     hooks.push_back(std::make_unique<CheckpointSaverHook>(
//         checkpoints, CheckpointSaverOptions{.every = {.steps = 100}}));
//     TrainingSession session(trainer, checkpoints, {.batches = ..., .learning_rate = ...},
//                             std::move(hooks));
//     session.run();
//
// A resumed run makes the same steps as an uninterrupted one: the same batches with the same
// distortions and, on the CPU with the same number of threads, the same weights, bit for bit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/trainer/checkpoint/checkpoint_folder.h"
#include "recordpipe/trainer/optimizer/learning_rate.h"
#include "recordpipe/trainer/session/session_hook.h"
#include "recordpipe/trainer/training/trainer.h"

namespace recordpipe {

class Communicator;

struct SessionOptions {
  // Returns the batches to train on; they must not end. `data_seed` seeds their order and
  // distortions. It is `seed`, unless the input position of a checkpoint doesn't fit these batches
  // (for example because their size has changed): then they start over, and note() reports it.
  std::function<Dataset<ImageBatch>(uint64_t data_seed)> batches;
  LearningRateSchedule learning_rate;
  uint64_t seed = 7;  // of initial values, order and distortions
  // The options of the run by name: "batch_size", "learning_rate", ... They are saved in
  // checkpoints, so that a resumed run can report changes.
  CheckpointSettings settings = {};
  // How often a step that failed with Error{io} or Error{network}, but not with a DeviceError, is
  // retried, each time from the newest checkpoint. Needs a checkpoint. A failure to restore it
  // counts as one of the step; the count restarts after the step succeeds. With several processes
  // there are no retries: the others are not aware of the failure.
  int recoveries = 3;
  // The processes that train together, with a ReplicatedBackend; null (default): this process
  // alone. All begin with the state of the first one. A stop requested in any process ends run() in
  // all, after the same step. All must have the same options; `batches` returns each process's
  // share.
  Communicator* processes = nullptr;
  // Called with one-line messages for the user: the step from which the run was resumed, damaged
  // checkpoints, changed settings.
  std::function<void(const std::string&)> note = [](const std::string&) {};
};

class TrainingSession {
 public:
  // Calls begin of all hooks; initialises the variables, or restores the newest intact checkpoint
  // and the input position; calls after_create_session of all hooks. `trainer` and `checkpoints`
  // must outlive the session. Throws the errors of CheckpointFolder::restore().
  TrainingSession(Trainer& trainer, CheckpointFolder& checkpoints, SessionOptions options,
                  std::vector<std::unique_ptr<SessionHook>> hooks);
  // The same in a process other than the first, which gets the restored state from the first.
  TrainingSession(Trainer& trainer, SessionOptions options,
                  std::vector<std::unique_ptr<SessionHook>> hooks);

  // Makes steps until a stop is requested, then calls end of all hooks. If the loss of a step, or a
  // gradient that is checked, is not finite, nothing is updated and after_run is called; unless a
  // hook then requests a stop, the trainer's exception is thrown. If the end of one hook throws,
  // those of the others are still called.
  void run();

  // Ends run() after the current step; when called in before_run, that step is still made. If the
  // step fails and is retried (SessionOptions::recoveries), run() ends after it succeeds.
  void request_stop() { stop_requested_ = true; }

  // The number of steps that the variables have been trained for.
  uint64_t step() const { return trainer_.steps_done(); }
  // The step of the restored checkpoint; empty for a new run.
  std::optional<uint64_t> restored_step() const { return restored_step_; }
  // The path of the restored checkpoint; empty for a new run and in processes other than the first.
  const std::string& restored_path() const { return restored_path_; }
  // The validation accuracy in the restored checkpoint; empty if it has none, or for a new run.
  std::optional<double> restored_accuracy() const { return restored_accuracy_; }
  // The accuracy of the current variables on the validation split, 0 to 1, which their checkpoint
  // also records; empty until it is set (by EvalHook).
  std::optional<double> validation_accuracy() const { return validation_accuracy_; }
  void set_validation_accuracy(std::optional<double> accuracy) { validation_accuracy_ = accuracy; }
  Trainer& trainer() { return trainer_; }
  // The state to save in a checkpoint beside the variables; valid between two steps. The bytes are
  // the same however the run reached this step, if it was evaluated or not in both cases.
  TrainingState state() const;
  void note(const std::string& text) const { options_.note(text); }

 private:
  TrainingSession(Trainer& trainer, CheckpointFolder* checkpoints, SessionOptions options,
                  std::vector<std::unique_ptr<SessionHook>> hooks);
  bool is_to_stop();
  void end_hooks();
  bool can_recover(const Error& error) const;
  void restore_after_failure();
  void restore();
  void open_batches();
  void restore_batches(const TrainingState& state);
  void note_changes(const TrainingState& state) const;
  std::string input_state() const;
  void run_step();

  Trainer& trainer_;
  CheckpointFolder* const checkpoints_;  // null except in the first process
  const SessionOptions options_;
  const std::vector<std::unique_ptr<SessionHook>> hooks_;
  uint64_t data_seed_;
  std::optional<Dataset<ImageBatch>> dataset_;
  std::optional<Iterator<ImageBatch>> batches_;
  std::optional<uint64_t> restored_step_;
  std::string restored_path_;
  std::optional<double> restored_accuracy_, validation_accuracy_;
  double last_step_end_ = 0;
  bool stop_requested_ = false;
};

}  // namespace recordpipe
