// What copies of a network on several GPUs, in one process or in several, tell each other in a
// step.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "recordpipe/trainer/backend/replicated/communicator.h"
#include "trainer/backend/cuda/device.h"

namespace recordpipe::cuda {

using Devices = std::vector<std::shared_ptr<Device>>;  // those of this process

// buffers[i] lies on the i-th device of the process. It is read and written in the order of that
// device's compute stream. All processes make the same calls with as many devices and numbers.
class ReplicaExchange {
 public:
  virtual ~ReplicaExchange() = default;

  // Replaces each number by the mean of all copies' numbers.
  virtual void average(std::span<float* const> buffers, size_t size) = 0;
  // Replaces the numbers by those on the first device of the first process.
  virtual void share(std::span<float* const> buffers, size_t size) = 0;
};

// Through the host's memory, where each process adds up its own, and the communicator's sum. All
// wait for it: slow, and the twin of the other one.
std::unique_ptr<ReplicaExchange> exchange_on_host(Devices devices, Communicator& processes);

// By NCCL, from GPU to GPU; the host doesn't wait. NCCL's library is loaded when this is called
// first, so that a program that trains on one GPU doesn't need it. Throws Error{unsupported} in
// all processes where one of them can't load it, or in a build without NCCL's header, and
// Error{network} where NCCL fails.
std::unique_ptr<ReplicaExchange> exchange_by_nccl(Devices devices, Communicator& processes);

}  // namespace recordpipe::cuda
