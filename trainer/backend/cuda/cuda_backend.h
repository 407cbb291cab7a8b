// The backend on NVIDIA GPUs: cuDNN for convolutions, cuBLASLt for dense layers, own kernels for
// the rest; each pass of a step is launched as one CUDA graph.
//
// It links to cuDNN and cuBLASLt: a program that uses it doesn't start without those libraries. A
// missing driver is reported by the constructor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "recordpipe/trainer/backend/backend.h"

namespace recordpipe {

namespace cuda {
class Device;
}

// The type of activations and their gradients, and the arithmetic of multiplications. Variables,
// their gradients and momenta, batch norm's statistics and all sums are always float32.
enum class CudaPrecision {
  fp32,  // float32, multiplied in float32
  tf32,  // float32, multiplied with a 10-bit mantissa by tensor cores
  bf16,  // bfloat16
  fp16,  // float16; gradients are scaled, see CudaBackendOptions::loss_scale
};

struct CudaBackendOptions {
  size_t device = 0;  // CUDA's index, among the devices in CUDA_VISIBLE_DEVICES
  CudaPrecision precision = CudaPrecision::fp32;

  // fp16 only: the initial loss scale, a power of two (see LossScale). If the gradients of a step
  // overflow, the update is skipped and the scale halved; after loss_scale_growth_interval
  // consecutive updates it is doubled.
  float loss_scale = 1024;
  uint32_t loss_scale_growth_interval = 2000;

  // false: uses the cuDNN algorithms predicted to be fastest; true: measures them when a runner is
  // made. In both cases only deterministic algorithms are used, but two measurements may choose
  // different algorithms, and so give other bits.
  bool measure_algorithms = false;
  // The workspace for cuDNN and cuBLASLt, beside the tensors.
  size_t workspace_bytes = size_t{256} << 20;
  // false: launches each kernel separately, for debuggers.
  bool graphs = true;
};

// The same GPU, options and libraries give the same bits in every run, without measure_algorithms.
//
// forward() of a training runner also starts the backward pass and waits only for the loss: the GPU
// computes gradients while the host checks the loss and loads the next batch. backward() is a
// no-op, and gradients may already be different after forward() alone.
//
// Not thread-safe: one thread at a time may use the backend, its variables and its runners.
class CudaBackend final : public Backend {
 public:
  // Throws Error{unsupported} with the missing part (a driver, a GPU, compute capability 8.0 or
  // later), Error{invalid_argument} for invalid options, and Error{limit_exceeded} if the GPU's
  // memory is exhausted. Throws DeviceError if the GPU, the driver or one of NVIDIA's libraries
  // fails, as every later function may.
  explicit CudaBackend(const CudaBackendOptions& options = {});

  // "cuda, NVIDIA H100 80GB HBM3, fp32, CUDA 13.0, cuDNN 9.19.0"
  std::string name() const override;
  std::unique_ptr<Variables> make_variables(const Network& network) override;
  // Also throws Error{unsupported} if cuDNN has no algorithm for a convolution, and for
  // shared_statistics.
  std::unique_ptr<Runner> make_runner(const Network& network, Variables& variables,
                                      const RunnerOptions& options) override;

  const std::shared_ptr<cuda::Device>& device() const { return device_; }

 private:
  CudaBackendOptions options_;
  std::shared_ptr<cuda::Device> device_;
};

}  // namespace recordpipe
