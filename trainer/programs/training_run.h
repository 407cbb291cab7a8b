// A training run of the programs: a session with their common hooks, in a job folder.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/pipeline/dataset.h"
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
  // The schedule of a run with this last step.
  std::function<LearningRateSchedule(uint64_t last_step)> schedule;
  bool schedule_has_end = false;  // the schedule depends on last_step, which is then saved too
  uint64_t last_step = 0;
  // Above 0: replaces last_step by the number of steps that fit in this time. Evaluations and
  // checkpoints come on top.
  double minutes = 0;
  NanPolicy nan = NanPolicy::fail;
  // The program ends this long after a signal, even if it isn't done; 0: no limit.
  uint64_t stop_grace_seconds = 0;
  bool synthetic = false;  // synthetic data: mentioned with every figure
  LogWords words = LogWords::resnet;
  uint64_t log_frequency = 100;

  // The steps between evaluations on images that are not trained on; 0: none.
  uint64_t validation_steps = 0;
  std::function<Dataset<ImageBatch>()> validation_batches = {};
  size_t eval_batch_size = 100;
  TestTimeAugmentation augmentation = TestTimeAugmentation::none;  // of the final evaluation

  uint64_t summary_steps = 100;  // between summaries in an event file; 0: none
  uint64_t profile_steps = 0;    // between timelines; 0: none
  std::string report = {};       // the path of an HTML report; empty: none
  std::string report_title = {};
};

class TrainingRun {
 public:
  // All arguments but the options must outlive it. The first process uses the job folder; it saves,
  // logs and evaluates for all. All processes must have the same options, except for their shares
  // of the batches. Throws Error if the report can't be written.
  TrainingRun(Backend& backend, const Network& network, Communicator& processes,
              TrainingRunOptions options);

  // Trains to the last step. Returns the signal that interrupted any of the processes, or 0.
  int train();

  // The following members but step() are for the first process only.

  // Uses the averages of the variables, if they exist. Throws Error{cancelled} after a signal.
  Evaluation evaluate(const Dataset<ImageBatch>& batches);

  // Writes the report, if requested, of the run so far, with an evaluation if there was one.
  void write_report(std::optional<FinalEvaluation> evaluation);
  // The same after a signal, without an evaluation; a failure is only logged. If no step was made,
  // keeps the report of the run before, which may have an evaluation.
  void write_interrupted_report();

  // What continues the run after a signal: "run it again", with --minutes "run it with
  // --train-steps N" (it would measure its time again, and so end at another step).
  std::string how_to_continue() const;

  uint64_t step() const { return trainer_.steps_done(); }
  // The path of the newest checkpoint, or empty.
  const std::string& checkpoint() const { return checkpoint_; }

 private:
  bool is_first() const { return processes_.rank() == 0; }
  uint64_t measure_last_step();
  void note_superfluous_checkpoints(TrainingLog& log) const;
  CheckpointSettings settings_to(uint64_t last_step) const;
  std::vector<std::unique_ptr<SessionHook>> make_hooks(uint64_t last_step, TrainingLog& log,
                                                       EventWriter& events);

  Backend& backend_;
  const Network& network_;
  Communicator& processes_;
  const TrainingRunOptions options_;
  std::optional<CheckpointFolder> checkpoints_;  // in the first process only
  const std::unique_ptr<Variables> variables_;
  Trainer trainer_;
  HistoryRecorder history_;  // for the report
  std::string checkpoint_;
  uint64_t first_step_ = 0, last_step_ = 0;  // of this run; set by train()
};

}  // namespace recordpipe
