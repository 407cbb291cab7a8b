// Turns CUDA runtime statuses into exceptions.
#pragma once

#include <string>

#include <cuda_runtime.h>

#include "recordpipe/error.h"
#include "recordpipe/trainer/backend/backend.h"

namespace recordpipe::cuda {

// Throws Error{limit_exceeded} if memory ran out, else Error{unsupported}: "ACTION failed: CUDA's
// message".
inline void check(cudaError_t status, const char* action) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error for the next check
  if (status == cudaErrorMemoryAllocation) fail_for_memory();
  throw Error({.kind = ErrorKind::unsupported,
               .reason = std::string(action) + " failed: " + cudaGetErrorName(status) + ", " +
                         cudaGetErrorString(status)});
}

}  // namespace recordpipe::cuda
