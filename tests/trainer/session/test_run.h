// Trains a small network in its own folder, for tests of sessions: with batch norm, momentum and
// averages on the CPU, and with a pipeline that shuffles and uses random numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/pipeline/options.h"
#include "recordpipe/trainer/checkpoint/checkpoint_folder.h"
#include "recordpipe/trainer/session/training_session.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {

using Hooks = std::vector<std::unique_ptr<SessionHook>>;

// Returns a list with a single hook.
template <class Hook>
Hooks hooks(Hook hook) {
  Hooks one;
  one.push_back(std::make_unique<Hook>(std::move(hook)));
  return one;
}

// A hook that calls functions.
struct FunctionHook final : SessionHook {
  std::function<void()> on_begin = [] {};
  std::function<void(TrainingSession&)> on_created = [](TrainingSession&) {};
  std::function<void(TrainingSession&, RunContext&)> on_before = [](TrainingSession&, RunContext&) {
  };
  std::function<void(TrainingSession&, const RunValues&)> on_after = [](TrainingSession&,
                                                                        const RunValues&) {};
  std::function<void(TrainingSession&)> on_end = [](TrainingSession&) {};

  void begin() override { on_begin(); }
  void after_create_session(TrainingSession& session) override { on_created(session); }
  void before_run(TrainingSession& session, RunContext& context) override {
    on_before(session, context);
  }
  void after_run(TrainingSession& session, const RunValues& values) override {
    on_after(session, values);
  }
  void end(TrainingSession& session) override { on_end(session); }
};

class TestRun {
 public:
  // Trains from the newest checkpoint in the folder to `last_step`, or until a hook stops it, with
  // a new backend, variables, trainer and session.
  void run(std::optional<uint64_t> last_step = {}, Hooks hooks = {});

  // Returns the metadata of checkpoint-STEP.safetensors and the checksum of each tensor, by name.
  std::map<std::string, std::string> content(uint64_t step) const;
  std::string path(uint64_t step) const;
  // Returns the steps of the existing checkpoints, newest first.
  std::vector<uint64_t> steps() const;

  // The settings of the run.
  uint64_t seed = 7;
  size_t batch_size = 4;
  double learning_rate = 0.05;
  uint64_t save_every = 1;  // also at the start and the end; 0: never
  size_t keep = 100;
  int recoveries = 3;
  CheckpointSettings settings = {};
  std::map<std::string, double> gradient_multipliers = {};
  FileSystem* files = &posix_file_system();
  std::function<void()> on_image = [] {};  // called by the pipeline for each image
  PipelineOptions options = {};            // of the pipeline
  // Returns additional hooks. Called with the folder that run() has opened.
  std::function<Hooks(CheckpointFolder&)> more_hooks = [](CheckpointFolder&) { return Hooks(); };

  TemporaryDirectory folder = {};
  const std::string job_dir = folder / "job";
  std::vector<std::string> notes = {};  // of the last run
};

}  // namespace recordpipe
