// Data-parallel training: several copies of a network, each for a share of the images of a step;
// gradients are averaged.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "recordpipe/trainer/backend/backend.h"
#include "recordpipe/trainer/backend/replicated/communicator.h"

namespace recordpipe {

struct ReplicatedBackendOptions {
  // The copies in this process, for --num-gpus N on a device that they share, like TensorFlow's
  // soft placement. They use the same variables and run one after the other, each with all threads.
  size_t towers = 1;
  // Batch norm uses the statistics of the images of all copies; training is then equivalent to one
  // copy with the whole batch, also with batch norm. A single copy computes the whole batch of a
  // process, so no towers are made; between processes it costs three more messages per step for
  // each batch norm.
  bool sync_batch_norm = false;
};

// Synchronous data parallelism over N = towers · processes copies, used by --num-gpus and --sync.
// communicator.h lists the duties of a program with several processes.
//
// In training, each process loads its own batch of RunnerOptions::batch_size images; image i of it
// goes to tower i mod towers, as in the tutorial. forward() returns the mean loss and the total
// counts of all copies. backward() leaves the mean gradients of all copies in the variables, so
// that updates are identical: processes with the same initial values stay equal, bit for bit.
// Gradients are added in the order of the towers, then by the communicator. Batch norm normalises
// the images of each copy by their own statistics; the moving statistics are those of tower 0 of
// rank 0. A network without batch norm therefore learns what one copy would learn from all the
// images, up to rounding; a network with batch norm does not. The same numbers of towers and
// processes give the same bits in every run if the wrapped backend does.
//
// The first forward() compares the variables and batch sizes of all processes, and throws
// Error{invalid_argument} in all of them if they differ.
//
// In inference the batch is not divided, and there is no communication: each process runs any
// number of batches.
//
// Takes the memory of one runner for the whole batch of the process, plus one copy of the gradients
// and the statistics.
class ReplicatedBackend final : public Backend {
 public:
  // `backend` does the computation; `processes` must outlive this object and its runners (a
  // SingleProcess for towers alone). All processes must call their runners in the same order.
  // Throws Error{invalid_argument} if the number of towers is 0.
  ReplicatedBackend(std::unique_ptr<Backend> backend, Communicator& processes,
                    const ReplicatedBackendOptions& options = {});

  // "4 processes, each on 2 towers on cpu, 1 threads, oneDNN 2.6.3"
  std::string name() const override;
  std::unique_ptr<Variables> make_variables(const Network& network) override;
  // Also throws Error{invalid_argument} if the number of towers doesn't divide the batch size in
  // training.
  std::unique_ptr<Runner> make_runner(const Network& network, Variables& variables,
                                      const RunnerOptions& options) override;

 private:
  const std::unique_ptr<Backend> backend_;
  Communicator& processes_;
  const ReplicatedBackendOptions options_;
};

}  // namespace recordpipe
