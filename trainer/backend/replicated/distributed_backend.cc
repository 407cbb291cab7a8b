#include "recordpipe/trainer/backend/replicated/distributed_backend.h"

#include <utility>
#include <vector>

#include "trainer/backend/replicated/flat_slot.h"
#include "trainer/backend/replicated/joint_step.h"

namespace recordpipe {
namespace {

class DistributedRunner final : public Runner {
 public:
  DistributedRunner(std::unique_ptr<Runner> runner, Variables& variables,
                    Communicator& communicator, size_t batch_size)
      : runner_(std::move(runner)),
        variables_(variables),
        communicator_(communicator),
        batch_size_(batch_size),
        gradients_(variables, /*trained=*/true, Slot::gradient),
        statistics_(variables, /*trained=*/false, Slot::value) {}

  void load(const ImageBatch& batch) override { runner_->load(batch); }

  BatchResult forward() override {
    if (!std::exchange(same_start_, true))
      require_same_start(communicator_, variables_, batch_size_);
    return result_of_all(communicator_, runner_->forward());
  }

  void backward() override {
    runner_->backward();
    gradients_.read();
    communicator_.all_reduce_sum(gradients_.values());
    const float share = 1 / static_cast<float>(communicator_.size());
    for (float& value : gradients_.values()) value *= share;
    gradients_.write();
  }

  void update_statistics() override {
    runner_->update_statistics();
    statistics_.read();
    communicator_.broadcast(std::as_writable_bytes(statistics_.values()));
    statistics_.write();
  }

  // Of this process's images.
  std::vector<float> output(NodeId node) const override { return runner_->output(node); }
  size_t count_zeros(NodeId node) const override { return runner_->count_zeros(node); }
  void trace_to(std::shared_ptr<ChromeTrace> trace) override {
    runner_->trace_to(std::move(trace));
  }

 private:
  const std::unique_ptr<Runner> runner_;
  Variables& variables_;
  Communicator& communicator_;
  const size_t batch_size_;
  FlatSlot gradients_, statistics_;
  bool same_start_ = false;  // whether it was checked
};

}  // namespace

DistributedBackend::DistributedBackend(std::unique_ptr<Backend> backend, Communicator& communicator,
                                       const DistributedBackendOptions& options)
    : backend_(std::move(backend)), communicator_(communicator), options_(options) {}

std::string DistributedBackend::name() const {
  const size_t size = communicator_.size();
  return (size == 1 ? "" : std::to_string(size) + " processes, each on ") + backend_->name();
}

std::unique_ptr<Variables> DistributedBackend::make_variables(const Network& network) {
  return backend_->make_variables(network);
}

std::unique_ptr<Runner> DistributedBackend::make_runner(const Network& network,
                                                        Variables& variables,
                                                        const RunnerOptions& options) {
  if (options.mode == Mode::inference || communicator_.size() == 1)
    return backend_->make_runner(network, variables, options);
  RunnerOptions of_process = options;
  if (options_.sync_batch_norm) of_process.shared_statistics = &communicator_;
  auto runner = backend_->make_runner(network, variables, of_process);
  return std::make_unique<DistributedRunner>(std::move(runner), variables, communicator_,
                                             options.batch_size);
}

}  // namespace recordpipe
