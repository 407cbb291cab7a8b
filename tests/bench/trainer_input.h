// Provides the networks of the trainer's benchmarks, with their training data and optimiser
// options.
#pragma once

#include <cstddef>
#include <string>

#include "recordpipe/image/image_batch.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/trainer/backend/variables.h"
#include "recordpipe/trainer/model/network.h"

namespace recordpipe {

// `name`: resnet20 (or another number of layers), or tutorial_cnn.
bool is_tutorial_cnn(const std::string& name);
Network network_of(const std::string& name);

// Returns the training files' images in this network's format, endlessly. `threads`: as in
// Cifar10Options.
Dataset<ImageBatch> training_batches(const std::string& name, const std::string& data_dir,
                                     size_t batch_size, size_t threads);

// Returns the first images of the training files, undistorted, in the network's format.
ImageBatch first_batch(const std::string& name, const std::string& data_dir, size_t batch_size);

// Returns the options of the network's tutorial, but a learning rate that hardly changes the
// weights.
MomentumOptions optimizer_of(const std::string& name);

}  // namespace recordpipe
