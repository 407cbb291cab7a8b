// Tests which exceptions the statuses of CUDA, cuDNN and cuBLAS become, and which algorithms of
// cuBLASLt may be used. Needs their libraries, but no GPU.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "tests/support/expect_error.h"
#include "trainer/backend/cuda/device/check_cuda.h"
#include "trainer/backend/cuda/device/device_handles.h"
#include "trainer/backend/cuda/libraries/matmul_offers.h"

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

// An algorithm that cuBLASLt lists with an error isn't taken, whatever the rest of its entry says.
TEST(MatmulOffers, OfFailedResultsAreNotTaken) {
  std::vector<cublasLtMatmulHeuristicResult_t> results(2);
  results[0].state = CUBLAS_STATUS_NOT_SUPPORTED;
  results[0].workspaceSize = 1;
  results[1].workspaceSize = 100;
  const std::vector<AlgorithmOffer> offers = offers_of(results);
  const auto run = [](size_t) { return AlgorithmTrial(); };
  EXPECT_EQ(choose_algorithm("a product", offers, {.workspace_bytes = 100}, false, run), 1u);
  const std::string reason =
      error_of([&] {
        choose_algorithm("a product", offers, {.workspace_bytes = 99}, false, run);
      }).reason();
  EXPECT_THAT(reason, HasSubstr("algorithm 0"));
  EXPECT_THAT(reason, HasSubstr(cublasLtGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED)));
}

}  // namespace
}  // namespace recordpipe::cuda
