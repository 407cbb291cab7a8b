// What TensorBoard shows of a training, every so often: tf.train.SummarySaverHook, with the values
// that the tutorials summarise.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "recordpipe/trainer/model/network.h"
#include "recordpipe/trainer/session/session_hook.h"
#include "recordpipe/trainer/session/step_timer.h"
#include "recordpipe/trainer/summary/event_writer.h"

namespace recordpipe {

// Besides these, always: the scalars loss (of the step's batch), loss (avg) (its moving average,
// 0.9 of what it was and 0.1 of the new one at each step, beginning with the first), total_loss
// (with the weight decay's penalty), learning_rate and accuracy (of the batch).
struct SummarySaverOptions {
  Every every = {.steps = 100};
  // Histograms of all variables, as they are after the step, under their names.
  bool variables = true;
  // Histograms of the trained ones' gradients: NAME/gradients.
  bool gradients = true;
  // The fraction of zeros in what each layer gives that cuts negative values off: NODE/sparsity.
  bool activations = true;
  // So many of the batch's images, distorted as they were trained on: input/image/0, ...
  size_t images = 3;
  Clock now = steady_seconds;
};

// Writes a SessionLog START for the step after the one a session begins at, so that TensorBoard
// forgets steps that were made before a crash and are made again; and a STOP at the end.
//
// Values are copied by the thread that trains, and encoded and written by the EventWriter's. What
// can't be written is noted, and the training goes on.
class SummarySaverHook final : public SessionHook {
 public:
  // `network` is the one that is trained. `events` must outlive the hook.
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
