// Several towers in one process: a batch dealt out to copies of a network that share its variables.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "recordpipe/trainer/backend/backend.h"

namespace recordpipe {

struct TowerBackendOptions {
  size_t towers = 1;
  // Batch norm takes the statistics of the whole batch. That is what the device computes without
  // towers, so then there are none.
  bool sync_batch_norm = false;
};

// What --num-gpus N trains where the towers share a device, as TensorFlow's soft placement has it:
// one tower after the other, each with all threads.
//
// In training, image i of a batch of N · b goes to tower i mod N, as the tutorial deals them out; N
// must divide the batch size. The gradients are the mean of the towers', added
// up in their order, the loss is their mean. Batch norm normalises each tower's images by their own
// statistics, and the moving ones follow tower 0's. So a network without batch norm learns what it
// would learn from the whole batch, to within rounding, and one with batch norm something else.
//
// In inference no image's result depends on another: the batch stays whole.
//
// It takes as much memory as one runner for the whole batch, and one more copy of the gradients.
// All promises of the backend that computes hold, its bits at every run included.
class TowerBackend final : public Backend {
 public:
  // `backend` computes. Throws Error{invalid_argument} for no towers.
  TowerBackend(std::unique_ptr<Backend> backend, const TowerBackendOptions& options);

  // "2 towers on cpu, 2 threads, oneDNN 2.6.3"
  std::string name() const override;
  std::unique_ptr<Variables> make_variables(const Network& network) override;
  // Throws Error{invalid_argument} where the towers don't divide a training's batch size.
  std::unique_ptr<Runner> make_runner(const Network& network, Variables& variables,
                                      const RunnerOptions& options) override;

 private:
  const std::unique_ptr<Backend> backend_;
  const TowerBackendOptions options_;
};

}  // namespace recordpipe
