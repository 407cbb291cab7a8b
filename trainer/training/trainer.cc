#include "trainer/training/trainer.h"

#include <cmath>
#include <string>
#include <utility>

#include "dataset/base/error.h"
#include "trainer/backend/trace_phases.h"

namespace recordpipe {

Trainer::Trainer(Backend& backend, const Network& network, Variables& variables,
                 const TrainerOptions& options)
    : options_(options),
      variables_(variables),
      runner_(backend.make_runner(network, variables,
                                  {.batch_size = options.batch_size, .mode = Mode::training})) {}

StepResult Trainer::step(const ImageBatch& batch, const LearningRateSchedule& learning_rate) {
  StepResult result = {.step = steps_done_ + 1, .learning_rate = learning_rate(steps_done_)};
  TracePhases phases(trace_.get(), "step");
  phases.begin("load");
  runner_->load(batch);
  phases.begin("forward");
  result.batch = runner_->forward();
  if (!std::isfinite(result.batch.loss))
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "the loss is not a number at step " + std::to_string(result.step),
                 .hint = "a lower learning rate, or a longer warm-up, keeps it finite"});
  phases.begin("backward");
  runner_->backward();
  phases.begin("update");
  variables_.apply_momentum({.learning_rate = result.learning_rate,
                             .momentum = options_.momentum,
                             .weight_decay = options_.weight_decay});
  ++steps_done_;
  return result;
}

void Trainer::trace_to(std::shared_ptr<ChromeTrace> trace) {
  trace_ = std::move(trace);
  runner_->trace_to(trace_);
}

}  // namespace recordpipe
