// Makes training steps on the cpu backend and measures them layer by layer.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "recordpipe/image/image_batch.h"
#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/model/network.h"
#include "tests/bench/trainer_input.h"
#include "trainer/backend/cpu/cpu_runner.h"
#include "trainer/backend/cpu/cpu_variables.h"

namespace recordpipe {

double seconds_since(std::chrono::steady_clock::time_point start);

// A network of trainer_input.h with its initial weights.
class TrainerWork {
 public:
  TrainerWork(const std::string& name, size_t batch_size);

  const std::string& name() const { return name_; }
  const Network& network() const { return network_; }
  size_t batch_size() const { return batch_size_; }
  const CpuRunner& runner() const { return runner_; }

  // Loads a batch; step() does this itself.
  void load(const ImageBatch& batch);
  // Forward, backward, update; returns the loss before the update.
  double step(const ImageBatch& batch);
  // Seconds spent in load() and in updates since construction. runner().times() has the other
  // parts.
  double load_seconds() const { return load_seconds_; }
  double update_seconds() const { return update_seconds_; }
  size_t steps() const { return steps_; }

 private:
  const std::string name_;
  const size_t batch_size_;
  CpuBackend backend_;  // sets OpenMP's number of threads
  const Network network_;
  const MomentumOptions optimizer_;
  CpuVariables variables_;
  CpuRunner runner_;
  double load_seconds_ = 0, update_seconds_ = 0;
  size_t steps_ = 0;
};

}  // namespace recordpipe
