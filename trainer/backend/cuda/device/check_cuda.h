// Turns CUDA runtime statuses into exceptions.
#pragma once

#include <string>

#include <cuda_runtime.h>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/backend/backend.h"

namespace recordpipe::cuda {

// Whether a status means that this GPU or driver can't run this program, rather than that it
// failed.
constexpr bool is_unsupported(cudaError_t status) {
  switch (status) {
    case cudaErrorCallRequiresNewerDriver:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorNotSupported:
    case cudaErrorStubLibrary:
    case cudaErrorUnsupportedPtxVersion:
      return true;
    default:
      return false;
  }
}

// Throws Error{unsupported} or DeviceError: "ACTION failed: MESSAGE".
[[noreturn]] inline void fail(bool unsupported, const char* action, const std::string& message) {
  const std::string reason = std::string(action) + " failed: " + message;
  if (unsupported) throw Error({.kind = ErrorKind::unsupported, .reason = reason});
  throw DeviceError({.kind = ErrorKind::io,
                     .reason = reason,
                     .hint = "start the program again; if the error returns, see the driver's "
                             "messages in dmesg"});
}

// Throws Error{limit_exceeded} if memory ran out, Error{unsupported} or DeviceError: "ACTION
// failed: CUDA's message".
inline void check(cudaError_t status, const char* action) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error for the next check
  if (status == cudaErrorMemoryAllocation) fail_for_memory();
  fail(is_unsupported(status), action,
       std::string(cudaGetErrorName(status)) + ", " + cudaGetErrorString(status));
}

}  // namespace recordpipe::cuda
