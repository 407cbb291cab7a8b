// Delays the first step until other workers have made a number of steps:
// tf.train.GlobalStepWaiterHook. A staggered start reduces interference in the first steps.
#pragma once

#include <cstdint>
#include <functional>

#include "recordpipe/trainer/session/session_hook.h"

namespace recordpipe {

struct GlobalStepWaiterOptions {
  uint64_t wait_until_step = 0;
  // The total number of steps made by all workers, for example that of the newest checkpoint.
  std::function<uint64_t()> global_step;
  // Waits before the next call of global_step.
  std::function<void()> pause;
};

class GlobalStepWaiterHook final : public SessionHook {
 public:
  explicit GlobalStepWaiterHook(GlobalStepWaiterOptions options) : options_(std::move(options)) {}

  void before_run(TrainingSession&, RunContext&) override {
    while (!there_ && options_.global_step() < options_.wait_until_step) options_.pause();
    there_ = true;
  }

 private:
  const GlobalStepWaiterOptions options_;
  bool there_ = false;
};

}  // namespace recordpipe
