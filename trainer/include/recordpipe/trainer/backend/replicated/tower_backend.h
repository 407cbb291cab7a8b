// Several towers in one process: copies of a network with shared variables; each trains on a part
// of the batch.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "recordpipe/trainer/backend/backend.h"

namespace recordpipe {

struct TowerBackendOptions {
  size_t towers = 1;
  // Batch norm uses the statistics of the whole batch. The wrapped backend computes exactly this
  // without towers, so no towers are made.
  bool sync_batch_norm = false;
};

// --num-gpus N for towers that share a device, like TensorFlow's soft placement: towers run one
// after the other, each with all threads.
//
// In training, image i of a batch of N · b images goes to tower i mod N, as in the tutorial; N must
// divide the batch size. The gradients are the mean of the towers' gradients, added in tower order;
// the loss is the mean of their losses. Batch norm normalises each tower's images by their own
// statistics; the moving statistics are updated from tower 0. A network without batch norm
// therefore learns what it would learn from the whole batch, up to rounding; a network with batch
// norm does not.
//
// In inference the batch is not divided: no image's result depends on another image.
//
// Takes the memory of one runner for the whole batch plus one copy of the gradients. All guarantees
// of the wrapped backend hold, including reproducible bits.
class TowerBackend final : public Backend {
 public:
  // `backend` does the computation. Throws Error{invalid_argument} if the number of towers is 0.
  TowerBackend(std::unique_ptr<Backend> backend, const TowerBackendOptions& options);

  // "2 towers on cpu, 2 threads, oneDNN 2.6.3"
  std::string name() const override;
  std::unique_ptr<Variables> make_variables(const Network& network) override;
  // Throws Error{invalid_argument} if the number of towers doesn't divide the batch size in
  // training.
  std::unique_ptr<Runner> make_runner(const Network& network, Variables& variables,
                                      const RunnerOptions& options) override;

 private:
  const std::unique_ptr<Backend> backend_;
  const TowerBackendOptions options_;
};

}  // namespace recordpipe
