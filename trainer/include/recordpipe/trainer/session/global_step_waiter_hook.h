// Waits with the first step until others have made so many: tf.train.GlobalStepWaiterHook. Workers
// that start one after the other disturb each other's first steps less.
#pragma once

#include <cstdint>
#include <functional>

#include "recordpipe/trainer/session/session_hook.h"

namespace recordpipe {

struct GlobalStepWaiterOptions {
  uint64_t wait_until_step = 0;
  // How many steps have been made, by all: the newest checkpoint's, for instance.
  std::function<uint64_t()> global_step;
  // Waits a while before it is asked again.
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
