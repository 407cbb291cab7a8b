// Makes single training steps.
//
// A step is that of TF-slim's create_train_op: the loss, checked; the gradients, multiplied and
// clipped if requested, and checked; the update operations (by default, of batch norm's moving
// statistics); the update. slim runs the update operations with the forward pass, before it checks
// the loss: a NaN loss then leaves NaN statistics, also in checkpoints. Here they run after all
// checks: a step that is not finite has changed no value, momentum, statistic or average, and a
// checkpoint saved then holds the state after the previous step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/trainer/backend/backend.h"
#include "recordpipe/trainer/optimizer/learning_rate.h"

namespace recordpipe {

// An operation of a step beside the update: see TrainerOptions::update_ops.
using UpdateOp = std::function<void(Runner&, Variables&)>;
// Updates batch norm's moving statistics.
inline void update_statistics(Runner& runner, Variables&) { runner.update_statistics(); }
// A call, because GCC 12 fails on a list of functions as the initial value of a member.
inline std::vector<UpdateOp> default_update_ops() { return {update_statistics}; }

// Lookahead (Zhang et al. 2019, https://arxiv.org/abs/1907.08610) with a decay that grows during
// the run. After every `every`-th step, Slot::average moves towards the variables, and they
// continue from there: average = d · average + (1 - d) · value, value = average, with d = decay ·
// (steps made / total steps)³. The total is that of Trainer::set_total_steps().
struct LookaheadOptions {
  uint64_t every = 5;
  double decay = 0.774;  // 0.95⁵
};

struct TrainerOptions {
  size_t batch_size = 128;
  double momentum = 0.9;
  bool nesterov = false;  // see MomentumOptions
  double weight_decay = 2e-4;

  // The variables to train, by name: a variable ("conv1/weights"), or a layer or block ("conv1",
  // "stage1/block0") for all its variables. The others are frozen, without decay; batch norm's
  // statistics are updated in any case. Empty (default): all variables.
  std::vector<std::string> variables_to_train = {};

  // Called in each step, in this order, between the checks and the update. Without
  // update_statistics, batch norm's moving statistics keep their values. If an operation throws,
  // the step is not counted, but the operations before it have had their effect.
  std::vector<UpdateOp> update_ops = default_update_ops();

  // The gradients below are those of the total loss, with the penalty of weight decay, as in
  // TF-slim. They are multiplied, then clipped one by one, then by their global norm (see
  // GradientOptions).
  std::map<std::string, double> gradient_multipliers = {};  // by the full name of a variable
  std::optional<double> clip_gradient_norm = {};            // above 0
  std::optional<double> clip_global_norm = {};              // above 0
  // Checks that each gradient is finite, not only the loss. Costs a pass over the gradients, unless
  // they are multiplied or clipped or their norm is requested: these check anyway.
  bool check_numerics = false;
  // Requests StepResult::gradient_norm. It is also set if gradients are processed or checked.
  bool gradient_norm = false;

  // Slot::average follows each trained variable: average = d · average + (1 - d) · value after each
  // update, with d = min(average_decay, (1 + t) / (10 + t)) and t the number of steps made, the
  // current one included (TensorFlow's ExponentialMovingAverage with num_updates). In [0, 1).
  // copy_averages() (variables.h) prepares an evaluation with them.
  std::optional<double> average_decay = {};
  // Excludes average_decay.
  std::optional<LookaheadOptions> lookahead = {};
};

struct StepResult {
  uint64_t step = 0;  // the number of steps made, this one included
  double learning_rate = 0;
  BatchResult batch = {};  // before the step's update
  // The global norm of the gradients, after multiplication and before clipping, with the penalty of
  // weight decay; set if TrainerOptions requests it.
  std::optional<double> gradient_norm = {};
};

// The loss or a gradient is not finite. The reason names the first layer with such an output, or
// the gradient's variable. The kind is invalid_argument.
class NotFiniteError final : public Error {
 public:
  using Error::Error;
};

class Trainer {
 public:
  // `backend` and `variables` must outlive the trainer. Starts averages if they are requested and
  // don't exist. Throws Error{invalid_argument} for a name that is not a trained variable and for
  // invalid numbers.
  Trainer(Backend& backend, const Network& network, Variables& variables,
          const TrainerOptions& options);

  // The number of steps that the variables have been trained for: 0, or that of a checkpoint.
  uint64_t steps_done() const { return steps_done_; }
  // Must be called after the variables were set to those of a run with this number of steps. Drops
  // averages that this trainer doesn't maintain: an evaluation would otherwise use outdated ones.
  void set_steps_done(uint64_t steps);
  // The steps of the whole run, for LookaheadOptions and VariableSpec::trained_share; before the
  // first step. Without it, lookahead has its full decay from the start, and no variable is frozen
  // for its share.
  void set_total_steps(uint64_t steps) { total_steps_ = steps; }

  Variables& variables() { return variables_; }

  // Forward, backward, update. Throws NotFiniteError if the loss is not finite (or a gradient, see
  // TrainerOptions::check_numerics); everything but the gradients is then as after the previous
  // step.
  StepResult step(const ImageBatch& batch, const LearningRateSchedule& learning_rate);

  // The variables and the network prepared for training, for inspection. The next step() may
  // prepare it anew, if other variables are frozen.
  const Variables& variables() const { return variables_; }
  const Runner& runner() const { return *runner_; }
  // Records the load, forward, backward and update of each step (category "step") and the work of
  // each node in `trace` from now on; null: stops recording.
  void trace_to(std::shared_ptr<ChromeTrace> trace);

  // The loss that a step minimises: that of the batch plus the penalty of weight decay, frozen
  // variables included.
  double total_loss(const BatchResult& batch) const {
    return batch.loss + options_.weight_decay * variables_.half_squared_norm();
  }

 private:
  std::vector<VariableId> frozen_in_next_step() const;
  void prepare_runner();
  bool keeps_averages() const { return options_.average_decay || options_.lookahead; }
  void update_averages();  // of the step that was made
  bool must_process_gradients() const;
  double process_gradients(uint64_t step);
  [[noreturn]] void fail_for_loss(uint64_t step) const;

  const TrainerOptions options_;
  Backend& backend_;
  const Network network_;
  Variables& variables_;
  const std::vector<VariableId> not_selected_;  // by options_.variables_to_train
  const std::vector<double> multipliers_;
  std::vector<VariableId> frozen_;  // those that runner_ was made for
  std::unique_ptr<Runner> runner_;
  std::shared_ptr<ChromeTrace> trace_;
  uint64_t steps_done_ = 0;
  std::optional<uint64_t> total_steps_;
};

}  // namespace recordpipe
