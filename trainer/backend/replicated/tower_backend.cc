#include "recordpipe/trainer/backend/replicated/tower_backend.h"

#include <utility>
#include <vector>

#include "recordpipe/error.h"
#include "trainer/backend/replicated/dealt_runner.h"
#include "trainer/backend/replicated/flat_slot.h"

namespace recordpipe {
namespace {

class TowerRunner final : public DealtRunner {
 public:
  TowerRunner(const Network& network, Variables& variables, const RunnerOptions& options,
              std::vector<std::unique_ptr<Runner>> towers)
      : DealtRunner(network, options, std::move(towers)),
        gradients_(variables, /*trained=*/true, Slot::gradient) {}

  BatchResult forward() override {
    BatchResult sum;
    for (const auto& tower : parts()) {
      const BatchResult result = tower->forward();
      sum.loss += result.loss;
      sum.correct += result.correct;
      sum.images += result.images;
    }
    sum.loss /= static_cast<double>(parts().size());
    return sum;
  }

  void backward() override {
    parts().front()->backward();
    gradients_.read();
    for (size_t tower = 1; tower < parts().size(); ++tower) {
      parts()[tower]->backward();
      gradients_.add();
    }
    const float share = 1 / static_cast<float>(parts().size());
    for (float& value : gradients_.values()) value *= share;
    gradients_.write();
  }

  void update_statistics() override { parts().front()->update_statistics(); }

 private:
  FlatSlot gradients_;
};

}  // namespace

TowerBackend::TowerBackend(std::unique_ptr<Backend> backend, const TowerBackendOptions& options)
    : backend_(std::move(backend)), options_(options) {
  if (options.towers == 0)
    throw Error(
        {.kind = ErrorKind::invalid_argument, .reason = "there must be at least one tower"});
}

std::string TowerBackend::name() const {
  return (options_.towers == 1 ? "" : std::to_string(options_.towers) + " towers on ") +
         backend_->name();
}

std::unique_ptr<Variables> TowerBackend::make_variables(const Network& network) {
  return backend_->make_variables(network);
}

std::unique_ptr<Runner> TowerBackend::make_runner(const Network& network, Variables& variables,
                                                  const RunnerOptions& options) {
  if (options.mode == Mode::inference || options_.towers == 1)
    return backend_->make_runner(network, variables, options);
  const RunnerOptions of_tower = options_of_part(options, options_.towers, "towers");
  if (options_.sync_batch_norm) return backend_->make_runner(network, variables, options);
  std::vector<std::unique_ptr<Runner>> towers;
  for (size_t tower = 0; tower < options_.towers; ++tower)
    towers.push_back(backend_->make_runner(network, variables, of_tower));
  return std::make_unique<TowerRunner>(network, variables, options, std::move(towers));
}

}  // namespace recordpipe
