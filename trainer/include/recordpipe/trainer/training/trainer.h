// One step of training after the other.
//
// A step is what TF-slim's create_train_op makes: the loss, checked; the gradients, multiplied and
// clipped where asked for, and checked; the update operations (batch norm's moving statistics); the
// update. slim runs the update operations with the forward pass, before it looks at the loss, so
// that a loss that is no number leaves statistics that are none, and a checkpoint keeps them. Here
// they come after all checks: a step that throws has changed no value, momentum, statistic or
// average, and what is saved then is as the step before left it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/error.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/trainer/backend/backend.h"
#include "recordpipe/trainer/optimizer/learning_rate.h"

namespace recordpipe {

struct TrainerOptions {
  size_t batch_size = 128;
  double momentum = 0.9;
  double weight_decay = 2e-4;

  // What to train, by name: a variable ("conv1/weights"), or a layer or block ("conv1",
  // "stage1/block0") for all its variables. The others stay as they are, without decay; batch
  // norm's statistics move all the same. Empty: everything.
  std::vector<std::string> variables_to_train = {};

  // The gradients below are those of the whole loss, weight decay's penalty included, as TF-slim's.
  // They are multiplied, then clipped each by itself, then all together (see GradientOptions).
  std::map<std::string, double> gradient_multipliers = {};  // by a variable's whole name
  std::optional<double> clip_gradient_norm = {};            // above 0
  std::optional<double> clip_global_norm = {};              // above 0
  // Each gradient must be finite, not the loss only. Costs a pass over the gradients; where they
  // are multiplied or clipped, or their norm is asked for, they are checked anyway.
  bool check_numerics = false;
  // StepResult::gradient_norm is wanted. It is there too where gradients are processed or checked.
  bool gradient_norm = false;

  // Slot::average follows each trained variable: average = d · average + (1 - d) · value after each
  // update, d = min(average_decay, (1 + t) / (10 + t)), t being how many steps have been made, that
  // one included (TensorFlow's ExponentialMovingAverage with num_updates). In [0, 1). To evaluate
  // with them: copy_averages() (variables.h).
  std::optional<double> average_decay = {};
};

struct StepResult {
  uint64_t step = 0;  // how many steps have been made, this one included
  double learning_rate = 0;
  BatchResult batch = {};  // before the step's update
  // Of all gradients together, multiplied, before any clipping, weight decay's penalty included;
  // where TrainerOptions asks for it.
  std::optional<double> gradient_norm = {};
};

// A loss or a gradient that isn't finite. The reason names the layer that first gave such a number,
// or the variable whose gradient it is. Its kind is invalid_argument.
class NotFiniteError final : public Error {
 public:
  using Error::Error;
};

class Trainer {
 public:
  // `backend` and `variables` must outlive it. Starts averages where they are asked for and there
  // are none. Throws Error{invalid_argument} for a name that is no trained variable's and for
  // numbers that make no sense.
  Trainer(Backend& backend, const Network& network, Variables& variables,
          const TrainerOptions& options);

  // How many steps the variables have behind them: 0, or a checkpoint's.
  uint64_t steps_done() const { return steps_done_; }
  // The variables were set to those of a run of so many steps. Averages among them that this
  // trainer doesn't keep are dropped: they would fall behind, and an evaluation would take them.
  void set_steps_done(uint64_t steps);

  Variables& variables() { return variables_; }

  // Forward, backward, update. Throws NotFiniteError where the loss is no number any more (or a
  // gradient, see TrainerOptions::check_numerics); all is then as it was after the step before, but
  // for the gradients.
  StepResult step(const ImageBatch& batch, const LearningRateSchedule& learning_rate);

  // What it trains, and with what; for looking inside.
  const Variables& variables() const { return variables_; }
  const Runner& runner() const { return *runner_; }
  // From now on a step puts down in `trace` when it loaded the batch, went forward, went backward
  // and updated (category "step"), and what each node did; null: no more.
  void trace_to(std::shared_ptr<ChromeTrace> trace);

  // The loss that a step minimises: the batch's plus the weight decay's penalty, that of variables
  // which aren't trained included.
  double total_loss(const BatchResult& batch) const {
    return batch.loss + options_.weight_decay * variables_.half_squared_norm();
  }

 private:
  bool processes_gradients() const;
  double process_gradients(uint64_t step);
  [[noreturn]] void fail_for_loss(uint64_t step) const;

  const TrainerOptions options_;
  Variables& variables_;
  const std::vector<VariableId> frozen_;
  const std::vector<double> multipliers_;
  std::vector<std::string> layers_;  // the nodes' names
  std::unique_ptr<Runner> runner_;
  std::shared_ptr<ChromeTrace> trace_;
  uint64_t steps_done_ = 0;
};

}  // namespace recordpipe
