// What a program adds to a training session without touching its loop: tf.train.SessionRunHook.
//
//     struct CountImages final : SessionHook {
//       size_t images = 0;
//       void after_run(TrainingSession&, const RunValues& values) override {
//         images += values.result.batch.images;
//       }
//     };
//
// The order of calls, as MonitoredTrainingSession's:
//
//     begin                   of every hook; nothing is restored yet
//     (initial values, or the newest whole checkpoint)
//     after_create_session    of every hook; again whenever a session is restored after a failure
//     before_run, (step), after_run    of every hook, once a step
//     end                     of every hook, where no exception has ended the run before
//
// Hooks are called in the order they were given, by the thread that trains. What a hook throws ends
// the run; of the hooks' ends all are called, and then the first that was thrown is thrown.
#pragma once

#include <cstdint>

#include "recordpipe/image/image_batch.h"
#include "recordpipe/trainer/training/trainer.h"

namespace recordpipe {

class TrainingSession;

// A step that is about to be made.
struct RunContext {
  uint64_t step = 0;  // how many have been made
  // A batch to train on in place of the pipeline's, which then stays where it is. It must live
  // until the step's last after_run has returned. (tf.train.FeedFnHook)
  const ImageBatch* feed = nullptr;
};

// A step that was made.
struct RunValues {
  const StepResult& result;
  const ImageBatch& batch;        // that it was trained on; valid during the call
  double seconds = 0;             // since the step before had ended, hooks included
  double input_wait_seconds = 0;  // of these, what it waited for the batch
};

class SessionHook {
 public:
  virtual ~SessionHook() = default;

  virtual void begin() {}
  virtual void after_create_session(TrainingSession&) {}
  virtual void before_run(TrainingSession&, RunContext&) {}
  virtual void after_run(TrainingSession&, const RunValues&) {}
  virtual void end(TrainingSession&) {}
};

}  // namespace recordpipe
