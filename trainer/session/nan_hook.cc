#include "recordpipe/trainer/session/nan_hook.h"

#include "recordpipe/trainer/session/training_session.h"

namespace recordpipe {

void NanHook::after_run(TrainingSession& session, const RunValues& values) {
  if (policy_ == NanPolicy::fail || !values.not_finite) return;
  session.note(values.not_finite->reason() +
               ": training stops with the weights of the previous step");
  session.request_stop();
}

}  // namespace recordpipe
