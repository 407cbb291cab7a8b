#include "recordpipe/trainer/session/examples_per_second_hook.h"

#include <utility>

#include <fmt/format.h>

#include "recordpipe/trainer/session/training_session.h"

namespace recordpipe {

ExamplesPerSecondHook::ExamplesPerSecondHook(ExamplesPerSecondOptions options)
    : options_(std::move(options)), timer_("ExamplesPerSecondHook", options_.every, options_.now) {}

void ExamplesPerSecondHook::after_create_session(TrainingSession& session) {
  timer_.reset();
  timer_.update(session.step());
  recent_examples_ = 0;
}

void ExamplesPerSecondHook::after_run(TrainingSession&, const RunValues& values) {
  recent_examples_ += values.result.batch.images;
  if (!timer_.is_due(values.result.step)) return;
  const auto elapsed = timer_.update(values.result.step);
  if (!elapsed || elapsed->seconds <= 0) return;
  total_seconds_ += elapsed->seconds;
  total_examples_ += recent_examples_;
  options_.sink(fmt::format("Average examples/sec: {:.1f} ({:.1f}), step = {}",
                            static_cast<double>(total_examples_) / total_seconds_,
                            static_cast<double>(recent_examples_) / elapsed->seconds,
                            values.result.step));
  recent_examples_ = 0;
}

}  // namespace recordpipe
