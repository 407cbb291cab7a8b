// Several GPUs that train one network together, in one process and in several.
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

// Where the gradients of all GPUs are averaged.
enum class GradientExchange {
  automatic,  // by NCCL where it can be loaded, else in the host's memory; name() says which
  gpus,       // on the GPUs, by NCCL
  host,       // in the host's memory; between processes by the communicator
};

struct MultiGpuBackendOptions {
  size_t gpus = 1;  // of each process
  GradientExchange exchange = GradientExchange::automatic;
  CudaBackendOptions cuda = {};  // of each; `device` is the first of this machine
};

// What --num-gpus and --sync train on GPUs. The processes of a machine take its GPUs in their
// order, each as many as the options say.
//
// Each GPU has the variables and computes its share of a batch: image i of a process's batch of
// N · b goes to its GPU i mod N; N must divide the batch size. The gradients are the mean of all
// GPUs' in all processes, and each GPU makes the same update, so that the copies stay the same.
// Loss and counts are those of all images. Batch norm normalises each GPU's images by their own
// statistics, and the moving ones follow those of the first GPU of the first process. So a network
// without batch norm learns what one GPU would learn from all images, to within rounding.
//
// The first forward() compares what the processes start from, as DistributedBackend's does. In
// inference, and for what is looked at, there is the process's first GPU.
class MultiGpuBackend final : public Backend {
 public:
  // To be called by all `processes`, which must outlive it. Throws what CudaBackend's constructor
  // throws, in all processes where one of them can't use its GPUs, Error{unsupported} where
  // GradientExchange::gpus is asked for and there is no NCCL, and Error{network} where NCCL fails.
  MultiGpuBackend(Communicator& processes, const MultiGpuBackendOptions& options = {});
  ~MultiGpuBackend() override;

  // "2 processes, each on 4 GPUs: cuda, NVIDIA H100 80GB HBM3, ..., gradients by NCCL"
  std::string name() const override;
  std::unique_ptr<Variables> make_variables(const Network& network) override;
  // Throws Error{invalid_argument} also where the GPUs don't divide a training's batch size.
  std::unique_ptr<Runner> make_runner(const Network& network, Variables& variables,
                                      const RunnerOptions& options) override;

 private:
  Communicator& processes_;
  std::vector<std::unique_ptr<CudaBackend>> gpus_;
  bool by_nccl_ = false;
  std::unique_ptr<cuda::ReplicaExchange> exchange_;
};

}  // namespace recordpipe
