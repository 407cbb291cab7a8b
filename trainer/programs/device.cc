#include "trainer/programs/device.h"

#include <functional>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/backend/reference/reference_backend.h"
#include "recordpipe/trainer/backend/replicated/replicated_backend.h"
#include "trainer/programs/log.h"
#include "trainer/programs/processes.h"
#ifdef RECORDPIPE_CUDA
#include "trainer/backend/cuda/cuda_backend.h"
#include "trainer/backend/cuda/replicated/multi_gpu_backend.h"
#endif

namespace recordpipe {
namespace {

#ifdef RECORDPIPE_CUDA
CudaBackendOptions cuda_options(const TrainingDevice& device) {
  const std::string& precision = device.precision;
  return {.precision = precision == "tf32"   ? CudaPrecision::tf32
                       : precision == "bf16" ? CudaPrecision::bf16
                       : precision == "fp16" ? CudaPrecision::fp16
                                             : CudaPrecision::fp32,
          .measure_algorithms = device.measure_algorithms};
}
#endif

std::unique_ptr<Backend> make_cuda_backend([[maybe_unused]] const TrainingDevice& device) {
#ifdef RECORDPIPE_CUDA
  return std::make_unique<CudaBackend>(cuda_options(device));
#else
  throw Error({.kind = ErrorKind::unsupported,
               .reason = "this program was built without the CUDA backend",
               .hint = "build with -DRECORDPIPE_CUDA=ON, which needs nvcc and cuDNN 9.8; or use "
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

std::unique_ptr<Backend> make_for(const TrainingDevice& device, const Make& make_cuda) {
  if (device.type == "cuda") return make_cuda();
  if (device.type == "auto") {
    try {
      auto backend = make_cuda();
      log_info("device auto: {}", backend->name());
      return backend;
    } catch (const Error& error) {
      // No GPU, or none with free memory. A GPU that fails is an error: nobody expects a training
      // on it to take days on the CPU.
      if (error.kind() != ErrorKind::unsupported && error.kind() != ErrorKind::limit_exceeded)
        throw;
      require_fp32(device.precision, error.reason());
      if (device.measure_algorithms)
        throw Error({.kind = ErrorKind::unsupported,
                     .reason = "only algorithms of a GPU can be measured: " + error.reason(),
                     .hint = "omit --measure-algorithms"});
      log_info("device auto: cpu, because {}", error.reason());
    }
  }
  require_fp32(device.precision, "the device is " + device.type);
  if (device.type == "reference") return std::make_unique<ReferenceBackend<>>();
  return std::make_unique<CpuBackend>(CpuBackendOptions{.threads = device.threads});
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
                                        .cuda = cuda_options(device)});
#else
  return make_cuda_backend(device);
#endif
}

}  // namespace

std::unique_ptr<Backend> make_backend(const TrainingDevice& device) {
  return make_for(device, [&] { return make_cuda_backend(device); });
}

std::unique_ptr<Backend> make_training_backend(const TrainingDevice& device,
                                               Communicator& processes) {
  // Different numbers of GPUs would leave processes waiting for each other.
  require_same_settings(processes,
                        {{"num_gpus", std::to_string(device.num_gpus)},
                         {"sync_batch_norm", device.sync_batch_norm ? "true" : "false"}});
  bool on_gpus = false;
  auto backend = make_for(device, [&] {
    const bool several = device.num_gpus > 1 || processes.size() > 1;
    auto gpus = several ? make_gpus(device, processes) : make_cuda_backend(device);
    on_gpus = true;
    return gpus;
  });
  if (on_gpus) return backend;
  if (device.variable_strategy == "GPU")
    throw Error(
        {.kind = ErrorKind::invalid_argument,
         .reason = "--variable-strategy GPU needs GPUs, but the device is " + backend->name()});
  return std::make_unique<ReplicatedBackend>(
      std::move(backend), processes,
      ReplicatedBackendOptions{.towers = device.num_gpus,
                               .sync_batch_norm = device.sync_batch_norm});
}

void log_placement(const Backend& backend, const Network& network) {
  for (const NetworkNode& node : network.nodes()) log_info("{}: {}", node.name, backend.name());
  for (const VariableSpec& variable : network.variables())
    log_info("{}: {}", variable.name, backend.name());
}

}  // namespace recordpipe
