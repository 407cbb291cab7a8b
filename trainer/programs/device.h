// The backend that --device and --precision name.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "recordpipe/trainer/backend/backend.h"
#include "recordpipe/trainer/backend/replicated/communicator.h"

namespace recordpipe {

// `device` is auto, cpu, cuda or reference; `threads` as CpuBackendOptions's; `precision` is fp32,
// tf32, bf16 or fp16, see CudaPrecision. What auto chooses, and why, goes to the log. Throws
// Error{unsupported}, saying what is missing, for a device that can't be used, or not in this
// precision: all but cuda compute in fp32 only.
std::unique_ptr<Backend> make_backend(const std::string& device, size_t threads,
                                      const std::string& precision = "fp32");

struct TrainingDevice {
  std::string device = "cpu";
  size_t threads = 0;
  std::string precision = "fp32";
  // Copies of the network in this process: GPUs, where the device is cuda, else towers.
  size_t num_gpus = 1;
  // Where the gradients of several GPUs are averaged: "CPU", on the host, "GPU", by NCCL, or empty,
  // by NCCL if it is there.
  std::string variable_strategy = {};
  // Statistics of the images of all copies, in all processes. Not on several GPUs.
  bool sync_batch_norm = false;
};

// What `processes`, which must outlive it, train on together: what make_backend() makes, for
// several copies in a TowerBackend, for several processes in a DistributedBackend; or
// MultiGpuBackend. Throws what make_backend() throws, and Error{invalid_argument} for the strategy
// GPU without GPUs.
std::unique_ptr<Backend> make_training_backend(const TrainingDevice& device,
                                               Communicator& processes);

// --log-device-placement: a line of the log for each operation and variable of `network`.
void log_placement(const Backend& backend, const Network& network);

}  // namespace recordpipe
