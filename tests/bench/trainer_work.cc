#include "tests/bench/trainer_work.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "dataset/cifar/cifar10_dataset.h"
#include "trainer/model/resnet.h"
#include "trainer/model/tutorial_cnn.h"

namespace recordpipe {
namespace {

constexpr std::string_view tutorial_cnn_name = "tutorial_cnn";

Network network_of(const std::string& name) {
  if (name == tutorial_cnn_name) return tutorial_cnn();
  if (!name.starts_with("resnet")) throw std::invalid_argument("no network " + name);
  return resnet({.layers = std::stoul(name.substr(std::string_view("resnet").size()))});
}

// The middle of each image of a batch of floats in NHWC.
ImageBatch central_crops(const ImageBatch& images, size_t height, size_t width) {
  const ImageFormat& whole = images.format();
  ImageFormat part = whole;
  part.height = height;
  part.width = width;
  const size_t top = (whole.height - height) / 2, left = (whole.width - width) / 2;
  ImageBatch crops;
  crops.reset(part, images.size());
  for (size_t i = 0; i < images.size(); ++i) {
    auto* to = reinterpret_cast<float*>(crops.image_at(i));
    for (size_t row = 0; row < height; ++row)
      std::copy_n(images.floats().data() + i * whole.values_per_image() +
                      ((top + row) * whole.width + left) * whole.channels,
                  width * whole.channels, to + row * width * whole.channels);
    crops.set_label(i, images.labels()[i]);
  }
  return crops;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TrainerWork::TrainerWork(const std::string& name, size_t batch_size)
    : name_(name),
      is_tutorial_cnn_(name == tutorial_cnn_name),
      batch_size_(batch_size),
      network_(network_of(name)),
      variables_(network_.variables()),
      runner_(network_, variables_, {.batch_size = batch_size}) {
  initialize(variables_, 7);
}

Dataset<ImageBatch> TrainerWork::pipeline(const std::string& data_dir) const {
  return cifar10_batches(cifar10_files(data_dir, Cifar10Subset::train), {.batch_size = batch_size_,
                                                                         .shuffle_buffer = 16'384,
                                                                         .distort = true,
                                                                         .epochs = -1,
                                                                         .dtype = DType::uint8,
                                                                         .threads = 1});
}

ImageBatch TrainerWork::first_batch(const std::string& data_dir) const {
  Cifar10Options options = {.batch_size = batch_size_, .dtype = DType::uint8};
  if (is_tutorial_cnn_) {
    options.dtype = DType::float32;
    options.normalization.per_image = true;
  }
  const Dataset<ImageBatch> batches =
      cifar10_batches(cifar10_files(data_dir, Cifar10Subset::train), options);
  Iterator<ImageBatch> iterator = batches.iterate();
  const ImageBatch& first = *iterator.next();
  const FeatureShape& shape = network_.nodes().front().shape;
  return is_tutorial_cnn_ ? central_crops(first, shape.height, shape.width) : first;
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
  variables_.apply_momentum({.learning_rate = 0.01,
                             .momentum = is_tutorial_cnn_ ? 0 : 0.9,
                             .weight_decay = is_tutorial_cnn_ ? 0.004 : 2e-4});
  update_seconds_ += seconds_since(update);
  ++steps_;
  return loss;
}

}  // namespace recordpipe
