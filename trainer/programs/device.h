// The backend selected by --device and --precision.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "recordpipe/trainer/backend/backend.h"
#include "recordpipe/trainer/backend/replicated/communicator.h"

namespace recordpipe {

// `device` is auto, cpu, cuda or reference; `threads` as in CpuBackendOptions; `precision` is fp32,
// tf32, bf16 or fp16, see CudaPrecision; `measure_algorithms` as in CudaBackendOptions. For auto,
// the choice and its reason are logged. Throws Error{unsupported}, with the missing part, if the
// device can't be used or doesn't support this precision: all but cuda support fp32 only. Throws
// DeviceError if a GPU fails, also for auto.
std::unique_ptr<Backend> make_backend(const std::string& device, size_t threads,
                                      const std::string& precision = "fp32",
                                      bool measure_algorithms = false);

struct TrainingDevice {
  std::string device = "cpu";
  size_t threads = 0;
  std::string precision = "fp32";
  bool measure_algorithms = false;  // see CudaBackendOptions; on a GPU only
  // The copies of the network in this process: GPUs if the device is cuda, else towers.
  size_t num_gpus = 1;
  // The place where the gradients of several GPUs are averaged: "CPU" (host), "GPU" (NCCL), or
  // empty (NCCL if available).
  std::string variable_strategy = {};
  // Batch norm uses the statistics of all copies in all processes. Not supported on several GPUs.
  bool sync_batch_norm = false;
};

// The backend for `processes`, which must outlive it, to train on together: that of make_backend()
// in a ReplicatedBackend, or on several GPUs a MultiGpuBackend. Throws the errors of
// make_backend(), and Error{invalid_argument} for the strategy "GPU" without GPUs.
std::unique_ptr<Backend> make_training_backend(const TrainingDevice& device,
                                               Communicator& processes);

// --log-device-placement: logs one line for each operation and variable of `network`.
void log_placement(const Backend& backend, const Network& network);

}  // namespace recordpipe
