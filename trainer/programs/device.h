// The backend that --device names.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "trainer/backend/backend.h"
#include "trainer/backend/replicated/communicator.h"

namespace recordpipe {

// `device` is auto, cpu, cuda or reference; `threads` as CpuBackendOptions's. What auto chooses,
// and why, goes to the log. Throws Error{unsupported}, saying what is missing, for a device that
// can't be used.
std::unique_ptr<Backend> make_backend(const std::string& device, size_t threads);

struct TrainingDevice {
  std::string device = "cpu";
  size_t threads = 0;
  size_t num_gpus = 1;           // copies of the network in this process
  bool sync_batch_norm = false;  // statistics of the images of all copies, in all processes
};

// What `processes` train on together: each with a backend of make_backend(), with TowerBackend for
// several copies, in a DistributedBackend for several processes. `processes` must outlive it.
std::unique_ptr<Backend> make_training_backend(const TrainingDevice& device,
                                               Communicator& processes);

// --log-device-placement: a line of the log for each operation and variable of `network`.
void log_placement(const Backend& backend, const Network& network);

}  // namespace recordpipe
