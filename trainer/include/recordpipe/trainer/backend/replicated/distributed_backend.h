// Several processes, each with a copy of the network: a batch for each, the gradients averaged.
#pragma once

#include <memory>
#include <string>

#include "recordpipe/trainer/backend/backend.h"
#include "recordpipe/trainer/backend/replicated/communicator.h"

namespace recordpipe {

struct DistributedBackendOptions {
  // Batch norm takes the statistics of all processes' images, and what one process would learn from
  // them is learned with batch norm too. Costs three more messages a step for each batch norm. Over
  // towers, which would take them with their likes in the other processes only, give it to both.
  bool sync_batch_norm = false;
};

// What --sync trains: synchronous data parallelism. communicator.h says what a program does.
//
// In training, each of the N processes loads its own batch of RunnerOptions::batch_size images.
// forward() returns the mean loss and the counts of all N batches. backward() leaves the mean of
// all processes' gradients in the variables, so that an update changes all copies alike: where they
// start from the same numbers they stay the same, bit for bit. Batch norm normalises each process's
// images by their own statistics; update_statistics() gives all the moving ones of rank 0. So a
// network without batch norm learns what one process would learn from batches of all the images, to
// within rounding; one with batch norm learns something else. As many processes give the same bits
// at every run, where the backend that computes does.
//
// The first forward() compares the processes' variables and batch sizes, and throws
// Error{invalid_argument} in all of them where they differ.
//
// In inference the processes know nothing of each other: each runs its own batches, or none.
class DistributedBackend final : public Backend {
 public:
  // `backend` computes; `communicator` must outlive it and its runners. Runners are called in the
  // same order in all processes.
  DistributedBackend(std::unique_ptr<Backend> backend, Communicator& communicator,
                     const DistributedBackendOptions& options = {});

  // "4 processes, each on cpu, 1 threads, oneDNN 2.6.3"
  std::string name() const override;
  std::unique_ptr<Variables> make_variables(const Network& network) override;
  std::unique_ptr<Runner> make_runner(const Network& network, Variables& variables,
                                      const RunnerOptions& options) override;

 private:
  const std::unique_ptr<Backend> backend_;
  Communicator& communicator_;
  const DistributedBackendOptions options_;
};

}  // namespace recordpipe
