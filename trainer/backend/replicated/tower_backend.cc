#include "trainer/backend/replicated/tower_backend.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "dataset/base/error.h"
#include "trainer/backend/replicated/flat_slot.h"

namespace recordpipe {
namespace {

class TowerRunner final : public Runner {
 public:
  TowerRunner(const Network& network, Variables& variables, const RunnerOptions& options,
              std::vector<std::unique_ptr<Runner>> towers)
      : network_(network),
        options_(options),
        towers_(std::move(towers)),
        gradients_(variables, /*trained=*/true, Slot::gradient) {}

  void load(const ImageBatch& batch) override {
    check_batch(batch, network_, options_);
    const size_t image_size = batch.format().bytes_per_image();
    for (size_t tower = 0; tower < towers_.size(); ++tower) {
      dealt_.reset(batch.format(), batch.size() / towers_.size());
      for (size_t row = 0; row < dealt_.size(); ++row) {
        const size_t image = row * towers_.size() + tower;
        std::ranges::copy(batch.bytes().subspan(image * image_size, image_size),
                          dealt_.image_at(row));
        dealt_.set_label(row, batch.labels()[image]);
      }
      towers_[tower]->load(dealt_);
    }
  }

  BatchResult forward() override {
    BatchResult sum;
    for (const auto& tower : towers_) {
      const BatchResult result = tower->forward();
      sum.loss += result.loss;
      sum.correct += result.correct;
      sum.images += result.images;
    }
    sum.loss /= static_cast<double>(towers_.size());
    return sum;
  }

  void backward() override {
    towers_.front()->backward();
    gradients_.read();
    for (size_t tower = 1; tower < towers_.size(); ++tower) {
      towers_[tower]->backward();
      gradients_.add();
    }
    const float share = 1 / static_cast<float>(towers_.size());
    for (float& value : gradients_.values()) value *= share;
    gradients_.write();
  }

  void update_statistics() override { towers_.front()->update_statistics(); }

  std::vector<float> output(NodeId node) const override {
    std::vector<float> all;
    for (size_t tower = 0; tower < towers_.size(); ++tower) {
      const std::vector<float> part = towers_[tower]->output(node);
      all.resize(part.size() * towers_.size());
      const size_t rows = options_.batch_size / towers_.size(), size = part.size() / rows;
      for (size_t row = 0; row < rows; ++row)
        std::copy_n(&part[row * size], size, &all[(row * towers_.size() + tower) * size]);
    }
    return all;
  }

  size_t count_zeros(NodeId node) const override {
    size_t zeros = 0;
    for (const auto& tower : towers_) zeros += tower->count_zeros(node);
    return zeros;
  }

  void trace_to(std::shared_ptr<ChromeTrace> trace) override {
    for (const auto& tower : towers_) tower->trace_to(trace);
  }

 private:
  const Network network_;
  const RunnerOptions options_;
  const std::vector<std::unique_ptr<Runner>> towers_;
  ImageBatch dealt_;  // a tower's share
  FlatSlot gradients_;
};

}  // namespace

TowerBackend::TowerBackend(std::unique_ptr<Backend> backend, const TowerBackendOptions& options)
    : backend_(std::move(backend)), options_(options) {
  if (options.towers == 0)
    throw Error({.kind = ErrorKind::invalid_argument, .reason = "there must be a tower"});
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
  if (options.batch_size % options_.towers != 0)
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "a batch of " + std::to_string(options.batch_size) +
                           " images can't be dealt out to " + std::to_string(options_.towers) +
                           " towers in equal parts",
                 .hint = "the batch size must be a multiple of the number of towers"});
  if (options_.sync_batch_norm) return backend_->make_runner(network, variables, options);
  RunnerOptions of_tower = options;
  of_tower.batch_size /= options_.towers;
  std::vector<std::unique_ptr<Runner>> towers;
  for (size_t tower = 0; tower < options_.towers; ++tower)
    towers.push_back(backend_->make_runner(network, variables, of_tower));
  return std::make_unique<TowerRunner>(network, variables, options, std::move(towers));
}

}  // namespace recordpipe
