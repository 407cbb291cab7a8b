// The networks that the trainer's benchmarks know, and what each is trained on and with.
#pragma once

#include <cstddef>
#include <string>

#include "recordpipe/dataset.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/trainer/backend/variables.h"
#include "recordpipe/trainer/model/network.h"

namespace recordpipe {

// `name`: resnet20 (or with another number of layers), or tutorial_cnn.
bool is_tutorial_cnn(const std::string& name);
Network network_of(const std::string& name);

// The training files' images as this network's training takes them, for ever; `threads` as
// Cifar10Options's.
Dataset<ImageBatch> training_batches(const std::string& name, const std::string& data_dir,
                                     size_t batch_size, size_t threads);

// The first images of the training files, undistorted, in a form that the network takes.
ImageBatch first_batch(const std::string& name, const std::string& data_dir, size_t batch_size);

// Of the network's tutorial, at a learning rate that lets the weights stay near where they are.
MomentumOptions optimizer_of(const std::string& name);

}  // namespace recordpipe
