// A training run that can be stopped and killed at any moment and goes on where it was:
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
// A run that is resumed makes the same steps as one that was never stopped: the same batches with
// the same distortions, and on the CPU with the same number of threads the same weights, bit for
// bit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/dataset.h"
#include "recordpipe/trainer/checkpoint/checkpoint_folder.h"
#include "recordpipe/trainer/optimizer/learning_rate.h"
#include "recordpipe/trainer/session/session_hook.h"
#include "recordpipe/trainer/training/trainer.h"

namespace recordpipe {

class Communicator;

struct SessionOptions {
  // The batches to train on; must not end. `data_seed` is to be the seed of their order and
  // distortions: `seed`, unless a checkpoint's place in the data is not one of these batches (their
  // size has changed, say): then they start anew, and note() says so.
  std::function<Dataset<ImageBatch>(uint64_t data_seed)> batches;
  LearningRateSchedule learning_rate;
  uint64_t seed = 7;  // of initial values, order and distortions
  // What the run was told, by name: "batch_size", "learning_rate", ... Saved in checkpoints, so
  // that a resumed run can say what has changed.
  CheckpointSettings settings = {};
  // How often a step that failed by Error{io} or Error{network} is tried again, from the newest
  // checkpoint, before the run gets beyond it; it needs a checkpoint. Several processes don't: the
  // others know nothing of the failure.
  int recoveries = 3;
  // Who makes the steps of this session together, with a DistributedBackend; null: this process
  // alone. All begin where the first one does, and a stop that is requested in any of them ends
  // run() in all, after the same step. They must have the same options, and `batches` of which each
  // process takes its share.
  Communicator* processes = nullptr;
  // Told, a line at a time, what a session did that its user should know: from where it was
  // resumed, which checkpoints were damaged, which settings have changed.
  std::function<void(const std::string&)> note = [](const std::string&) {};
};

class TrainingSession {
 public:
  // Calls begin of all hooks; initialises the variables, or restores the newest whole checkpoint
  // and the place in the data; calls after_create_session of all hooks. `trainer` and `checkpoints`
  // must outlive it. Throws what CheckpointFolder::restore throws.
  TrainingSession(Trainer& trainer, CheckpointFolder& checkpoints, SessionOptions options,
                  std::vector<std::unique_ptr<SessionHook>> hooks);
  // The same in a process other than the first: that one says what it has restored.
  TrainingSession(Trainer& trainer, SessionOptions options,
                  std::vector<std::unique_ptr<SessionHook>> hooks);

  // Steps until a stop is requested, then end of all hooks. Where a step's loss is not finite,
  // after_run sees it (nothing is updated); unless a hook requests a stop, what the trainer threw
  // is thrown then. Where a hook's end throws, the other ends are called all the same.
  void run();

  // Ends run() after the step that is being made; of before_run, that step is still made. Where it
  // fails and is tried again (SessionOptions::recoveries), run() ends once it was made.
  void request_stop() { stop_requested_ = true; }
  bool stop_requested() const { return stop_requested_; }

  // How many steps the variables have behind them.
  uint64_t step() const { return trainer_.steps_done(); }
  // The checkpoint's that it was restored from; nothing for a run that began anew.
  std::optional<uint64_t> restored_step() const { return restored_step_; }
  // Likewise; empty, also in a process other than the first.
  const std::string& restored_path() const { return restored_path_; }
  Trainer& trainer() { return trainer_; }
  // What a checkpoint keeps beside the variables; valid between two steps. The same bytes however
  // the run came to this step.
  TrainingState state() const;
  void note(const std::string& text) const { options_.note(text); }

 private:
  TrainingSession(Trainer& trainer, CheckpointFolder* checkpoints, SessionOptions options,
                  std::vector<std::unique_ptr<SessionHook>> hooks);
  bool is_to_stop();
  void end_hooks();
  bool can_recover(const Error& error) const;
  void restore();
  void open_batches();
  void restore_batches(const TrainingState& state);
  void note_changes(const TrainingState& state) const;
  std::string input_state() const;
  void run_step();

  Trainer& trainer_;
  CheckpointFolder* const checkpoints_;  // the first process's only
  const SessionOptions options_;
  const std::vector<std::unique_ptr<SessionHook>> hooks_;
  uint64_t data_seed_;
  std::optional<Dataset<ImageBatch>> dataset_;
  std::optional<Iterator<ImageBatch>> batches_;
  std::optional<uint64_t> restored_step_;
  std::string restored_path_;
  double last_step_end_ = 0;
  bool stop_requested_ = false;
};

}  // namespace recordpipe
