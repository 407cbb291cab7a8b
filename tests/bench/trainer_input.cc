#include "tests/bench/trainer_input.h"

#include <stdexcept>
#include <string_view>

#include "recordpipe/cifar/cifar10_dataset.h"
#include "recordpipe/cifar/tutorial_batches.h"
#include "recordpipe/trainer/model/resnet.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"

namespace recordpipe {

bool is_tutorial_cnn(const std::string& name) { return name == "tutorial_cnn"; }

Network network_of(const std::string& name) {
  constexpr std::string_view prefix = "resnet";
  if (is_tutorial_cnn(name)) return tutorial_cnn();
  if (!name.starts_with(prefix)) throw std::invalid_argument("no network " + name);
  return resnet({.layers = std::stoul(name.substr(prefix.size()))});
}

Dataset<ImageBatch> training_batches(const std::string& name, const std::string& data_dir,
                                     size_t batch_size, size_t threads) {
  const auto files = cifar10_files(data_dir, Cifar10Subset::train);
  if (is_tutorial_cnn(name))
    return cifar10_tutorial_batches(files, {.batch_size = batch_size,
                                            .shuffle_buffer = 20'000 + 3 * batch_size,
                                            .distort = true,
                                            .epochs = -1,
                                            .threads = threads});
  return cifar10_batches(files, {.batch_size = batch_size,
                                 .shuffle_buffer = 16'384,
                                 .distort = true,
                                 .epochs = -1,
                                 .dtype = DType::uint8,
                                 .threads = threads});
}

ImageBatch first_batch(const std::string& name, const std::string& data_dir, size_t batch_size) {
  const auto files = cifar10_files(data_dir, Cifar10Subset::train);
  const Dataset<ImageBatch> batches =
      is_tutorial_cnn(name)
          ? cifar10_tutorial_batches(files, {.batch_size = batch_size})
          : cifar10_batches(files, {.batch_size = batch_size, .dtype = DType::uint8});
  Iterator<ImageBatch> iterator = batches.iterate();
  return *iterator.next();
}

MomentumOptions optimizer_of(const std::string& name) {
  const bool tutorial = is_tutorial_cnn(name);
  // At 0.01, rounding errors of the first step grow from 3e-8 to 4e-4 within two steps.
  return {.learning_rate = 0.001,
          .momentum = tutorial ? 0 : 0.9,
          .weight_decay = tutorial ? 0.004 : 2e-4};
}

}  // namespace recordpipe
