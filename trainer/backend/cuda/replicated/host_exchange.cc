// Averages gradients in host memory.
#include <algorithm>
#include <functional>
#include <utility>

#include "trainer/backend/cuda/replicated/replica_exchange.h"
#include "trainer/backend/replicated/replica_runner.h"

namespace recordpipe::cuda {
namespace {

class HostExchange final : public ReplicaExchange {
 public:
  HostExchange(Devices devices, Communicator& processes)
      : devices_(std::move(devices)), processes_(processes) {}

  void average(std::span<float* const> buffers, size_t size) override {
    read(0, buffers, size);
    sum_.assign(copy_.begin(), copy_.end());
    for (size_t i = 1; i < devices_.size(); ++i) {
      read(i, buffers, size);
      std::ranges::transform(sum_, copy_, sum_.begin(), std::plus());
    }
    all_reduce_mean(sum_, devices_.size(), processes_);
    for (size_t i = 0; i < devices_.size(); ++i) write(i, buffers);
  }

  void share(std::span<float* const> buffers, size_t size) override {
    read(0, buffers, size);
    sum_.assign(copy_.begin(), copy_.end());
    processes_.broadcast(std::as_writable_bytes(std::span(sum_)));
    for (size_t i = 0; i < devices_.size(); ++i) write(i, buffers);
  }

 private:
  void read(size_t i, std::span<float* const> buffers, size_t size) {
    copy_.resize(size);
    devices_[i]->activate();
    devices_[i]->read(copy_.data(), buffers[i], size * sizeof(float));
  }

  void write(size_t i, std::span<float* const> buffers) {
    devices_[i]->activate();
    devices_[i]->write(buffers[i], sum_.data(), sum_.size() * sizeof(float));
  }

  const Devices devices_;
  Communicator& processes_;
  std::vector<float> copy_, sum_;
};

}  // namespace

std::unique_ptr<ReplicaExchange> exchange_on_host(Devices devices, Communicator& processes) {
  return std::make_unique<HostExchange>(std::move(devices), processes);
}

}  // namespace recordpipe::cuda
