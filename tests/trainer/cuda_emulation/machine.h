// The machine of the emulated GPUs, for tests of what depends on it. Each thread has its own, as
// each process has on a real machine.
#pragma once

#include <cstddef>
#include <functional>

#include "trainer/backend/cuda/device/device.h"

namespace recordpipe::cuda {

struct EmulatedMachine {
  // The GPUs that the process can see. They are the machine's from `first_gpu` on.
  size_t first_gpu = 0, gpus = 64;
  std::function<void()> open_device = [] {};  // called for each device; it may throw
  bool has_measured_algorithms = false;       // a convolution was told to measure
  size_t bytes_read = 0;                      // copied from devices to the host
};

EmulatedMachine& emulated_machine();

// Activates the device of `stream`.
void make_current(Stream stream);
// Later work on `stream` waits until the condition holds.
void wait_until(Stream stream, std::function<bool()> condition);

}  // namespace recordpipe::cuda
