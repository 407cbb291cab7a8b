#include "recordpipe/trainer/session/nan_hook.h"

#include <cmath>
#include <string>

#include "recordpipe/trainer/session/training_session.h"

namespace recordpipe {

void NanHook::after_run(TrainingSession& session, const RunValues& values) {
  if (policy_ == NanPolicy::fail || std::isfinite(values.result.batch.loss)) return;
  session.note("the loss is not finite at step " + std::to_string(values.result.step) +
               ": training stops with the weights of the previous step");
  session.request_stop();
}

}  // namespace recordpipe
