#include "recordpipe/trainer/session/step_counter_hook.h"

#include <optional>

#include "recordpipe/trainer/session/write_events.h"

namespace recordpipe {

StepCounterHook::StepCounterHook(EventWriter& events, const StepCounterOptions& options)
    : events_(events), timer_("StepCounterHook", options.every, options.now) {}

void StepCounterHook::after_create_session(TrainingSession&) { timer_.reset(); }

void StepCounterHook::after_run(TrainingSession& session, const RunValues& values) {
  const uint64_t step = values.result.step;
  if (!timer_.is_due(step)) return;
  const std::optional<StepTimer::Elapsed> elapsed = timer_.update(step);
  if (!elapsed || elapsed->seconds <= 0) return;
  const double rate = static_cast<double>(elapsed->steps) / elapsed->seconds;
  write_events(session, [&] {
    events_.add_summary(step, {{"global_step/sec", ScalarSummary{rate}}});
  });
}

}  // namespace recordpipe
