// The backend selected by --device and the flags that go with it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "recordpipe/trainer/backend/backend.h"
#include "recordpipe/trainer/backend/replicated/communicator.h"

namespace recordpipe {

// The values of these flags.
struct TrainingDevice {
  std::string type = "auto";        // or "cpu", "cuda", "reference"
  size_t threads = 0;               // for computation: see CpuBackendOptions
  std::string precision = "fp32";   // or "tf32", "bf16", "fp16", on a GPU only: see CudaPrecision
  bool measure_algorithms = false;  // on a GPU only: see CudaBackendOptions
  // The copies of the network in this process: GPUs if the type is cuda, else towers.
  size_t num_gpus = 1;
  // The place where the gradients of several GPUs are averaged: "CPU" (host), "GPU" (NCCL), or
  // empty (NCCL if available).
  std::string variable_strategy = {};
  // Batch norm uses the statistics of all copies in all processes. Not supported on several GPUs.
  bool sync_batch_norm = false;
};

// The backend for one copy of a network in one process; ignores num_gpus, variable_strategy and
// sync_batch_norm. For auto, the choice and its reason are logged. Throws Error{unsupported}, with
// the missing part, if the device can't be used or doesn't support this precision, and for auto
// with measure_algorithms, if there is no GPU. Throws DeviceError if a GPU fails, also for auto.
std::unique_ptr<Backend> make_backend(const TrainingDevice& device);

// The backend for `processes`, which must outlive it, to train on together: that of make_backend()
// in a ReplicatedBackend, or on several GPUs a MultiGpuBackend. Throws the errors of
// make_backend(), and Error{invalid_argument} for the strategy "GPU" without GPUs, and for
// processes with different num_gpus or sync_batch_norm.
std::unique_ptr<Backend> make_training_backend(const TrainingDevice& device,
                                               Communicator& processes);

// --log-device-placement: logs one line for each operation and variable of `network`.
void log_placement(const Backend& backend, const Network& network);

}  // namespace recordpipe
