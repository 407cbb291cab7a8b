// Writes summaries for TensorBoard at intervals: tf.train.SummarySaverHook, with the values that
// the tutorials summarise.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "recordpipe/trainer/model/network.h"
#include "recordpipe/trainer/session/session_hook.h"
#include "recordpipe/trainer/session/step_timer.h"
#include "recordpipe/trainer/summary/event_writer.h"

namespace recordpipe {

// The following scalars are always written: loss (of the batch), loss (avg) (its moving average
// with a decay of 0.9, starting with the first step), total_loss (with the penalty of weight
// decay), learning_rate and accuracy (of the batch).
struct SummarySaverOptions {
  Every every = {.steps = 100};
  // Histograms of all variables after the step, under their names.
  bool variables = true;
  // Histograms of the gradients of trained variables: NAME/gradients.
  bool gradients = true;
  // The fraction of zeros in the output of each layer with ReLU: NODE/sparsity.
  bool activations = true;
  // The number of images of the batch to write, distorted as in training: input/image/0, ...
  size_t images = 3;
  Clock now = steady_seconds;
};

// Writes a SessionLog START for the step after the first one of the session, so that TensorBoard
// drops steps that were made before a crash and are made again; and a STOP at the end.
//
// The training thread copies the values; the EventWriter's thread encodes and writes them. If an
// event can't be written, the session's note reports it and the training continues.
class SummarySaverHook final : public SessionHook {
 public:
  // `network` is the trained network. `events` must outlive the hook.
  SummarySaverHook(EventWriter& events, const Network& network, SummarySaverOptions options = {});

  void after_create_session(TrainingSession& session) override;
  void after_run(TrainingSession& session, const RunValues& values) override;
  void end(TrainingSession& session) override;

 private:
  std::vector<SummaryValue> summarize(const Trainer& trainer, const RunValues& values) const;

  EventWriter& events_;
  const Network network_;
  const SummarySaverOptions options_;
  StepTimer timer_;
  std::optional<double> average_loss_;
};

}  // namespace recordpipe
