#include "recordpipe/trainer/backend/replicated/replicated_backend.h"

#include <span>
#include <utility>
#include <vector>

#include "recordpipe/base/error.h"
#include "trainer/backend/replicated/flat_slot.h"
#include "trainer/backend/replicated/replica_runner.h"

namespace recordpipe {
namespace {

class ReplicatedRunner final : public ReplicaRunner {
 public:
  ReplicatedRunner(const Network& network, Variables& variables, const RunnerOptions& options,
                   std::vector<std::unique_ptr<Runner>> towers, Communicator& processes)
      : ReplicaRunner(network, variables, options, std::move(towers), processes),
        gradients_(variables, /*trained=*/true, Slot::gradient),
        statistics_(variables, /*trained=*/false, Slot::value) {}

  void backward() override {
    replicas().front()->backward();
    gradients_.read();
    for (size_t tower = 1; tower < replicas().size(); ++tower) {
      replicas()[tower]->backward();  // overwrites the gradients of the tower before
      gradients_.add();
    }
    all_reduce_mean(gradients_.values(), replicas().size(), processes());
    gradients_.write();
  }

  void update_statistics() override {
    replicas().front()->update_statistics();
    if (processes().size() == 1) return;
    statistics_.read();
    processes().broadcast(std::as_writable_bytes(statistics_.values()));
    statistics_.write();
  }

 private:
  FlatSlot gradients_, statistics_;
};

// "2 towers on ", or nothing if there is only one.
std::string several(size_t count, const char* what) {
  return count == 1 ? "" : std::to_string(count) + what;
}

}  // namespace

ReplicatedBackend::ReplicatedBackend(std::unique_ptr<Backend> backend, Communicator& processes,
                                     const ReplicatedBackendOptions& options)
    : backend_(std::move(backend)), processes_(processes), options_(options) {
  if (options.towers == 0)
    throw Error(
        {.kind = ErrorKind::invalid_argument, .reason = "there must be at least one tower"});
}

std::string ReplicatedBackend::name() const {
  return several(processes_.size(), " processes, each on ") +
         several(options_.towers, " towers on ") + backend_->name();
}

std::unique_ptr<Variables> ReplicatedBackend::make_variables(const Network& network) {
  return backend_->make_variables(network);
}

std::unique_ptr<Runner> ReplicatedBackend::make_runner(const Network& network, Variables& variables,
                                                       const RunnerOptions& options) {
  if (options.mode == Mode::inference) return backend_->make_runner(network, variables, options);
  RunnerOptions of_tower = options_of_replica(options, options_.towers, "towers");
  if (options_.sync_batch_norm) {
    of_tower = options;
    if (processes_.size() > 1) of_tower.shared_statistics = &processes_;
  }
  const size_t towers = options_.sync_batch_norm ? 1 : options_.towers;
  if (towers == 1 && processes_.size() == 1)
    return backend_->make_runner(network, variables, of_tower);
  std::vector<std::unique_ptr<Runner>> runners;
  for (size_t tower = 0; tower < towers; ++tower)
    runners.push_back(backend_->make_runner(network, variables, of_tower));
  return std::make_unique<ReplicatedRunner>(network, variables, options, std::move(runners),
                                            processes_);
}

}  // namespace recordpipe
