#include "recordpipe/trainer/session/step_timer.h"

#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

StepTimer::StepTimer(const char* who, Every every, Clock now)
    : every_(every), now_(std::move(now)) {
  const bool by_time = every.seconds != 0;
  if (by_time == (every.steps > 0) || !std::isfinite(every.seconds) || every.seconds < 0)
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = std::string(who) + " needs either a number of steps or of seconds"});
}

bool StepTimer::is_due(uint64_t step) const {
  if (!last_) return true;
  if (every_.steps > 0) return step >= last_->step && step - last_->step >= every_.steps;
  return now_() >= last_->seconds + every_.seconds;
}

std::optional<StepTimer::Elapsed> StepTimer::update(uint64_t step) {
  const Moment now = {now_(), step};
  std::optional<Elapsed> elapsed;
  if (last_) elapsed = {.seconds = now.seconds - last_->seconds, .steps = step - last_->step};
  last_ = now;
  return elapsed;
}

}  // namespace recordpipe
