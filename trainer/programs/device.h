// The backend that --device and --precision name.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "trainer/backend/backend.h"

namespace recordpipe {

// `device` is auto, cpu, cuda or reference; `threads` as CpuBackendOptions's; `precision` is fp32,
// tf32, bf16 or fp16, see CudaPrecision. What auto chooses, and why, goes to the log. Throws
// Error{unsupported}, saying what is missing, for a device that can't be used, or not in this
// precision: all but cuda compute in fp32 only.
std::unique_ptr<Backend> make_backend(const std::string& device, size_t threads,
                                      const std::string& precision = "fp32");

// `backend` itself for one tower, else TowerBackend: --num-gpus.
std::unique_ptr<Backend> with_towers(std::unique_ptr<Backend> backend, size_t towers);

// --log-device-placement: a line of the log for each operation and variable of `network`.
void log_placement(const Backend& backend, const Network& network);

}  // namespace recordpipe
