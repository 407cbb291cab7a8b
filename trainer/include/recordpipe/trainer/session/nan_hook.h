// Handles a loss, or a gradient that is checked, that is not finite: tf.train.NanTensorHook.
#pragma once

#include "recordpipe/trainer/session/session_hook.h"

namespace recordpipe {

enum class NanPolicy {
  fail,  // the run ends with the trainer's NotFiniteError, as without this hook
  stop,  // the run ends like request_stop(), with the variables before that step
};

class NanHook final : public SessionHook {
 public:
  explicit NanHook(NanPolicy policy) : policy_(policy) {}

  void after_run(TrainingSession& session, const RunValues& values) override;

 private:
  const NanPolicy policy_;
};

}  // namespace recordpipe
