// Several GPUs, in one or several processes, that train one network together.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "recordpipe/trainer/backend/replicated/communicator.h"
#include "trainer/backend/cuda/cuda_backend.h"

namespace recordpipe {

namespace cuda {
class ReplicaExchange;
}

// The place where the gradients of all GPUs are averaged.
enum class GradientExchange {
  automatic,  // NCCL if it can be loaded, else host memory; name() tells which
  gpus,       // on the GPUs, by NCCL
  host,       // in host memory; between processes by the communicator
};

struct MultiGpuBackendOptions {
  size_t gpus = 1;  // per process
  GradientExchange exchange = GradientExchange::automatic;
  CudaBackendOptions cuda = {};  // for each GPU; `device` is the first on this machine
};

// Used by --num-gpus and --sync on GPUs. The processes of a machine take its GPUs in order, each
// the number in the options. If each process sees only this number of GPUs (CUDA_VISIBLE_DEVICES),
// it takes these.
//
// Each GPU holds the variables and computes its share of a batch: image i of a process's batch of N
// · b images goes to its GPU i mod N; N must divide the batch size. The gradients are the mean over
// all GPUs of all processes, and each GPU makes the same update, so that the copies stay equal.
// Loss and counts are those of all images. Batch norm normalises each GPU's images by their own
// statistics; the moving statistics are those of the first GPU of the first process. A network
// without batch norm therefore learns what one GPU would learn from all images, up to rounding.
//
// The first forward() compares the initial state of the processes, as in ReplicatedBackend.
// Inference uses the process's first GPU only.
class MultiGpuBackend final : public Backend {
 public:
  // All `processes`, which must outlive this object, must call it. Throws the errors of
  // CudaBackend's constructor, in all processes if one can't use its GPUs; Error{unsupported} if
  // two processes have the same GPU, and for GradientExchange::gpus without NCCL; and DeviceError
  // if NCCL fails.
  MultiGpuBackend(Communicator& processes, const MultiGpuBackendOptions& options = {});
  ~MultiGpuBackend() override;

  // "2 processes, each on 4 GPUs: cuda, NVIDIA H100 80GB HBM3, ..., gradients by NCCL"
  std::string name() const override;
  std::unique_ptr<Variables> make_variables(const Network& network) override;
  // Also throws Error{invalid_argument} if the number of GPUs doesn't divide the batch size in
  // training.
  std::unique_ptr<Runner> make_runner(const Network& network, Variables& variables,
                                      const RunnerOptions& options) override;

 private:
  Communicator& processes_;
  std::vector<std::unique_ptr<CudaBackend>> gpus_;
  bool by_nccl_ = false;
  std::unique_ptr<cuda::ReplicaExchange> exchange_;
};

}  // namespace recordpipe
