// Tests which exceptions the statuses of CUDA, cuDNN and cuBLAS become. Needs their libraries, but
// no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/error.h"
#include "tests/support/expect_error.h"
#include "trainer/backend/cuda/check_cuda.h"
#include "trainer/backend/cuda/device_handles.h"

namespace recordpipe::cuda {
namespace {

using testing::HasSubstr;

template <class Status>
bool is_failure(Status status) {
  try {
    check(status, "a call");
  } catch (const DeviceError&) {
    return true;
  } catch (const Error&) {
  }
  return false;
}

template <class Status>
ErrorKind kind_of(Status status) {
  return error_of([&] { check(status, "a call"); }).kind();
}

TEST(CudaStatus, OfAGpuThatFailedIsADeviceError) {
  for (const cudaError_t status :
       {cudaErrorIllegalAddress, cudaErrorLaunchFailure, cudaErrorECCUncorrectable,
        cudaErrorDevicesUnavailable, cudaErrorSystemDriverMismatch, cudaErrorUnknown})
    EXPECT_TRUE(is_failure(status)) << cudaGetErrorName(status);
  for (const cudnnStatus_t status :
       {CUDNN_STATUS_NOT_INITIALIZED, CUDNN_STATUS_INTERNAL_ERROR, CUDNN_STATUS_EXECUTION_FAILED,
        CUDNN_STATUS_EXECUTION_FAILED_CUDART, CUDNN_STATUS_BAD_PARAM})
    EXPECT_TRUE(is_failure(status)) << cudnnGetErrorString(status);
  for (const cublasStatus_t status : {CUBLAS_STATUS_EXECUTION_FAILED, CUBLAS_STATUS_INTERNAL_ERROR,
                                      CUBLAS_STATUS_NOT_INITIALIZED})
    EXPECT_TRUE(is_failure(status)) << cublasLtGetStatusString(status);
  EXPECT_THAT(error_of([] { check(cudaErrorIllegalAddress, "a copy"); }).what(),
              HasSubstr("a copy failed: cudaErrorIllegalAddress, "));
}

TEST(CudaStatus, OfAMachineThatCantRunTheProgramIsUnsupported) {
  for (const cudaError_t status : {cudaErrorNoDevice, cudaErrorInsufficientDriver,
                                   cudaErrorNoKernelImageForDevice, cudaErrorUnsupportedPtxVersion})
    EXPECT_EQ(kind_of(status), ErrorKind::unsupported) << cudaGetErrorName(status);
  for (const cudnnStatus_t status :
       {CUDNN_STATUS_NOT_SUPPORTED, CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH,
        CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED})
    EXPECT_EQ(kind_of(status), ErrorKind::unsupported) << cudnnGetErrorString(status);
  for (const cublasStatus_t status : {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_ARCH_MISMATCH})
    EXPECT_EQ(kind_of(status), ErrorKind::unsupported) << cublasLtGetStatusString(status);
}

TEST(CudaStatus, OfTooLittleMemoryIsALimit) {
  EXPECT_EQ(kind_of(cudaErrorMemoryAllocation), ErrorKind::limit_exceeded);
  EXPECT_EQ(kind_of(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED),
            ErrorKind::limit_exceeded);
  EXPECT_EQ(kind_of(CUBLAS_STATUS_ALLOC_FAILED), ErrorKind::limit_exceeded);
}

TEST(CudaStatus, OfSuccessIsNone) {
  EXPECT_NO_THROW(check(cudaSuccess, "a call"));
  EXPECT_NO_THROW(check(CUDNN_STATUS_SUCCESS, "a call"));
  EXPECT_NO_THROW(check(CUBLAS_STATUS_SUCCESS, "a call"));
}

}  // namespace
}  // namespace recordpipe::cuda
