#include "trainer/backend/cuda/replicated/multi_gpu_backend.h"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "recordpipe/base/error.h"
#include "trainer/backend/cuda/cuda_runner.h"
#include "trainer/backend/cuda/device/device.h"
#include "trainer/backend/cuda/replicated/multi_gpu_variables.h"
#include "trainer/backend/cuda/replicated/replica_exchange.h"
#include "trainer/backend/replicated/replica_runner.h"

namespace recordpipe {
namespace {

using Gpus = std::vector<std::unique_ptr<CudaBackend>>;

// A launcher may have given each process its own GPUs: it sees no others, and they are numbered
// from 0 in each process.
Gpus open(const MultiGpuBackendOptions& options, size_t rank_on_machine) {
  const bool sees_only_its_own = cuda::Device::count() == options.cuda.device + options.gpus;
  const size_t first = sees_only_its_own ? 0 : rank_on_machine * options.gpus;
  Gpus gpus;
  for (size_t i = 0; i < options.gpus; ++i) {
    CudaBackendOptions cuda = options.cuda;
    cuda.device += first + i;
    gpus.push_back(std::make_unique<CudaBackend>(cuda));
  }
  return gpus;
}

// Whether two processes, or one twice, use the same GPU.
bool share_gpus(const Gpus& gpus, Communicator& processes) {
  // Each process adds the ids of its GPUs in its own place, where the others add zeros. A double
  // holds them exactly.
  std::vector<double> ids(processes.size() * gpus.size());
  for (size_t i = 0; i < gpus.size(); ++i)
    ids[processes.rank() * gpus.size() + i] = static_cast<double>(gpus[i]->device()->id());
  processes.all_reduce_sum(std::span(ids));
  std::ranges::sort(ids);
  return std::ranges::adjacent_find(ids) != ids.end();
}

// A process without a GPU must not leave the others waiting.
Gpus open_in_all(const MultiGpuBackendOptions& options, Communicator& processes) {
  Gpus gpus;
  std::exception_ptr failure;
  bool broken = false;
  try {
    gpus = open(options, processes.rank_on_machine());
  } catch (const Error& error) {
    failure = std::current_exception();
    broken = dynamic_cast<const DeviceError*>(&error) != nullptr;
  }
  const bool failed = any(processes, failure != nullptr), any_broken = any(processes, broken);
  if (failure) std::rethrow_exception(failure);
  if (any_broken)
    throw DeviceError({.kind = ErrorKind::io, .reason = "a GPU of another process has failed"});
  if (failed)
    throw Error({.kind = ErrorKind::unsupported, .reason = "another process can't use its GPUs"});
  if (share_gpus(gpus, processes))
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "several processes use the same GPU",
                 .hint = "start one process per GPU, or set CUDA_VISIBLE_DEVICES to other GPUs in "
                         "each process"});
  return gpus;
}

class MultiGpuRunner final : public ReplicaRunner {
 public:
  MultiGpuRunner(const Network& network, cuda::MultiGpuVariables& variables,
                 const RunnerOptions& options, std::vector<std::unique_ptr<Runner>> gpus,
                 cuda::ReplicaExchange& exchange, Communicator& processes)
      : ReplicaRunner(network, variables, options, std::move(gpus), processes),
        variables_(variables),
        exchange_(exchange) {
    for (const auto& copy : variables.copies()) {
      gradients_.push_back(copy->gradients());
      statistics_.push_back(copy->statistics());
    }
  }

  void backward() override {
    for (const auto& gpu : replicas()) gpu->backward();
    exchange_.average(gradients_, variables_.copies().front()->trained_size());
  }

  void update_statistics() override {
    replicas().front()->update_statistics();
    if (const size_t size = variables_.copies().front()->statistics_size(); size > 0)
      exchange_.share(statistics_, size);
  }

 private:
  void start(Runner& gpu) override { static_cast<cuda::CudaRunner&>(gpu).launch(); }
  BatchResult result_of(Runner& gpu) override {
    return static_cast<cuda::CudaRunner&>(gpu).wait_for_result();
  }

  cuda::MultiGpuVariables& variables_;
  cuda::ReplicaExchange& exchange_;
  std::vector<float*> gradients_, statistics_;  // of all, on each GPU
};

}  // namespace

MultiGpuBackend::MultiGpuBackend(Communicator& processes, const MultiGpuBackendOptions& options)
    : processes_(processes) {
  if (options.gpus == 0)
    throw Error({.kind = ErrorKind::invalid_argument, .reason = "there must be at least one GPU"});
  gpus_ = open_in_all(options, processes);
  cuda::Devices devices;
  for (const auto& gpu : gpus_) devices.push_back(gpu->device());
  if (options.exchange != GradientExchange::host) {
    try {
      exchange_ = cuda::exchange_by_nccl(devices, processes);
      by_nccl_ = true;
    } catch (const Error& error) {
      const bool may_lack = options.exchange == GradientExchange::automatic;
      if (!may_lack || error.kind() != ErrorKind::unsupported) throw;
    }
  }
  if (!exchange_) exchange_ = cuda::exchange_on_host(std::move(devices), processes);
}

MultiGpuBackend::~MultiGpuBackend() = default;

std::string MultiGpuBackend::name() const {
  const std::string of_process =
      gpus_.size() == 1 ? gpus_.front()->name()
                        : std::to_string(gpus_.size()) + " GPUs: " + gpus_.front()->name();
  return (processes_.size() == 1 ? ""
                                 : std::to_string(processes_.size()) + " processes, each on ") +
         of_process + (by_nccl_ ? ", gradients by NCCL" : ", gradients by the host");
}

std::unique_ptr<Variables> MultiGpuBackend::make_variables(const Network& network) {
  cuda::MultiGpuVariables::Copies copies;
  for (const auto& gpu : gpus_) {
    auto copy = gpu->make_variables(network);
    copies.emplace_back(static_cast<cuda::CudaVariables*>(copy.release()));
  }
  return std::make_unique<cuda::MultiGpuVariables>(std::move(copies));
}

std::unique_ptr<Runner> MultiGpuBackend::make_runner(const Network& network, Variables& variables,
                                                     const RunnerOptions& options) {
  auto* own = dynamic_cast<cuda::MultiGpuVariables*>(&variables);
  check_runner(network, own, options);
  if (own->copies().size() != gpus_.size())
    throw Error(
        {.kind = ErrorKind::invalid_argument, .reason = "the variables belong to another backend"});
  if (options.mode == Mode::inference)
    return gpus_.front()->make_runner(network, *own->copies().front(), options);
  const RunnerOptions of_gpu = options_of_replica(options, gpus_.size(), "GPUs");
  std::vector<std::unique_ptr<Runner>> runners;
  for (size_t i = 0; i < gpus_.size(); ++i)
    runners.push_back(gpus_[i]->make_runner(network, *own->copies()[i], of_gpu));
  return std::make_unique<MultiGpuRunner>(network, *own, options, std::move(runners), *exchange_,
                                          processes_);
}

}  // namespace recordpipe
