#include "recordpipe/trainer/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "recordpipe/trainer/backend/trace_phases.h"
#include "recordpipe/trainer/optimizer/variable_selection.h"

namespace recordpipe {
namespace {

const TrainerOptions& checked(const TrainerOptions& options) {
  const auto require = [](bool condition, const char* reason) {
    if (!condition) throw Error({.kind = ErrorKind::invalid_argument, .reason = reason});
  };
  for (const double number : {options.momentum, options.weight_decay})
    require(std::isfinite(number) && number >= 0,
            "momentum and weight decay must be finite and not negative");
  for (const auto& limit : {options.clip_gradient_norm, options.clip_global_norm})
    require(!limit || (std::isfinite(*limit) && *limit > 0),
            "the norm for gradient clipping must be finite and above 0");
  require(!options.average_decay || (*options.average_decay >= 0 && *options.average_decay < 1),
          "the decay of moving averages must be in [0, 1)");
  require(!options.lookahead || (!options.average_decay && options.lookahead->every > 0 &&
                                 options.lookahead->decay >= 0 && options.lookahead->decay < 1),
          "lookahead needs a decay in [0, 1) and steps above 0, and excludes moving averages");
  return options;
}

// A smaller decay at first, so that a new average adapts quickly.
double decay_at(double most, uint64_t steps) {
  const auto t = static_cast<double>(steps);
  return std::min(most, (1 + t) / (10 + t));
}

}  // namespace

Trainer::Trainer(Backend& backend, const Network& network, Variables& variables,
                 const TrainerOptions& options)
    : options_(checked(options)),
      backend_(backend),
      network_(network),
      variables_(variables),
      not_selected_(frozen_variables(network.variables(), options.variables_to_train)),
      multipliers_(gradient_multipliers(network.variables(), options.gradient_multipliers)) {
  prepare_runner();
  if (keeps_averages() && !variables_.has_averages()) variables_.start_averages();
}

std::vector<VariableId> Trainer::frozen_in_next_step() const {
  std::vector<VariableId> frozen = not_selected_;
  for (VariableId id = 0; id < network_.variables().size(); ++id) {
    const VariableSpec& spec = network_.variables()[id];
    const bool has_ended =
        total_steps_ && spec.trained_share < 1 &&
        static_cast<double>(steps_done_) >= spec.trained_share * static_cast<double>(*total_steps_);
    // A rate of 0 freezes, too: the momentum would be of gradients that are perhaps not computed.
    if (spec.trained && (has_ended || spec.rate_factor == 0) && std::ranges::count(frozen, id) == 0)
      frozen.push_back(id);
  }
  std::ranges::sort(frozen);
  return frozen;
}

void Trainer::prepare_runner() {
  std::vector<VariableId> frozen = frozen_in_next_step();
  if (runner_ && frozen == frozen_) return;
  runner_.reset();  // first: its memory is needed
  runner_ = backend_.make_runner(
      network_, variables_,
      {.batch_size = options_.batch_size, .mode = Mode::training, .frozen = frozen});
  runner_->trace_to(trace_);
  frozen_ = std::move(frozen);
}

void Trainer::set_steps_done(uint64_t steps) {
  steps_done_ = steps;
  if (!keeps_averages()) variables_.stop_averages();
}

StepResult Trainer::step(const ImageBatch& batch, const LearningRateSchedule& learning_rate) {
  StepResult result = {.step = steps_done_ + 1, .learning_rate = learning_rate(steps_done_)};
  prepare_runner();
  TracePhases phases(trace_.get(), "step");
  phases.begin("load");
  runner_->load(batch);
  phases.begin("forward");
  result.batch = runner_->forward();
  if (!std::isfinite(result.batch.loss)) fail_for_loss(result.step);
  phases.begin("backward");
  runner_->backward();
  phases.begin("update");
  const bool processed = must_process_gradients();
  if (processed) result.gradient_norm = process_gradients(result.step);
  for (const UpdateOp& op : options_.update_ops) op(*runner_, variables_);
  // Processed gradients already include the decay.
  variables_.apply_momentum({.learning_rate = result.learning_rate,
                             .momentum = options_.momentum,
                             .nesterov = options_.nesterov,
                             .weight_decay = processed ? 0 : options_.weight_decay,
                             .frozen = frozen_});
  ++steps_done_;
  update_averages();
  return result;
}

void Trainer::update_averages() {
  if (options_.average_decay)
    variables_.update_averages(decay_at(*options_.average_decay, steps_done_));
  if (!options_.lookahead || steps_done_ % options_.lookahead->every != 0) return;
  const double progress = std::min(
      1.0, static_cast<double>(steps_done_) / static_cast<double>(total_steps_.value_or(1)));
  variables_.update_averages(options_.lookahead->decay * progress * progress * progress);
  variables_.reset_to_averages();
}

bool Trainer::must_process_gradients() const {
  return options_.check_numerics || options_.gradient_norm || !multipliers_.empty() ||
         options_.clip_gradient_norm || options_.clip_global_norm;
}

// Returns the global norm.
double Trainer::process_gradients(uint64_t step) {
  variables_.process_gradients({.weight_decay = options_.weight_decay,
                                .multipliers = multipliers_,
                                .clip_norm = options_.clip_gradient_norm,
                                .clip_global_norm = options_.clip_global_norm,
                                .frozen = frozen_});
  const std::span<const double> norms = variables_.gradient_norms();
  double squares = 0;
  for (VariableId id = 0; id < norms.size(); ++id) {
    if (!std::isfinite(norms[id]))
      throw NotFiniteError({.kind = ErrorKind::invalid_argument,
                            .reason = "the gradient of " + variables_.specs()[id].name +
                                      " is not finite at step " + std::to_string(step),
                            .hint = "use a lower learning rate or a longer warm-up"});
    squares += norms[id] * norms[id];
  }
  return std::sqrt(squares);
}

void Trainer::fail_for_loss(uint64_t step) const {
  std::string reason = "the loss is not finite at step " + std::to_string(step);
  // The last node is the loss, whose output can't be read.
  for (NodeId node = 0; node + 1 < network_.nodes().size(); ++node) {
    if (std::ranges::all_of(runner_->output(node), [](float x) { return std::isfinite(x); }))
      continue;
    reason += ": the first layer with non-finite outputs is " + network_.nodes()[node].name;
    break;
  }
  throw NotFiniteError({.kind = ErrorKind::invalid_argument,
                        .reason = reason,
                        .hint = "use a lower learning rate or a longer warm-up"});
}

void Trainer::trace_to(std::shared_ptr<ChromeTrace> trace) {
  trace_ = std::move(trace);
  runner_->trace_to(trace_);
}

}  // namespace recordpipe
