#include "recordpipe/trainer/session/summary_saver_hook.h"

#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "recordpipe/trainer/session/write_events.h"

namespace recordpipe {
namespace {

bool cuts_off_negative_values(const NetworkNode& node) {
  return std::visit(
      [](const auto& op) {
        if constexpr (requires { op.relu; })
          return op.relu;
        else
          return false;
      },
      node.op);
}

}  // namespace

SummarySaverHook::SummarySaverHook(EventWriter& events, const Network& network,
                                   SummarySaverOptions options)
    : events_(events),
      network_(network),
      options_(std::move(options)),
      timer_("SummarySaverHook", options_.every, options_.now) {}

void SummarySaverHook::after_create_session(TrainingSession& session) {
  timer_.reset();
  average_loss_.reset();
  write_events(session, [&] {
    events_.add_session_log(session.step() + 1, {.status = SessionStatus::start});
  });
}

void SummarySaverHook::after_run(TrainingSession& session, const RunValues& values) {
  const double loss = values.result.batch.loss;
  average_loss_ = average_loss_ ? 0.9 * *average_loss_ + 0.1 * loss : loss;
  const uint64_t step = values.result.step;
  if (!timer_.is_due(step)) return;
  timer_.update(step);
  write_events(session, [&] { events_.add_summary(step, summarize(session.trainer(), values)); });
}

void SummarySaverHook::end(TrainingSession& session) {
  write_events(session,
               [&] { events_.add_session_log(session.step(), {.status = SessionStatus::stop}); });
  write_events(session, [&] { events_.flush(); });
}

std::vector<SummaryValue> SummarySaverHook::summarize(const Trainer& trainer,
                                                      const RunValues& values) const {
  const BatchResult& batch = values.result.batch;
  std::vector<SummaryValue> summary = {
      {"loss", ScalarSummary{batch.loss}},
      {"loss (avg)", ScalarSummary{*average_loss_}},
      {"total_loss", ScalarSummary{trainer.total_loss(batch)}},
      {"learning_rate", ScalarSummary{values.result.learning_rate}},
      {"accuracy",
       ScalarSummary{static_cast<double>(batch.correct) / static_cast<double>(batch.images)}}};

  if (values.result.gradient_norm)
    summary.push_back({"gradient_norm", ScalarSummary{*values.result.gradient_norm}});

  const Variables& variables = trainer.variables();
  // If the loss is not finite, there was no backward pass.
  const bool gradients = options_.gradients && std::isfinite(batch.loss);
  for (VariableId id = 0; id < variables.specs().size(); ++id) {
    const VariableSpec& spec = variables.specs()[id];
    if (options_.variables) summary.push_back({spec.name, HistogramSummary{variables.read(id)}});
    if (gradients && spec.trained)
      summary.push_back(
          {spec.name + "/gradients", HistogramSummary{variables.read(id, Slot::gradient)}});
  }
  // Layers have far more values than variables, so they are not copied. The counts are those of the
  // runner's own batch; with several processes, the result covers more images.
  if (options_.activations)
    for (NodeId id = 0; id < network_.nodes().size(); ++id) {
      const NetworkNode& node = network_.nodes()[id];
      if (!cuts_off_negative_values(node)) continue;
      const auto zeros = static_cast<double>(trainer.runner().count_zeros(id));
      const auto all = static_cast<double>(values.batch.size() * node.shape.size());
      summary.push_back({node.name + "/sparsity", ScalarSummary{zeros / all}});
    }
  if (options_.images > 0)
    summary.push_back({"input", summarize_images(values.batch, options_.images)});
  return summary;
}

}  // namespace recordpipe
