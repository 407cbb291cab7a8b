#include "trainer/programs/airbench_recipe.h"

#include <algorithm>

#include "recordpipe/trainer/model/airbench.h"

namespace recordpipe {

Network airbench_network(const AirbenchRecipe& recipe,
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
                   .label_smoothing = recipe.label_smoothing});
}

Cifar10Options airbench_input(Cifar10Options options, size_t train_images) {
  options.shuffle_buffer = train_images;
  options.distort = true;
  options.distortion = {.pad = 2, .reflect = true, .alternating_flip = true};
  options.epochs = -1;
  options.dtype = DType::uint8;
  return options;
}

TrainerOptions airbench_trainer(const AirbenchRecipe& recipe) {
  return {.batch_size = recipe.batch_size,
          .momentum = recipe.momentum,
          .nesterov = true,
          .weight_decay = recipe.weight_decay,
          .lookahead = LookaheadOptions{}};
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
