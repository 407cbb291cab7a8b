// Data-parallel training in several processes: each process has a copy of the network and its own
// batch; gradients are averaged.
#pragma once

#include <memory>
#include <string>

#include "recordpipe/trainer/backend/backend.h"
#include "recordpipe/trainer/backend/replicated/communicator.h"

namespace recordpipe {

struct DistributedBackendOptions {
  // Batch norm uses the statistics of all processes' images; training is then equivalent to one
  // process with the whole batch, also with batch norm. Costs three more messages per step for each
  // batch norm. With towers, set it in both backends: towers alone would share statistics only with
  // the same tower of the other processes.
  bool sync_batch_norm = false;
};

// Synchronous data parallelism, used by --sync. communicator.h lists the duties of a program.
//
// In training, each of the N processes loads its own batch of RunnerOptions::batch_size images.
// forward() returns the mean loss and the total counts of all N batches. backward() leaves the mean
// gradients of all processes in the variables, so that updates are identical: copies with the same
// initial values stay equal, bit for bit. Batch norm normalises each process's images by their own
// statistics; update_statistics() copies the moving statistics of rank 0 to all. A network without
// batch norm therefore learns what one process would learn from batches of all the images, up to
// rounding; a network with batch norm does not. The same number of processes gives the same bits in
// every run if the wrapped backend does.
//
// The first forward() compares the variables and batch sizes of all processes, and throws
// Error{invalid_argument} in all of them if they differ.
//
// In inference there is no communication: each process runs any number of batches.
class DistributedBackend final : public Backend {
 public:
  // `backend` does the computation; `communicator` must outlive this object and its runners. All
  // processes must call their runners in the same order.
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
