#include "trainer/backend/cuda/cuda_backend.h"

#include <new>

#include "recordpipe/base/error.h"
#include "trainer/backend/cuda/cuda_runner.h"
#include "trainer/backend/cuda/cuda_variables.h"
#include "trainer/backend/cuda/device/device.h"

namespace recordpipe {
namespace {

const char* name_of(CudaPrecision precision) {
  switch (precision) {
    case CudaPrecision::fp32:
      return "fp32";
    case CudaPrecision::tf32:
      return "tf32";
    case CudaPrecision::bf16:
      return "bf16";
    case CudaPrecision::fp16:
      return "fp16";
  }
  return "unknown";
}

void check(const CudaBackendOptions& options) {
  if (!is_valid(LossScale{.scale = options.loss_scale}))
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "the loss scale must be a power of two from 1 to 2^24"});
  if (options.loss_scale_growth_interval == 0)
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "the loss scale's growth interval must be positive"});
}

}  // namespace

CudaBackend::CudaBackend(const CudaBackendOptions& options) : options_(options) {
  check(options);
  device_ = std::make_shared<cuda::Device>(
      cuda::DeviceOptions{.index = options.device, .workspace_bytes = options.workspace_bytes});
}

std::string CudaBackend::name() const {
  return "cuda, " + device_->gpu_name() + ", " + name_of(options_.precision) + ", " +
         device_->library_versions();
}

std::unique_ptr<Variables> CudaBackend::make_variables(const Network& network) {
  return std::make_unique<cuda::CudaVariables>(device_, network, options_);
}

std::unique_ptr<Runner> CudaBackend::make_runner(const Network& network, Variables& variables,
                                                 const RunnerOptions& options) {
  auto* own = dynamic_cast<cuda::CudaVariables*>(&variables);
  check_runner(network, own, options);
  own->require_made_for(*device_, network, options_);
  if (options.shared_statistics)
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "batch norm statistics can't be shared between processes on GPUs"});
  try {
    return std::make_unique<cuda::CudaRunner>(device_, network, *own, options, options_);
  } catch (const std::bad_alloc&) {
    fail_for_memory();
  }
}

}  // namespace recordpipe
