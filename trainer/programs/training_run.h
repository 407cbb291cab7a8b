// A training as the programs run it: a session with the hooks that they all have, in a job folder.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/dataset.h"
#include "recordpipe/trainer/backend/backend.h"
#include "recordpipe/trainer/backend/replicated/communicator.h"
#include "recordpipe/trainer/checkpoint/checkpoint_folder.h"
#include "recordpipe/trainer/optimizer/learning_rate.h"
#include "recordpipe/trainer/report/history_recorder.h"
#include "recordpipe/trainer/report/run_report.h"
#include "recordpipe/trainer/session/nan_hook.h"
#include "recordpipe/trainer/session/session_hook.h"
#include "recordpipe/trainer/summary/event_writer.h"
#include "recordpipe/trainer/training/evaluate.h"
#include "recordpipe/trainer/training/trainer.h"
#include "trainer/programs/training_log.h"

namespace recordpipe {

struct TrainingRunOptions {
  std::string job_dir;
  size_t keep_checkpoints = 5;
  uint64_t checkpoint_steps = 1000;
  TrainerOptions trainer = {};
  uint64_t seed = 7;
  CheckpointSettings settings = {};
  std::function<Dataset<ImageBatch>(uint64_t data_seed)> batches;
  // The schedule of a run of so many steps.
  std::function<LearningRateSchedule(uint64_t last_step)> schedule;
  bool schedule_has_end = false;  // it depends on last_step, which is a setting then
  uint64_t last_step = 0;
  double minutes = 0;  // more than 0: as many steps as fit in, in place of last_step
  NanPolicy nan = NanPolicy::fail;
  bool synthetic = false;  // the data are: every figure says so
  LogWords words = LogWords::resnet;
  uint64_t log_frequency = 100;

  // Every so many steps an evaluation on images that are not trained on; 0: none.
  uint64_t validation_steps = 0;
  std::function<Dataset<ImageBatch>()> validation_batches = {};
  size_t eval_batch_size = 100;

  uint64_t summary_steps = 100;  // from summary to summary in an event file; 0: none
  uint64_t profile_steps = 0;    // from timeline to timeline; 0: none
  std::string report = {};       // the file of an HTML report; empty: none
  std::string report_title = {};
};

class TrainingRun {
 public:
  // All but the options must outlive it. The first of the processes takes the job folder, and
  // saves, logs and evaluates for all; they all must have the same options, but for their share of
  // the batches. Throws Error where the report can't be written.
  TrainingRun(Backend& backend, const Network& network, Communicator& processes,
              TrainingRunOptions options);

  // Trains to the last step. Returns the signal that interrupted it in any of the processes, or 0.
  int train();

  // The rest is for the first process.

  // With the averages of the variables, where there are some. Throws Error{cancelled} once a signal
  // has come.
  Evaluation evaluate(const Dataset<ImageBatch>& batches);

  // The report, where one was asked for; of the run so far, and an evaluation, if there was one.
  void write_report(std::optional<FinalEvaluation> evaluation);

  uint64_t step() const { return trainer_.steps_done(); }
  // The newest, or empty.
  const std::string& checkpoint() const { return checkpoint_; }

 private:
  bool is_first() const { return processes_.rank() == 0; }
  uint64_t measure_last_step();
  CheckpointSettings settings_to(uint64_t last_step) const;
  std::vector<std::unique_ptr<SessionHook>> make_hooks(uint64_t last_step, TrainingLog& log,
                                                       EventWriter& events);

  Backend& backend_;
  const Network& network_;
  Communicator& processes_;
  const TrainingRunOptions options_;
  std::optional<CheckpointFolder> checkpoints_;  // the first process's
  const std::unique_ptr<Variables> variables_;
  Trainer trainer_;
  HistoryRecorder history_;  // for the report
  std::string checkpoint_;
};

}  // namespace recordpipe
