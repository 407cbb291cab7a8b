#include "trainer/programs/device.h"

#include <functional>
#include <utility>

#include "recordpipe/error.h"
#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/backend/reference/reference_backend.h"
#include "recordpipe/trainer/backend/replicated/distributed_backend.h"
#include "recordpipe/trainer/backend/replicated/tower_backend.h"
#include "trainer/programs/log.h"
#ifdef RECORDPIPE_CUDA
#include "trainer/backend/cuda/cuda_backend.h"
#include "trainer/backend/cuda/multi_gpu_backend.h"
#endif

namespace recordpipe {
namespace {

#ifdef RECORDPIPE_CUDA
CudaBackendOptions cuda_options(const std::string& precision) {
  CudaBackendOptions options;
  options.precision = precision == "tf32"   ? CudaPrecision::tf32
                      : precision == "bf16" ? CudaPrecision::bf16
                      : precision == "fp16" ? CudaPrecision::fp16
                                            : CudaPrecision::fp32;
  return options;
}
#endif

std::unique_ptr<Backend> make_cuda_backend([[maybe_unused]] const std::string& precision) {
#ifdef RECORDPIPE_CUDA
  return std::make_unique<CudaBackend>(cuda_options(precision));
#else
  throw Error({.kind = ErrorKind::unsupported,
               .reason = "this program was built without the CUDA backend",
               .hint = "build with -DRECORDPIPE_CUDA=ON, which needs nvcc and cuDNN 9; or use "
                       "--device auto or cpu"});
#endif
}

void require_fp32(const std::string& precision, const std::string& reason) {
  if (precision != "fp32")
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "only a GPU computes in " + precision + ": " + reason,
                 .hint = "--precision fp32 runs everywhere"});
}

using Make = std::function<std::unique_ptr<Backend>()>;

std::unique_ptr<Backend> make_for(const std::string& device, size_t threads,
                                  const std::string& precision, const Make& make_cuda) {
  if (device == "cuda") return make_cuda();
  if (device == "auto") {
    try {
      auto backend = make_cuda();
      log_info("device auto: {}", backend->name());
      return backend;
    } catch (const Error& error) {
      // No GPU, or none with free memory.
      if (error.kind() != ErrorKind::unsupported && error.kind() != ErrorKind::limit_exceeded)
        throw;
      require_fp32(precision, error.reason());
      log_info("device auto: cpu, because {}", error.reason());
    }
  }
  require_fp32(precision, "the device is " + device);
  if (device == "reference") return std::make_unique<ReferenceBackend<>>();
  return std::make_unique<CpuBackend>(CpuBackendOptions{.threads = threads});
}

std::unique_ptr<Backend> make_gpus([[maybe_unused]] const TrainingDevice& device,
                                   [[maybe_unused]] Communicator& processes) {
#ifdef RECORDPIPE_CUDA
  if (device.sync_batch_norm)
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "batch norm statistics can't be shared between several GPUs",
                 .hint = "omit --sync-batch-norm, or use --device cpu"});
  const std::string& strategy = device.variable_strategy;
  return std::make_unique<MultiGpuBackend>(
      processes, MultiGpuBackendOptions{.gpus = device.num_gpus,
                                        .exchange = strategy.empty() ? GradientExchange::automatic
                                                    : strategy == "GPU" ? GradientExchange::gpus
                                                                        : GradientExchange::host,
                                        .cuda = cuda_options(device.precision)});
#else
  return make_cuda_backend(device.precision);
#endif
}

}  // namespace

std::unique_ptr<Backend> make_backend(const std::string& device, size_t threads,
                                      const std::string& precision) {
  return make_for(device, threads, precision, [&] { return make_cuda_backend(precision); });
}

std::unique_ptr<Backend> make_training_backend(const TrainingDevice& device,
                                               Communicator& processes) {
  bool on_gpus = false;
  auto backend = make_for(device.device, device.threads, device.precision, [&] {
    const bool several = device.num_gpus > 1 || processes.size() > 1;
    auto gpus = several ? make_gpus(device, processes) : make_cuda_backend(device.precision);
    on_gpus = true;
    return gpus;
  });
  if (on_gpus) return backend;
  if (device.variable_strategy == "GPU")
    throw Error(
        {.kind = ErrorKind::invalid_argument,
         .reason = "--variable-strategy GPU needs GPUs, but the device is " + backend->name()});
  if (device.num_gpus > 1)
    backend = std::make_unique<TowerBackend>(
        std::move(backend),
        TowerBackendOptions{.towers = device.num_gpus, .sync_batch_norm = device.sync_batch_norm});
  if (processes.size() > 1)
    backend = std::make_unique<DistributedBackend>(
        std::move(backend), processes,
        DistributedBackendOptions{.sync_batch_norm = device.sync_batch_norm});
  return backend;
}

void log_placement(const Backend& backend, const Network& network) {
  for (const NetworkNode& node : network.nodes()) log_info("{}: {}", node.name, backend.name());
  for (const VariableSpec& variable : network.variables())
    log_info("{}: {}", variable.name, backend.name());
}

}  // namespace recordpipe
