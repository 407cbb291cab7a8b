// Extends a training session without changing its loop: tf.train.SessionRunHook.
//
//     struct CountImages final : SessionHook {
//       size_t images = 0;
//       void after_run(TrainingSession&, const RunValues& values) override {
//         images += values.result.batch.images;
//       }
//     };
//
// The order of calls is that of MonitoredTrainingSession:
//
//     begin                   of every hook; nothing is restored yet
//     (initial values, or the newest intact checkpoint)
//     after_create_session    of every hook; again whenever a session is restored after a failure
//     before_run              of every hook, before each step
//     after_run               of every hook, after it
//     end                     of every hook, unless an exception has ended the run
//
// Hooks are called in the order in which they were given, by the training thread. An exception from
// a hook ends the run. But after Error{io} or Error{network} in a step, other than a DeviceError,
// the session of a single process restores the newest checkpoint and repeats the steps since then
// (SessionOptions::recoveries). The `end` of every hook is called even if one throws; the first
// exception is thrown afterwards.
#pragma once

#include <cstdint>

#include "recordpipe/image/image_batch.h"
#include "recordpipe/trainer/training/trainer.h"

namespace recordpipe {

class TrainingSession;

// What before_run knows of the step that comes.
struct RunContext {
  uint64_t step = 0;  // the number of steps made before it
  // A batch to train on instead of the pipeline's next one, which is then not consumed. It must
  // live until the last after_run of the step has returned. (tf.train.FeedFnHook)
  const ImageBatch* feed = nullptr;
};

// A step that was made, or one that was not finite.
struct RunValues {
  const StepResult& result;
  const ImageBatch& batch;        // the batch of the step; valid during the call
  double seconds = 0;             // since the end of the previous step, including hooks
  double input_wait_seconds = 0;  // the part spent waiting for the batch
  // Set if the loss, or a gradient that is checked, is not finite. Then the step has updated
  // nothing, session.step() is less than result.step, and the loss here is NaN.
  const NotFiniteError* not_finite = nullptr;
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
