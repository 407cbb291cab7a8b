// One step of training after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "dataset/image/image_batch.h"
#include "trainer/backend/backend.h"
#include "trainer/optimizer/learning_rate.h"

namespace recordpipe {

struct TrainerOptions {
  size_t batch_size = 128;
  double momentum = 0.9;
  double weight_decay = 2e-4;
};

struct StepResult {
  uint64_t step = 0;  // how many steps have been made, this one included
  double learning_rate = 0;
  BatchResult batch = {};  // before the step's update
};

class Trainer {
 public:
  // `backend` and `variables` must outlive it.
  Trainer(Backend& backend, const Network& network, Variables& variables,
          const TrainerOptions& options);

  // How many steps the variables have behind them: 0, or a checkpoint's.
  uint64_t steps_done() const { return steps_done_; }
  void set_steps_done(uint64_t steps) { steps_done_ = steps; }

  // Forward, backward, update. Throws Error{invalid_argument} where the loss is no number any more;
  // what is trained is then as it was after the step before.
  StepResult step(const ImageBatch& batch, const LearningRateSchedule& learning_rate);

  // What it trains, and with what; for looking inside.
  const Variables& variables() const { return variables_; }
  const Runner& runner() const { return *runner_; }
  // From now on a step puts down in `trace` when it loaded the batch, went forward, went backward
  // and updated (category "step"), and what each node did; null: no more.
  void trace_to(std::shared_ptr<ChromeTrace> trace);

  // The loss that a step minimises: the batch's plus the weight decay's penalty.
  double total_loss(const BatchResult& batch) const {
    return batch.loss + options_.weight_decay * variables_.half_squared_norm();
  }

 private:
  const TrainerOptions options_;
  Variables& variables_;
  std::unique_ptr<Runner> runner_;
  std::shared_ptr<ChromeTrace> trace_;
  uint64_t steps_done_ = 0;
};

}  // namespace recordpipe
