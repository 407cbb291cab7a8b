#include "trainer/programs/airbench_recipe.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "recordpipe/trainer/model/airbench.h"

namespace recordpipe {

std::vector<std::string> all_training_files(const std::string& data_dir) {
  std::vector<std::string> files = cifar10_files(data_dir, Cifar10Subset::train);
  std::ranges::copy(cifar10_files(data_dir, Cifar10Subset::validation), std::back_inserter(files));
  return files;
}

Network airbench_network(const Hyperparameters& recipe,
                         const std::vector<std::string>& train_files) {
  std::vector<float> whitening;
  if (!train_files.empty()) {
    constexpr size_t images = 2000;  // 1.9 million patches
    const Cifar10Options options = {.batch_size = images, .dtype = DType::uint8, .prefetch = 0};
    whitening = whitening_weights(*cifar10_batches(train_files, options).iterate().next());
  }
  return airbench({.widths = {recipe.width, 4 * recipe.width, 4 * recipe.width},
                   .whitening = std::move(whitening),
                   .batch_norm_decay = recipe.batch_norm_decay,
                   .batch_norm_epsilon = recipe.batch_norm_epsilon,
                   .label_smoothing = recipe.label_smoothing,
                   .muon_batch_size = recipe.muon ? recipe.batch_size : 0});
}

Cifar10Options airbench_input(Cifar10Options options, size_t train_images) {
  options.shuffle_buffer = train_images;
  options.distort = true;
  options.distortion = {.pad = 2, .reflect = true, .alternating_flip = true};
  options.epochs = -1;
  options.dtype = DType::uint8;
  return options;
}

TrainerOptions airbench_trainer(const Hyperparameters& recipe) {
  TrainerOptions options = {.batch_size = recipe.batch_size,
                            .momentum = recipe.momentum,
                            .nesterov = true,
                            .weight_decay = recipe.weight_decay};
  if (!recipe.muon) options.lookahead.emplace();
  return options;
}

LearningRateSchedule linear_schedule(double peak, uint64_t total_steps) {
  return one_cycle_schedule(
      {.initial_rate = peak, .peak_rate = peak, .total_steps = std::max<uint64_t>(1, total_steps)});
}

LearningRateSchedule triangular_schedule(double peak, uint64_t total_steps) {
  const uint64_t steps = std::max<uint64_t>(1, total_steps);
  return one_cycle_schedule({.initial_rate = 0.2 * peak,
                             .peak_rate = peak,
                             .final_rate = 0.07 * peak,
                             .rise_steps = steps * 23 / 100,
                             .total_steps = steps});
}

}  // namespace recordpipe
