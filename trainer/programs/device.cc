#include "trainer/programs/device.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "dataset/base/error.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/reference/reference_backend.h"
#include "trainer/backend/replicated/distributed_backend.h"
#include "trainer/backend/replicated/tower_backend.h"
#ifdef RECORDPIPE_CUDA
#include "trainer/backend/cuda/cuda_backend.h"
#endif

namespace recordpipe {
namespace {

std::unique_ptr<Backend> make_cuda_backend() {
#ifdef RECORDPIPE_CUDA
  return std::make_unique<CudaBackend>();
#else
  throw Error({.kind = ErrorKind::unsupported,
               .reason = "this program was built without the CUDA backend",
               .hint = "build with -DRECORDPIPE_CUDA=ON, which wants nvcc and cuDNN 9; or leave "
                       "--device auto, or cpu"});
#endif
}

}  // namespace

std::unique_ptr<Backend> make_backend(const std::string& device, size_t threads) {
  if (device == "reference") return std::make_unique<ReferenceBackend<>>();
  if (device == "cuda") return make_cuda_backend();
  if (device == "auto") {
    try {
      auto backend = make_cuda_backend();
      spdlog::info("device auto: {}", backend->name());
      return backend;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      spdlog::info("device auto: cpu, because {}", error.reason());
    }
  }
  return std::make_unique<CpuBackend>(CpuBackendOptions{.threads = threads});
}

std::unique_ptr<Backend> make_training_backend(const TrainingDevice& device,
                                               Communicator& processes) {
  auto backend = make_backend(device.device, device.threads);
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
  for (const NetworkNode& node : network.nodes()) spdlog::info("{}: {}", node.name, backend.name());
  for (const VariableSpec& variable : network.variables())
    spdlog::info("{}: {}", variable.name, backend.name());
}

}  // namespace recordpipe
