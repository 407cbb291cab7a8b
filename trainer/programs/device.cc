#include "trainer/programs/device.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "dataset/base/error.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/reference/reference_backend.h"
#include "trainer/backend/replicated/tower_backend.h"
#ifdef RECORDPIPE_CUDA
#include "trainer/backend/cuda/cuda_backend.h"
#endif

namespace recordpipe {
namespace {

std::unique_ptr<Backend> make_cuda_backend([[maybe_unused]] const std::string& precision) {
#ifdef RECORDPIPE_CUDA
  CudaBackendOptions options;
  options.precision = precision == "tf32"   ? CudaPrecision::tf32
                      : precision == "bf16" ? CudaPrecision::bf16
                      : precision == "fp16" ? CudaPrecision::fp16
                                            : CudaPrecision::fp32;
  return std::make_unique<CudaBackend>(options);
#else
  throw Error({.kind = ErrorKind::unsupported,
               .reason = "this program was built without the CUDA backend",
               .hint = "build with -DRECORDPIPE_CUDA=ON, which wants nvcc and cuDNN 9; or leave "
                       "--device auto, or cpu"});
#endif
}

void require_fp32(const std::string& precision, const std::string& reason) {
  if (precision != "fp32")
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "only a GPU computes in " + precision + ": " + reason,
                 .hint = "--precision fp32 runs everywhere"});
}

}  // namespace

std::unique_ptr<Backend> make_backend(const std::string& device, size_t threads,
                                      const std::string& precision) {
  if (device == "cuda") return make_cuda_backend(precision);
  if (device == "auto") {
    try {
      auto backend = make_cuda_backend(precision);
      spdlog::info("device auto: {}", backend->name());
      return backend;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      require_fp32(precision, error.reason());
      spdlog::info("device auto: cpu, because {}", error.reason());
    }
  }
  require_fp32(precision, "the device is " + device);
  if (device == "reference") return std::make_unique<ReferenceBackend<>>();
  return std::make_unique<CpuBackend>(CpuBackendOptions{.threads = threads});
}

std::unique_ptr<Backend> with_towers(std::unique_ptr<Backend> backend, size_t towers) {
  if (towers == 1) return backend;
  return std::make_unique<TowerBackend>(std::move(backend), TowerBackendOptions{.towers = towers});
}

void log_placement(const Backend& backend, const Network& network) {
  for (const NetworkNode& node : network.nodes()) spdlog::info("{}: {}", node.name, backend.name());
  for (const VariableSpec& variable : network.variables())
    spdlog::info("{}: {}", variable.name, backend.name());
}

}  // namespace recordpipe
