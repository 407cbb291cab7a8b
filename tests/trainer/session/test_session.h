// Trains a small network in a session, for the tests of hooks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/session/training_session.h"
#include "tests/support/temporary_directory.h"
#include "tests/trainer/test_networks.h"

namespace recordpipe {

// A hook that calls a function after each step.
class AfterRun final : public SessionHook {
 public:
  using Function = std::function<void(TrainingSession&, const RunValues&)>;
  explicit AfterRun(Function function) : function_(std::move(function)) {}
  void after_run(TrainingSession& session, const RunValues& values) override {
    function_(session, values);
  }

 private:
  const Function function_;
};

class TestSession {
 public:
  TestSession();

  // Trains from the newest checkpoint in its folder to `last_step` on random batches.
  void run(uint64_t last_step, std::vector<std::unique_ptr<SessionHook>> hooks);
  // The same with one hook.
  template <typename Hook>
  void run(uint64_t last_step, std::unique_ptr<Hook> hook) {
    std::vector<std::unique_ptr<SessionHook>> hooks;
    hooks.push_back(std::move(hook));
    run(last_step, std::move(hooks));
  }

  const TemporaryDirectory folder = {};
  const Network network;
  std::unique_ptr<Backend> backend = std::make_unique<CpuBackend>();
  double learning_rate = 0.05;
  uint64_t save_after = 0;              // saves a checkpoint after this step
  std::vector<std::string> notes = {};  // of the last run
};

}  // namespace recordpipe
