// The library handles behind Device, for the sources that call CUDA's libraries.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include "trainer/backend/cuda/device/device.h"
#include "trainer/backend/cuda/libraries/cudnn_graph.h"

namespace recordpipe::cuda {

struct Device::Handles {
  int index = 0;
  cudaStream_t compute = nullptr, copies = nullptr;
  cudnnHandle_t cudnn = nullptr;
  cublasLtHandle_t cublas_lt = nullptr;
  Buffer workspace;
  // The plans that were made, by their description (convolution_cudnn.cc): networks repeat shapes.
  mutable std::map<std::string, std::shared_ptr<const CudnnDescriptor>> plans;

  Handles() = default;
  ~Handles();
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
};

// Throw Error{limit_exceeded} if memory ran out, Error{unsupported} or DeviceError: "ACTION failed:
// the library's message".
void check(cudnnStatus_t status, const char* action);
void check(cublasStatus_t status, const char* action);

}  // namespace recordpipe::cuda
