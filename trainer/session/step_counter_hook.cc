#include "recordpipe/trainer/session/step_counter_hook.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "recordpipe/trainer/session/write_events.h"

namespace recordpipe {

StepCounterHook::StepCounterHook(StepCounterOptions options)
    : options_(std::move(options)), timer_("StepCounterHook", options_.every, options_.now) {}

void StepCounterHook::after_create_session(TrainingSession&) { timer_.reset(); }

void StepCounterHook::after_run(TrainingSession& session, const RunValues& values) {
  const uint64_t step = values.result.step;
  if (!timer_.is_due(step)) return;
  const std::optional<StepTimer::Elapsed> elapsed = timer_.update(step);
  if (!elapsed || elapsed->seconds <= 0) return;
  const double rate = static_cast<double>(elapsed->steps) / elapsed->seconds;
  options_.sink(fmt::format("global_step/sec: {:g}", rate));
  if (options_.events != nullptr)
    write_events(session, [&] {
      options_.events->add_summary(step, {{"global_step/sec", ScalarSummary{rate}}});
    });
}

}  // namespace recordpipe
