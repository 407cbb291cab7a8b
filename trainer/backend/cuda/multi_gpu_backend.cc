#include "trainer/backend/cuda/multi_gpu_backend.h"

#include <exception>
#include <span>
#include <utility>

#include "recordpipe/error.h"
#include "trainer/backend/cuda/cuda_runner.h"
#include "trainer/backend/cuda/multi_gpu_variables.h"
#include "trainer/backend/cuda/replica_exchange.h"
#include "trainer/backend/replicated/dealt_runner.h"
#include "trainer/backend/replicated/joint_step.h"

namespace recordpipe {
namespace {

using Gpus = std::vector<std::unique_ptr<CudaBackend>>;

Gpus open(const MultiGpuBackendOptions& options, size_t rank_on_machine) {
  Gpus gpus;
  for (size_t i = 0; i < options.gpus; ++i) {
    CudaBackendOptions cuda = options.cuda;
    cuda.device += rank_on_machine * options.gpus + i;
    gpus.push_back(std::make_unique<CudaBackend>(cuda));
  }
  return gpus;
}

// A process without a GPU must not leave the others waiting.
Gpus open_in_all(const MultiGpuBackendOptions& options, Communicator& processes) {
  Gpus gpus;
  std::exception_ptr failure;
  try {
    gpus = open(options, processes.rank_on_machine());
  } catch (const Error&) {
    failure = std::current_exception();
  }
  const bool failed = any(processes, failure != nullptr);
  if (failure) std::rethrow_exception(failure);
  if (failed)
    throw Error({.kind = ErrorKind::unsupported, .reason = "another process can't use its GPUs"});
  return gpus;
}

class MultiGpuRunner final : public DealtRunner {
 public:
  MultiGpuRunner(const Network& network, cuda::MultiGpuVariables& variables,
                 const RunnerOptions& options, std::vector<std::unique_ptr<Runner>> gpus,
                 cuda::ReplicaExchange& exchange, Communicator& processes)
      : DealtRunner(network, options, std::move(gpus)),
        variables_(variables),
        batch_size_(options.batch_size),
        exchange_(exchange),
        processes_(processes) {
    for (const auto& copy : variables.copies()) {
      gradients_.push_back(copy->gradients());
      statistics_.push_back(copy->statistics());
    }
  }

  BatchResult forward() override {
    if (!std::exchange(same_start_, true)) require_same_start(processes_, variables_, batch_size_);
    for (const auto& part : parts()) gpu(part).launch();
    BatchResult sum;
    for (const auto& part : parts()) {
      const BatchResult result = gpu(part).wait_for_result();
      sum.loss += result.loss;
      sum.correct += result.correct;
      sum.images += result.images;
    }
    sum.loss /= static_cast<double>(parts().size());
    return result_of_all(processes_, sum);
  }

  void backward() override {
    for (const auto& part : parts()) part->backward();
    exchange_.average(gradients_, variables_.copies().front()->trained_size());
  }

  void update_statistics() override {
    parts().front()->update_statistics();
    if (const size_t size = variables_.copies().front()->statistics_size(); size > 0)
      exchange_.share(statistics_, size);
  }

 private:
  static cuda::CudaRunner& gpu(const std::unique_ptr<Runner>& part) {
    return static_cast<cuda::CudaRunner&>(*part);
  }

  cuda::MultiGpuVariables& variables_;
  const size_t batch_size_;
  cuda::ReplicaExchange& exchange_;
  Communicator& processes_;
  std::vector<float*> gradients_, statistics_;  // of all, on each GPU
  bool same_start_ = false;                     // whether it was checked
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
  const RunnerOptions of_gpu = options_of_part(options, gpus_.size(), "GPUs");
  std::vector<std::unique_ptr<Runner>> runners;
  for (size_t i = 0; i < gpus_.size(); ++i)
    runners.push_back(gpus_[i]->make_runner(network, *own->copies()[i], of_gpu));
  return std::make_unique<MultiGpuRunner>(network, *own, options, std::move(runners), *exchange_,
                                          processes_);
}

}  // namespace recordpipe
