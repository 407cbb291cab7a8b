// Communication, once per step, between copies of a network on several GPUs of one or several
// processes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "recordpipe/trainer/backend/replicated/communicator.h"
#include "trainer/backend/cuda/device/device.h"

namespace recordpipe::cuda {

using Devices = std::vector<std::shared_ptr<Device>>;  // of this process

// buffers[i] is on the process's i-th device, and is read and written in the order of that device's
// compute stream. All processes must make the same calls with the same number of devices and
// values.
class ReplicaExchange {
 public:
  virtual ~ReplicaExchange() = default;

  // Replaces each value by its mean over all copies.
  virtual void average(std::span<float* const> buffers, size_t size) = 0;
  // Replaces the values by those on the first device of the first process.
  virtual void share(std::span<float* const> buffers, size_t size) = 0;
};

// Through host memory: each process adds the values of its devices, and the communicator adds those
// sums. Synchronous and slow; the plain twin of exchange_by_nccl().
std::unique_ptr<ReplicaExchange> exchange_on_host(Devices devices, Communicator& processes);

// With NCCL, directly between GPUs; asynchronous. While the result exists it watches the devices:
// if a GPU can't be reached, waits for them throw DeviceError. The first call loads NCCL's library,
// so a program that trains on one GPU doesn't need it. Throws Error{unsupported} in all processes
// if one can't load it, or in a build without NCCL's header; DeviceError if NCCL fails.
std::unique_ptr<ReplicaExchange> exchange_by_nccl(Devices devices, Communicator& processes);

}  // namespace recordpipe::cuda
