#include "tests/bench/trainer_work.h"

namespace recordpipe {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TrainerWork::TrainerWork(const std::string& name, size_t batch_size)
    : name_(name),
      batch_size_(batch_size),
      network_(network_of(name)),
      optimizer_(optimizer_of(name)),
      variables_(network_.variables()),
      runner_(network_, variables_, {.batch_size = batch_size}) {
  initialize(variables_, 7);
}

void TrainerWork::load(const ImageBatch& batch) {
  const auto start = std::chrono::steady_clock::now();
  runner_.load(batch);
  load_seconds_ += seconds_since(start);
}

double TrainerWork::step(const ImageBatch& batch) {
  load(batch);
  const double loss = runner_.forward().loss;
  runner_.backward();
  const auto update = std::chrono::steady_clock::now();
  runner_.update_statistics();
  variables_.apply_momentum(optimizer_);
  update_seconds_ += seconds_since(update);
  ++steps_;
  return loss;
}

}  // namespace recordpipe
